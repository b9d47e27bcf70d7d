#pragma once

#include "backend/backend.hpp"

#include <cogen/extend/sampling_row.hpp>
#include <cogen/sampling_params.hpp>

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cogen::detail {

/// The sampling metadata of a step's rows, copied to a device, and the samples, copied back. Both have two buffers on
/// the host, so that a step can be written while the previous one is still running.
class sampling_block {
 public:
  /// For at most `rows` rows in a step.
  sampling_block(const device::backend& where, std::int64_t rows);

  /// Begins a step of `rows` rows, none of which samples yet.
  void begin(std::int64_t rows);

  sampling_row& row(std::int64_t index) { return rows_[turn_][static_cast<std::size_t>(index)]; }
  sampling_lists& lists() noexcept { return lists_; }

  /// Enqueues sampling from `logits` [rows, vocabulary] and the copy of the results to the host. `last` [slots] on the
  /// device keeps the last token sampled in each slot.
  void run(device::operators& on, const at::Tensor& logits, const at::Tensor& last);

  /// The index of the buffers that the current step uses: 0 or 1.
  std::size_t turn() const noexcept { return turn_; }

  /// The results of a row in a step that has ended.
  sampling_status status(std::size_t turn, std::int64_t row) const;
  sampled_token sampled(std::size_t turn, std::int64_t row) const;

 private:
  device::step_samples samples_in(const at::Tensor& sampled, std::int64_t rows) const;

  const device::backend& where_;
  std::array<std::vector<sampling_row>, 2> rows_;
  sampling_lists lists_;
  std::size_t turn_ = 0;
  std::array<at::Tensor, 2> host_;  // bytes
  at::Tensor device_;
  std::int64_t most_;   // rows
  at::Tensor sampled_;  // bytes: tokens and log-probabilities, then statuses
  std::array<at::Tensor, 2> host_sampled_;
  at::Tensor top_;  // bytes: the most probable tokens, as many as a step asked for
  std::array<at::Tensor, 2> host_top_;
};

}  // namespace cogen::detail
