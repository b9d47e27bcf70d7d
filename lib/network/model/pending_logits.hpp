#pragma once

#include "network/parallel/rank_group.hpp"

#include <cogen/detail/matrix.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace cogen::nn {

/// The logits of a forward that the last stage of a pipeline computes while this rank goes on. At most as long as the
/// ranks.
class pending_logits {
 public:
  pending_logits(parallel::rank_group& ranks, std::int64_t rows, std::int64_t vocabulary);
  ~pending_logits();
  pending_logits(pending_logits&& other) noexcept;
  pending_logits& operator=(pending_logits&&) = delete;

  /// The last stage computes these rows next.
  void expect(std::span<const int> rows);

  /// Waits until all rows are there: [rows, vocabulary]. Throws parallel::rank_error.
  matrix wait();

 private:
  /// Some rows, or those of each rank that computes a shard of the vocabulary.
  struct part {
    std::vector<int> rows;
    std::vector<matrix> shards;
  };

  parallel::rank_group* ranks_;  // null: nothing is pending
  std::uint64_t last_ = 0;       // of the numbers by which ranks_ know what is expected
  matrix whole_;
  std::vector<part> parts_;  // those that are to be copied into it
};

}  // namespace cogen::nn
