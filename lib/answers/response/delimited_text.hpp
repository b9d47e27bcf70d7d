#pragma once

#include "answers/response/delimiter_matcher.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cogen::response {

/// A text up to a delimiter, without the white space beside delimiters, as it arrives byte by byte.
class delimited_text {
 public:
  /// What belongs to a delimiter beside it: all white space, or one end of a line.
  enum class blank : std::uint8_t { space, line_end };

  /// Its delimiter.
  struct end {
    std::size_t which = 0;
    std::string name = {};
    std::string id = {};
    bool ends_early = false;  ///< before the last byte, which begins what follows
  };

  /// A text that begins after a delimiter, or at the beginning of a response. The delimiters must outlive it.
  void begin(std::vector<const delimiter*> ends, bool after_delimiter, blank beside = blank::space);

  std::optional<end> step(char byte);

  /// Moves out what surely belongs to the text; after its end: the rest of it.
  std::string take();

  /// What is left where no delimiter will come.
  std::string rest();

 private:
  void settle(std::size_t until);
  end ended(const delimiter_match& match);

  delimiter_matcher matcher_;
  blank beside_ = blank::space;
  std::string held_;
  std::size_t settled_ = 0;  // bytes that begin no delimiter
  std::size_t certain_ = 0;  // of those: up to the blank at their end
  bool skips_blank_ = false;
};

}  // namespace cogen::response
