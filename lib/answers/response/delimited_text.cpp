#include "answers/response/delimited_text.hpp"

#include <utility>

namespace cogen::response {

void delimited_text::begin(std::vector<const delimiter*> ends, bool after_delimiter, blank beside) {
  matcher_.watch(std::move(ends));
  beside_ = beside;
  held_.clear();
  settled_ = certain_ = 0;
  skips_blank_ = after_delimiter;
}

std::optional<delimited_text::end> delimited_text::step(char byte) {
  if (skips_blank_) {
    const bool skipped = beside_ == blank::space ? is_space(byte) : byte == '\n';
    skips_blank_ = skipped && beside_ == blank::space;
    if (skipped) return std::nullopt;
  }
  held_ += byte;
  if (const auto match = matcher_.step(byte)) return ended(*match);
  settle(held_.size() - matcher_.pending());
  return std::nullopt;
}

void delimited_text::settle(std::size_t until) {
  for (; settled_ < until; ++settled_) {
    const char byte = held_[settled_];
    if (beside_ == blank::space ? is_space(byte) : byte == '\n')
      certain_ = beside_ == blank::space ? certain_ : settled_;
    else
      certain_ = settled_ + 1;
  }
}

delimited_text::end delimited_text::ended(const delimiter_match& match) {
  const std::size_t last = match.ends_early ? 1 : 0;
  const auto begin = held_.size() - last - match.length;
  settle(begin);
  const auto spelled = std::string_view(held_).substr(begin, match.length);
  end found{match.which, std::string(match.name.in(spelled)), std::string(match.id.in(spelled)), match.ends_early};
  held_.resize(certain_);
  return found;
}

std::string delimited_text::take() {
  auto text = held_.substr(0, certain_);
  held_.erase(0, certain_);
  settled_ -= certain_;
  certain_ = 0;
  return text;
}

std::string delimited_text::rest() { return std::exchange(held_, {}); }

}  // namespace cogen::response
