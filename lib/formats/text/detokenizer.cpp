#include "formats/text/utf8.hpp"

#include <cogen/text/tokenizer.hpp>

#include <utility>

namespace cogen::text {

std::string detokenizer::push(token id) {
  auto bytes = tokens_->token_bytes(id, at_start_);
  if (skip_special_ && tokens_->is_special(id)) return {};
  at_start_ = at_start_ && tokens_->token_bytes(id).empty();
  held_ += bytes;
  auto certain = complete_length(held_);
  auto piece = repaired_utf8(std::string_view(held_).substr(0, certain));
  held_.erase(0, certain);
  return piece;
}

std::string detokenizer::flush() {
  at_start_ = true;
  return repaired_utf8(std::exchange(held_, {}));
}

}  // namespace cogen::text
