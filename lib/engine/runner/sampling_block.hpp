#pragma once

#include "network/backend/backend.hpp"

#include <cogen/detail/sampling_batch.hpp>
#include <cogen/sampling_params.hpp>

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cogen::detail {

/// The sampling metadata of a step's rows, copied to a device, and the samples, copied back. Both have two buffers on
/// the host, so that a step can be written while the previous one is still running. In this order: begin(), row(),
/// send(), sample() of all rows, and receive().
class sampling_block {
 public:
  /// For at most `rows` rows in a step.
  sampling_block(const device::backend& where, std::int64_t rows);

  /// Begins a step of `rows` rows, which are padding.
  void begin(std::int64_t rows);

  sampling_row& row(std::int64_t index) { return rows_[turn_][static_cast<std::size_t>(index)]; }

  /// Enqueues the copy of the rows and of the lists that they refer to, which are valid until all rows are sampled, to
  /// the device.
  void send(const sampling_lists& lists);

  /// Enqueues sampling from `logits` [count, vocabulary], which are those of the rows from number `first` on. `last`
  /// [slots] on the device keeps the last token sampled in each slot.
  void sample(device::operators& ops, const at::Tensor& logits, std::int64_t first, const at::Tensor& last);

  /// Enqueues the copy of the results to the host.
  void receive();

  /// The index of the buffers that the current step uses: 0 or 1.
  std::size_t turn() const noexcept { return turn_; }

  /// The results of a row in a step that has ended.
  sampling_status status(std::size_t turn, std::int64_t row) const;
  sampled_token sampled(std::size_t turn, std::int64_t row) const;

 private:
  /// Where what is on the device begins, in bytes: the rows, and what they refer to.
  struct layout {
    std::int64_t biases, counts, masks, raw, end;
  };

  std::int64_t rows() const { return static_cast<std::int64_t>(rows_[turn_].size()); }
  std::int64_t top_bytes() const;
  layout layout_of_step() const;

  const device::backend& where_;
  std::array<std::vector<sampling_row>, 2> rows_;
  const sampling_lists* lists_ = nullptr;  // of the current step
  std::size_t turn_ = 0;
  std::array<at::Tensor, 2> host_;  // bytes
  at::Tensor device_;
  at::Tensor sampled_;  // bytes: the step's tokens, then its log-probabilities, then its statuses
  std::array<at::Tensor, 2> host_sampled_;
  at::Tensor top_;  // bytes: the most probable tokens, as many as a step asked for
  std::array<at::Tensor, 2> host_top_;
};

}  // namespace cogen::detail
