#include <cogen/piece.hpp>

namespace cogen {

std::string_view to_string(finish_reason reason) noexcept {
  switch (reason) {
    case finish_reason::end:
      return "end";
    case finish_reason::stop_string:
      return "stop_string";
    case finish_reason::length:
      return "length";
    case finish_reason::stopped:
      return "stopped";
    case finish_reason::failed:
      return "failed";
    case finish_reason::out_of_time:
      return "out_of_time";
  }
  return "unknown";
}

}  // namespace cogen
