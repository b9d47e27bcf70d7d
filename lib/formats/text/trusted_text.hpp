#pragma once

#include "formats/text/range.hpp"

#include <cogen/text/tokenizer.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::text {

/// Segments joined into one valid text that remembers which of its bytes are trusted.
class trusted_text {
 public:
  explicit trusted_text(std::span<const text_segment> segments);

  std::string_view text() const noexcept { return text_; }
  bool is_trusted(range part) const noexcept;

 private:
  std::string text_;
  std::vector<range> trusted_;  // in order, with something untrusted between any two
};

}  // namespace cogen::text
