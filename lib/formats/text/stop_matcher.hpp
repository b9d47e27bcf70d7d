#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cogen::text {

/// Finds the first of several stop strings in text that arrives in pieces, and holds back text that may become one.
///
/// The match that ends first counts; of several that end together, the longest. So the result does not depend on how
/// the text is cut. Time is linear in the text, whatever the number of stop strings (Aho and Corasick 1975). Not
/// thread-safe. Copies share the stop strings and continue from the same place.
class stop_matcher {
 public:
  static constexpr std::size_t max_strings = 256;
  static constexpr std::size_t max_bytes = 4096;         ///< of one stop string
  static constexpr std::size_t max_total_bytes = 65536;  ///< of all together

  /// What push() found.
  struct result {
    /// Text that cannot be part of a stop string any more, ready to be shown.
    std::string text;
    /// Which stop string matched, as an index into those given at construction.
    std::optional<std::size_t> matched;
  };

  /// Matches nothing and holds nothing back.
  stop_matcher() = default;

  /// Throws std::invalid_argument for an empty stop string, one that is not UTF-8, and too many or too long ones.
  explicit stop_matcher(std::span<const std::string> stops);

  /// Takes the next piece. After a match, `text` is what came before it, and further pieces return nothing.
  result push(std::string_view piece);

  /// What is held back, once no more text will come; empty after a match.
  std::string flush();

 private:
  class automaton;

  std::shared_ptr<const automaton> automaton_;
  std::string held_;
  std::uint32_t state_ = 0;
  bool matched_ = false;
};

}  // namespace cogen::text
