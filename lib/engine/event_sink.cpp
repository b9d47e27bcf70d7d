#include <cogen/event_sink.hpp>

namespace cogen {

std::string_view to_string(sequence_event::kind what) noexcept {
  using kind = sequence_event::kind;
  switch (what) {
    case kind::taken_in:
      return "taken_in";
    case kind::refused:
      return "refused";
    case kind::seated:
      return "seated";
    case kind::prefilled:
      return "prefilled";
    case kind::first_token:
      return "first_token";
    case kind::parked:
      return "parked";
    case kind::resumed:
      return "resumed";
    case kind::spilling:
      return "spilling";
    case kind::spilled:
      return "spilled";
    case kind::restoring:
      return "restoring";
    case kind::restored:
      return "restored";
    case kind::cancelled:
      return "cancelled";
    case kind::finished:
      return "finished";
  }
  return "unknown";
}

}  // namespace cogen
