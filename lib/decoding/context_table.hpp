#pragma once

#include <cogen/token.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cogen::detail {

/// What mostly followed a context.
struct likely_token {
  token id;
  std::size_t matched;  ///< tokens of the context
};

/// A suffix tree of contexts in a table of fixed size: its nodes are the last tokens before some position, newest
/// first, and each knows the token that mostly followed (Ron, Singer, Tishby 1996: The power of amnesia). A context
/// grows by a few tokens each time it occurs again, so text that occurs once takes little room.
class context_table {
 public:
  /// In at most `bytes` bytes, but at least room for a few nodes. Contexts have at most `longest` tokens.
  context_table(std::size_t bytes, std::size_t longest);

  /// `next` came after `context`. Does nothing once the table is full.
  void learn(std::span<const token> context, token next);

  /// What mostly followed the longest last part of `context` that is known, if that has at least `least` tokens.
  std::optional<likely_token> find(std::span<const token> context, std::size_t least) const;

  bool full() const { return 4 * used_ >= 3 * nodes_.size(); }
  void clear();

 private:
  struct node {
    std::uint32_t parent = none;
    token id = 0;
    token next = 0;           // the candidate of a majority vote over what followed
    std::uint32_t votes = 0;  // by which it leads
  };

  static constexpr std::uint32_t none = UINT32_MAX, root = UINT32_MAX - 1;

  std::uint32_t place_of(std::uint32_t parent, token id) const;

  std::vector<node> nodes_;  // open addressing by parent and token, a power of two
  std::size_t used_ = 0;
  std::size_t longest_;
};

}  // namespace cogen::detail
