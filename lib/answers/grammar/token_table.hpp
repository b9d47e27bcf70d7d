#pragma once

#include <cogen/text/tokenizer.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cogen::grammar {

/// The tokens of a vocabulary that may end a part of a JSON text.
class token_table {
 public:
  explicit token_table(const text::tokenizer& tokens);

  /// Whether it has bytes that end a part of a text, inside a string or outside of one.
  bool may_end_part(token id, bool in_string) const noexcept {
    return (marks_[static_cast<std::size_t>(id)] & (in_string ? quote : mark)) != 0;
  }
  unsigned char first_byte(token id) const noexcept { return first_bytes_[static_cast<std::size_t>(id)]; }

  /// Tokens with a quote, ascending, and the number of what each has behind its first one; none if escapes are in the
  /// way.
  struct quoting_token {
    token id;
    std::int32_t tail;
  };
  const std::vector<quoting_token>& quoting() const noexcept { return quoting_; }
  std::size_t tails() const noexcept { return tails_; }

  static constexpr std::int32_t no_tail = -1;

 private:
  static constexpr std::uint8_t quote = 1, mark = 2;

  std::vector<std::uint8_t> marks_;
  std::vector<unsigned char> first_bytes_;
  std::vector<quoting_token> quoting_;
  std::size_t tails_ = 0;
};

}  // namespace cogen::grammar
