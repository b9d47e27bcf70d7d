#include <cogen/metrics.hpp>

namespace cogen {

std::string_view to_string(finish_reason reason) noexcept {
  switch (reason) {
    case finish_reason::eos:
      return "eos";
    case finish_reason::stop_string:
      return "stop_string";
    case finish_reason::length:
      return "length";
    case finish_reason::aborted:
      return "aborted";
    case finish_reason::failed:
      return "failed";
    case finish_reason::deadline_exceeded:
      return "deadline_exceeded";
  }
  return "unknown";
}

}  // namespace cogen
