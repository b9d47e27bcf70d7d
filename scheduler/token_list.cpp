#include <cogen/scheduler/token_list.hpp>

#include <algorithm>
#include <atomic>

namespace cogen::scheduler {

/// Memory that lists share. What is filled is never written again.
struct token_list::block {
  explicit block(std::size_t size) : tokens(std::make_unique_for_overwrite<token[]>(size)), capacity(size) {}

  /// Whether `id` stands at `position`, which is at most `filled`: puts it there if nothing does yet and it fits.
  bool place(std::size_t position, token id) noexcept {
    const std::size_t end = filled.load(std::memory_order_acquire);
    if (position < end) return tokens[position] == id;
    if (end == capacity) return false;
    tokens[end] = id;
    filled.store(end + 1, std::memory_order_release);
    return true;
  }

  /// Where a list of `length` of its tokens goes on that cannot here, with `coming` more: a block with the same tokens,
  /// one that another list has moved to from there, or a new one.
  static std::shared_ptr<block> after(const std::shared_ptr<block>& full, std::size_t length, std::size_t coming) {
    constexpr std::size_t least = 16;
    if (full && full->next_from == length)
      if (auto found = full->next.lock()) return found;
    auto successor = std::make_shared<block>(std::max({least, 2 * length, length + coming}));
    if (!full) return successor;
    std::copy_n(full->tokens.get(), length, successor->tokens.get());
    successor->filled.store(length, std::memory_order_relaxed);
    full->next = successor;
    full->next_from = length;
    return successor;
  }

  const std::unique_ptr<token[]> tokens;
  const std::size_t capacity;
  std::atomic<std::size_t> filled = 0;

  // The block of the last list that went on elsewhere, and after how many tokens: its copies follow it.
  std::weak_ptr<block> next;
  std::size_t next_from = 0;
};

token_list token_list::first(std::size_t length) const noexcept {
  token_list result = *this;
  result.truncate(length);
  return result;
}

void token_list::truncate(std::size_t length) noexcept { length_ = std::min(length_, length); }

void token_list::append(std::span<const token> tokens) {
  if (tokens.size() == 1 && block_ && block_->place(length_, tokens[0])) {  // as after each decode step
    ++length_;
    return;
  }
  const auto source = block_;  // of `tokens`, if they are the list's own
  const std::size_t previous = length_;
  try {
    for (std::size_t i = 0; i < tokens.size(); ++i, ++length_) {
      while (!block_ || !block_->place(length_, tokens[i])) {
        block_ = block::after(block_, length_, tokens.size() - i);
        data_ = block_->tokens.get();
      }
    }
  } catch (...) {
    truncate(previous);
    throw;
  }
}

void token_list::push_back(token id) {
  if (block_ && block_->place(length_, id))
    ++length_;
  else
    append({&id, 1});
}

}  // namespace cogen::scheduler
