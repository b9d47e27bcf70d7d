#include "stream/response_text.hpp"

#include <utility>

namespace cogen::detail {

response_text::response_text(const text::tokenizer* tokens, std::span<const std::string> stops, response_parts parts)
    : parts_(std::move(parts)), characters_(tokens, stops, parts_.control_tokens) {
  if (parts_.syntax) reader_.emplace(*parts_.syntax, parts_.types, parts_.how);
}

response_text::cut response_text::push(token id) {
  auto [text, stopped] = characters_.push(id);
  if (stopped) characters_.flush();
  if (reader_) return {reader_->push(text), stopped};
  return {{.text = std::move(text)}, stopped};
}

response::response_delta response_text::finish() {
  auto text = characters_.flush().text;
  return reader_ ? reader_->finish(text) : response::response_delta{.text = std::move(text)};
}

}  // namespace cogen::detail
