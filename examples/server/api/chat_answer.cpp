#include "api/chat_answer.hpp"

#include <utility>

namespace server::api {

namespace json = boost::json;

json::array calls_of(const std::vector<cogen::tool_call>& calls) {
  json::array result;
  for (const auto& call : calls)
    result.push_back(
        {{"id", call.id}, {"type", "function"}, {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  return result;
}

json::object chat_choice(std::size_t index, const cogen::completion& answer, bool logprobs,
                         const cogen::text::tokenizer& vocabulary) {
  const bool has_calls = !answer.tool_calls.empty();
  json::object message{{"role", "assistant"}, {"content", answer.text}};
  if (has_calls && answer.text.empty()) message["content"] = nullptr;
  if (!answer.reasoning.empty()) message["reasoning_content"] = answer.reasoning;
  if (has_calls) message["tool_calls"] = calls_of(answer.tool_calls);
  json::object choice{{"index", index}, {"message", std::move(message)}, {"logprobs", nullptr}};
  if (logprobs) choice["logprobs"] = {{"content", chat_logprobs(answer.tokens, vocabulary)}};
  choice["finish_reason"] = finish_of(answer.reason, has_calls);
  return choice;
}

json::object chat_choice_writer::choice(json::object delta) const {
  return {{"index", index_}, {"delta", std::move(delta)}, {"logprobs", nullptr}, {"finish_reason", nullptr}};
}

void chat_choice_writer::begin(std::vector<json::object>& choices) {
  if (!std::exchange(begun_, true)) choices.push_back(choice({{"role", "assistant"}, {"content", nullptr}}));
}

json::object chat_choice_writer::call_delta(const cogen::tool_call_delta& call) {
  const auto index = static_cast<std::size_t>(call.index);
  if (calls_begun_.size() <= index) calls_begun_.resize(index + 1);
  json::object function{{"arguments", call.arguments}};
  if (!call.name.empty()) function["name"] = call.name;
  json::object delta{{"index", call.index}};
  if (!std::exchange(calls_begun_[index], char{1})) {
    delta["id"] = call.id;
    delta["type"] = "function";
  }
  delta["function"] = std::move(function);
  return delta;
}

json::object chat_choice_writer::delta_of(const cogen::piece& piece) {
  json::object delta;
  if (!piece.text.empty()) delta["content"] = piece.text;
  if (!piece.reasoning.empty()) delta["reasoning_content"] = piece.reasoning;
  json::array calls;
  for (const auto& call : piece.tool_calls)
    if (!call.name.empty() || !call.arguments.empty()) calls.push_back(call_delta(call));
  if (!calls.empty()) delta["tool_calls"] = std::move(calls);
  return delta;
}

std::vector<json::object> chat_choice_writer::on_piece(const cogen::piece& piece,
                                                       const cogen::text::tokenizer& vocabulary) {
  std::vector<json::object> result;
  begin(result);
  auto delta = delta_of(piece);
  if (delta.empty() && !logprobs_) return result;
  if (delta.empty()) delta["content"] = "";
  auto next = choice(std::move(delta));
  if (logprobs_) next["logprobs"] = {{"content", chat_logprobs(piece.tokens, vocabulary)}};
  result.push_back(std::move(next));
  return result;
}

json::object chat_choice_writer::on_progress() {
  std::vector<json::object> first;
  begin(first);
  return first.empty() ? choice({}) : std::move(first.front());
}

std::vector<json::object> chat_choice_writer::on_end(cogen::finish_reason reason) {
  std::vector<json::object> result;
  begin(result);
  result.push_back(choice({}));
  result.back()["finish_reason"] = finish_of(reason, !calls_begun_.empty());
  return result;
}

}  // namespace server::api
