#pragma once

#include "sampling/token_mask.hpp"

#include <cogen/guide.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cogen::detail {

/// The text that a guide constrains: what follows the first tokens of a sequence.
struct constrained_text {
  std::size_t begin;                   ///< tokens before it
  std::size_t vocabulary;              ///< tokens that have logits
  std::size_t mask_size;               ///< tokens that guides may know, at least as many
  std::vector<token> end_tokens = {};  ///< may come where the text may end, and nowhere else, whatever a guide says
  std::vector<token> never_sampled = {};
};

/// A guide beside the tokens of a sequence. It reads what is new of them when it is asked for a mask, so that whoever
/// appends or removes tokens need not wait for it. Used by one thread at a time. Members that call the guide throw
/// generation_error with error::callback_threw where it throws, and with error::invalid_request where its text is too
/// costly to follow; guide_postponed passes, and the same can be asked again.
class constraint {
 public:
  /// `guide` is at the beginning of the text.
  constraint(std::unique_ptr<guide> guide, constrained_text text);

  /// What may follow `tokens`, those of the sequence, and then `drafts`, which the sequence does not have; valid until
  /// the next call. Throws generation_error with error::invalid_request if nothing may.
  token_mask mask_after(std::span<const token> tokens, std::span<const token> drafts = {});

  /// Whether the text may end after `tokens` and then `sampled`, which the sequence does not have yet, and nothing but
  /// its end may follow.
  bool is_over_after(std::span<const token> tokens, std::span<const token> sampled = {});

  /// What has to follow `tokens`, those of the sequence, in any case; often nothing. It ends before a token that has no
  /// logits.
  std::vector<token> forced_after(std::span<const token> tokens);

  /// How many of `drafts`, the first ones, may follow `tokens` without an end.
  std::size_t allowed_of(std::span<const token> drafts, std::span<const token> tokens);

  /// Whether the token ends the text. The guide never gets it.
  bool is_end(token id) const noexcept;

  /// The sequence was cut to `length` tokens.
  void truncate(std::size_t length) noexcept;

  constraint clone() const;

 private:
  void follow(std::span<const token> tokens, std::span<const token> ahead = {});
  void accept(token id);
  void go_back_to(std::size_t length);
  void update_mask();
  void clear_beyond_vocabulary();
  void set(std::span<const token> ids, bool allowed);

  std::unique_ptr<guide> guide_;
  constrained_text text_;
  std::size_t accepted_;      // tokens up to the guide's place
  std::size_t kept_;          // how many of them the sequence still has
  std::vector<token> ahead_;  // the others, unless tokens were cut off since
  std::vector<std::uint64_t> mask_;
  bool has_mask_ = false;   // of the guide's place
  bool may_go_on_ = false;  // by the mask: a token may follow that is not an end
};

}  // namespace cogen::detail
