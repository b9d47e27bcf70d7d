#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace cogen::cache {

/// `count` new tokens of slot `slot`. Their positions follow from the slot's length, so no row names a position. The
/// last `drafts` of them may be dropped again until the slot's next row, also where the slot has a state.
struct step_row {
  int slot = 0;
  int count = 0;
  int drafts = 0;
};

/// Which slots get how many new tokens in one forward: a ragged batch with its rows concatenated.
///
/// Only assign() changes it. May be empty.
class step {
 public:
  step() = default;

  /// Throws std::invalid_argument for a slot below 0, a slot with two rows, a count below 1, or drafts below 0 or
  /// not below the count; std::length_error if the tokens of all rows exceed 2^31 - 1. The message names the row.
  explicit step(std::vector<step_row> rows);

  /// Replaces the rows and reuses the memory. Throws as the constructor does; then only another assign() is valid.
  void assign(std::span<const step_row> rows);

  std::span<const step_row> rows() const noexcept { return rows_; }

  /// New tokens of all rows.
  int tokens() const noexcept { return first_.back(); }

  /// Where row `row` begins in the batch: its tokens are [first(row), first(row) + rows()[row].count).
  int first(int row) const { return first_[static_cast<std::size_t>(row)]; }

 private:
  void number();

  std::vector<step_row> rows_;
  std::vector<int> first_{0};  // [rows + 1]
  std::vector<int> slots_;     // [rows], in order
};

}  // namespace cogen::cache
