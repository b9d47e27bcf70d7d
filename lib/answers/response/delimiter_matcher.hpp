#pragma once

#include "answers/response/delimiter.hpp"

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace cogen::response {

/// A delimiter that was found at the end of a text.
struct delimiter_match {
  struct capture {
    std::size_t begin = 0;  ///< in the delimiter
    std::size_t length = 0;

    std::string_view in(std::string_view delimiter) const { return delimiter.substr(begin, length); }
  };

  std::size_t which = 0;    ///< of those looked for
  std::size_t length = 0;   ///< in bytes
  bool ends_early = false;  ///< it ends before the last byte, which showed that
  capture name = {};
  capture id = {};
};

/// Finds the first of several delimiters in a text that arrives byte by byte. The one that ends first counts; of
/// several that end together, the one that begins first. Each byte takes at most a step for each part of a delimiter.
class delimiter_matcher {
 public:
  static constexpr std::size_t max_name_bytes = 256;

  /// Begins a text, and looks for these in it. They must outlive that.
  void watch(std::vector<const delimiter*> delimiters);

  /// The next byte. After a match watch() has to be called again.
  std::optional<delimiter_match> step(char byte);

  /// How many of the last bytes may begin a delimiter.
  std::size_t pending() const noexcept { return candidates_.empty() ? 0 : candidates_.front().found.length; }

 private:
  /// A delimiter that matches so far.
  struct candidate {
    delimiter_match found;
    std::size_t part = 0;
    std::size_t offset = 0;  // in the part
  };

  void advance(candidate current, char byte);
  void keep(const candidate& reached);
  void complete(candidate reached, bool ends_early);

  std::vector<const delimiter*> delimiters_;
  std::vector<candidate> candidates_;  // those that began first come first
  std::vector<candidate> previous_;
  std::optional<delimiter_match> found_;
};

}  // namespace cogen::response
