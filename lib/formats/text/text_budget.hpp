#pragma once

#include <cstddef>
#include <cstdint>

namespace cogen::text {

/// What the steps of a tokenizer may make of one text, and how long they may take: both grow as the text does.
class text_budget {
 public:
  static constexpr std::size_t free_bytes = 4096;
  static constexpr std::size_t bytes_for_each = 64;
  static constexpr std::uint64_t free_steps = std::uint64_t{1} << 26;
  static constexpr std::uint64_t steps_for_each = 64;

  /// For a text of so many bytes.
  explicit text_budget(std::size_t size) noexcept
      : size_(size), bytes_(bytes_for_each * size + free_bytes), steps_(steps_for_each * size + free_steps) {}

  /// Throws std::runtime_error if a step's result of so many bytes is too long.
  void require(std::size_t bytes) const {
    if (bytes > bytes_) refuse_bytes();
  }

  /// Accounts for a text that the steps have made.
  void take(std::size_t bytes) {
    require(bytes);
    bytes_ -= bytes;
  }

  /// Accounts for bytes, characters or nodes that a step is about to visit. Throws std::runtime_error at the limit.
  void spend(std::uint64_t steps) {
    if (steps > steps_) refuse_steps();
    steps_ -= steps;
  }

 private:
  [[noreturn]] void refuse_bytes() const;
  [[noreturn]] void refuse_steps() const;

  std::size_t size_;
  std::size_t bytes_;
  std::uint64_t steps_;
};

}  // namespace cogen::text
