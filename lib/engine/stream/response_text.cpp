#include "engine/stream/response_text.hpp"

#include <utility>

namespace cogen::detail {

response_text::response_text(const text::tokenizer* tokens, text::stop_matcher stops, response_parts parts)
    : parts_(std::move(parts)), characters_(tokens, std::move(stops), parts_.control_tokens) {
  if (!parts_.syntax) return;
  reader_.emplace(*parts_.syntax, parts_.types, parts_.how);
  if (parts_.syntax->calls) ids_.emplace(parts_.syntax->calls->id);
}

response_text::ending response_text::push(token id, piece& into) {
  auto [text, stopped] = characters_.push(id);
  if (stopped) characters_.flush();
  if (reader_)
    set(reader_->push(text), into);
  else
    into.text = std::move(text);
  if (reader_ && reader_->is_over()) return ending::only_call;
  return stopped ? ending::stop_string : ending::none;
}

void response_text::finish(piece& into) {
  into.text = characters_.flush().text;
  if (reader_) set(reader_->finish(into.text), into);
}

void response_text::set(response::response_delta&& parts, piece& into) {
  into.text = std::move(parts.text);
  into.reasoning = std::move(parts.reasoning);
  into.tool_calls = std::move(parts.tool_calls);
  for (auto& each : into.tool_calls) ids_->settle(each);
}

}  // namespace cogen::detail
