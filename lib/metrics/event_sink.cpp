#include <cogen/metrics.hpp>

namespace cogen {

std::string_view to_string(sequence_event::kind what) noexcept {
  using kind = sequence_event::kind;
  switch (what) {
    case kind::accepted:
      return "accepted";
    case kind::refused:
      return "refused";
    case kind::scheduled:
      return "scheduled";
    case kind::prefilled:
      return "prefilled";
    case kind::first_token:
      return "first_token";
    case kind::preempted:
      return "preempted";
    case kind::resumed:
      return "resumed";
    case kind::swapping_out:
      return "swapping out";
    case kind::swapped_out:
      return "swapped out";
    case kind::swapping_in:
      return "restoring";
    case kind::swapped_in:
      return "restored";
    case kind::cancelled:
      return "cancelled";
    case kind::finished:
      return "finished";
  }
  return "unknown";
}

}  // namespace cogen
