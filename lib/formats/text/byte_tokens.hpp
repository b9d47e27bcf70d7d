#pragma once

#include "formats/text/vocabulary.hpp"

#include <array>
#include <optional>
#include <string_view>

namespace cogen::text {

/// The tokens `<0x00>` to `<0xFF>` of a vocabulary. Immutable.
class byte_tokens {
 public:
  explicit byte_tokens(const vocabulary& words);

  /// Whether each byte of the text has a token.
  bool spell(std::string_view text) const noexcept;

  token token_of(char byte) const noexcept { return tokens_[static_cast<unsigned char>(byte)]; }

 private:
  std::array<token, 256> tokens_;
};

/// The byte that a spelling like `<0x41>` stands for.
std::optional<char> byte_literal(std::string_view spelling) noexcept;

}  // namespace cogen::text
