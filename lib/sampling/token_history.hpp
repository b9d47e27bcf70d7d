#pragma once

#include <cogen/detail/sampling_batch.hpp>
#include <cogen/scheduler/token_list.hpp>
#include <cogen/token.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cogen {

/// The tokens of one sequence, in memory shared with the scheduler, and which of them were generated. Counts for
/// penalties are kept from the first time they are asked for, and then follow each append and truncate. A fork copies
/// it.
class token_history {
 public:
  token_history() = default;

  /// The history of `tokens`, whose memory it uses, of which those not marked with 0 were generated.
  token_history(const scheduler::token_list& tokens, const std::vector<std::uint8_t>& generated);

  /// Tokens that were given: the prompt, or what a caller feeds later.
  void append_given(std::span<const token> tokens);

  /// Appends what `tokens`, which begins with the tokens of the history, has beyond them: tokens that were given. From
  /// then on the history uses the memory of `tokens`.
  void extend(const scheduler::token_list& tokens);

  /// A token that was sampled.
  void append_generated(token id);

  /// Keeps the first `length` tokens; longer than the history changes nothing.
  void truncate(std::size_t length);

  /// A history of the first `length` tokens. Reads no counts, so another thread may ask for those meanwhile.
  token_history first(std::size_t length) const;

  std::span<const token> tokens() const { return tokens_; }
  const scheduler::token_list& list() const { return tokens_; }
  std::size_t length() const { return tokens_.size(); }
  std::size_t generated() const { return generated_; }
  bool was_generated(std::size_t position) const { return was_generated_[position]; }

  /// One entry for each different token, in no particular order but the same for the same calls; entries with total 0
  /// may be among them. Valid until the history changes.
  std::span<const token_count> counts();

 private:
  void append(token id, bool generated);
  void add(token id, bool generated, int change);
  token_count& entry(token id);
  void rehash(std::size_t buckets);

  scheduler::token_list tokens_;
  std::vector<bool> was_generated_;
  std::size_t generated_ = 0;
  bool counting_ = false;
  std::vector<token_count> counts_;
  std::vector<std::uint32_t> buckets_;  // open addressing, a power of two: 1 + index into counts_, or 0
};

}  // namespace cogen
