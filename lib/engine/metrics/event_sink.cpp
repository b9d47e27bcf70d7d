#include <cogen/metrics.hpp>

namespace cogen {

std::string_view to_string(sequence_event::kind type) noexcept {
  using kind = sequence_event::kind;
  switch (type) {
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
      return "swapping_out";
    case kind::swapped_out:
      return "swapped_out";
    case kind::swapping_in:
      return "swapping_in";
    case kind::swapped_in:
      return "swapped_in";
    case kind::cancelled:
      return "cancelled";
    case kind::finished:
      return "finished";
  }
  return "unknown";
}

}  // namespace cogen
