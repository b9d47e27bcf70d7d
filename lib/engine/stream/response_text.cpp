#include "engine/stream/response_text.hpp"

#include <utility>

namespace cogen::detail {

response_text::response_text(const text::tokenizer* tokens, text::stop_matcher stops, response_parts parts)
    : parts_(std::move(parts)), characters_(tokens, std::move(stops), parts_.control_tokens) {
  if (!parts_.syntax) return;
  reader_.emplace(*parts_.syntax, parts_.types, parts_.options);
  if (parts_.syntax->calls) ids_.emplace(parts_.syntax->calls->id);
}

response_text::ending response_text::push(token id, piece& output) {
  auto [text, stopped] = characters_.push(id);
  if (stopped) characters_.flush();
  if (reader_)
    set(reader_->push(text), output);
  else
    output.text = std::move(text);
  if (reader_ && reader_->is_over()) return ending::only_call;
  return stopped ? ending::stop_string : ending::none;
}

void response_text::finish(piece& output) {
  output.text = characters_.flush().text;
  if (reader_) set(reader_->finish(output.text), output);
}

void response_text::set(response::response_delta&& parts, piece& output) {
  output.text = std::move(parts.text);
  output.reasoning = std::move(parts.reasoning);
  output.tool_calls = std::move(parts.tool_calls);
  for (auto& each : output.tool_calls) ids_->settle(each);
}

}  // namespace cogen::detail
