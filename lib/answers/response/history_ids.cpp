#include "answers/response/history_ids.hpp"

#include "answers/response/call_ids.hpp"

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

namespace cogen::response {
namespace {

/// Ids of one conversation, which it is read through in order.
class history_ids {
 public:
  explicit history_ids(const call_id_syntax& syntax) : syntax_(syntax) {}

  void settle(text::chat_message& message) {
    auto* calls = message.extra->if_contains("tool_calls");
    if (calls && calls->is_array()) settle_calls(calls->get_array());
    if (message.role == "tool") settle_result(*message.extra);
  }

 private:
  void settle_calls(boost::json::array& calls) {
    unanswered_.clear();
    for (auto& each : calls) {
      ++calls_;
      if (!each.is_object()) continue;
      auto& id = each.get_object()["id"];
      id = id.is_string() ? call_id_of(id.get_string(), syntax_) : call_id_of(std::to_string(calls_), syntax_);
      unanswered_.emplace_back(id.get_string());
    }
  }

  void settle_result(boost::json::object& result) {
    auto& id = result["tool_call_id"];
    if (id.is_string()) {
      id = call_id_of(id.get_string(), syntax_);
      std::erase(unanswered_, std::string_view(id.get_string()));
    } else if (!unanswered_.empty()) {
      id = unanswered_.front();
      unanswered_.pop_front();
    }
  }

  const call_id_syntax& syntax_;
  std::deque<std::string> unanswered_;
  int calls_ = 0;
};

}  // namespace

std::vector<text::chat_message> with_call_ids(std::span<const text::chat_message> messages,
                                              const call_id_syntax& syntax) {
  std::vector<text::chat_message> result(messages.begin(), messages.end());
  history_ids ids(syntax);
  for (auto& each : result) ids.settle(each);
  return result;
}

}  // namespace cogen::response
