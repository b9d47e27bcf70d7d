#pragma once

#include <cogen/detail/scheduler/types.hpp>

#include <cstddef>
#include <memory>
#include <span>

namespace cogen::scheduler {

/// The tokens of a sequence. Copies share the memory, and a token that a list holds neither moves nor changes.
///
/// A list that appends what a copy of it has appended before finds it there. One that appends something else, after a
/// truncation or in a fork, goes on in memory of its own.
///
/// Reading a list is safe while copies of it are appended to by other threads. At any time, one of the copies may be
/// appended to freely; the others, only with what that one has appended before.
class token_list {
 public:
  token_list() = default;

  /// A copy of `tokens`.
  explicit token_list(std::span<const token> tokens) { append(tokens); }

  token_list(const token_list&) = default;             ///< moving copies, too
  token_list& operator=(const token_list&) = default;  ///< moving copies, too

  std::size_t size() const noexcept { return length_; }
  bool empty() const noexcept { return length_ == 0; }
  const token* data() const noexcept { return data_; }
  const token* begin() const noexcept { return data(); }
  const token* end() const noexcept { return data() + length_; }

  /// The first `length` tokens, at most all: shares the memory.
  token_list first(std::size_t length) const noexcept;

  /// Keeps the first `length` tokens; no other list changes.
  void truncate(std::size_t length) noexcept;

  /// Throws std::bad_alloc, and has changed nothing then. A token takes constant time on average.
  void append(std::span<const token> tokens);

  /// Appends one.
  void push_back(token id);

 private:
  struct block;

  std::shared_ptr<block> block_;
  const token* data_ = nullptr;  // the tokens of the block
  std::size_t length_ = 0;
};

}  // namespace cogen::scheduler
