#pragma once

#include <cogen/token.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cogen::detail {

/// Where the last tokens of one growing history occurred before: chains of the places with the same hash of the
/// shortest n-gram, newest first, as in DEFLATE (RFC 1951, section 4). A token takes constant time and a few bytes.
class ngram_index {
 public:
  /// Matches of `least` to `most` tokens; longer ones are not compared further.
  ngram_index(std::size_t least, std::size_t most) : least_(least), most_(most) {}

  /// Where the latest of the longest matches with the end of `history` ends, before that end; history.size() if there
  /// is none. Each history begins with the one before, or is a shorter new one.
  std::size_t after_latest_match(std::span<const token> history);

 private:
  void read(std::span<const token> history);
  void grow(std::span<const token> history);
  void add(std::span<const token> history, std::size_t end);
  std::size_t bucket_of(std::span<const token> ngram) const;
  std::size_t matching(std::span<const token> history, std::size_t end) const;

  std::size_t least_, most_;
  std::vector<std::uint32_t> latest_;    // by hash, a power of two: where such an n-gram ended last; 0: nowhere
  std::vector<std::uint32_t> previous_;  // by the end of an n-gram: where the one before ended; read so far
};

}  // namespace cogen::detail
