#include <cogen/tool_call.hpp>

#include <algorithm>

namespace cogen {

void append(std::vector<tool_call>& calls, std::vector<tool_call_delta> more) {
  for (auto& each : more) {
    calls.resize(std::max(calls.size(), static_cast<std::size_t>(each.index) + 1));
    auto& call = calls[static_cast<std::size_t>(each.index)];
    call.id += each.id;
    call.name += each.name;
    call.arguments += each.arguments;
    if (each.status) call.status = *each.status;
  }
}

}  // namespace cogen
