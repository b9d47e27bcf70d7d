#pragma once

#include "device/place.hpp"

#include <cogen/device_draw.hpp>

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cogen::detail {

/// How the rows of a step draw, on their way to a device, and what they have drawn, on its way back. Two of each on the
/// host take turns, so that a step can be written while the one before it is still under way.
class draw_block {
 public:
  /// For at most so many rows.
  draw_block(const device::place& where, std::int64_t rows);

  /// Begins a step of `rows` rows, none of which draws as yet.
  void begin(std::int64_t rows);

  device_draw& row(std::int64_t index) { return draws_[static_cast<std::size_t>(index)]; }
  draw_lists& lists() noexcept { return lists_; }

  /// Has them drawn from `logits` [rows, vocabulary], and begins to bring back what comes of it. `last` is the device's
  /// own memory of what was drawn in each slot.
  void run(device::operators& on, const at::Tensor& logits, const at::Tensor& last);

  /// Which of the two steps this is.
  std::size_t turn() const noexcept { return turn_; }

  /// What came of a row in a step that has ended.
  token drawn(std::size_t turn, std::int64_t row) const { return host_tokens_[turn].const_data_ptr<token>()[row]; }
  draw_status status(std::size_t turn, std::int64_t row) const {
    return static_cast<draw_status>(host_statuses_[turn].const_data_ptr<std::uint8_t>()[row]);
  }

 private:
  const device::place& where_;
  std::vector<device_draw> draws_;
  draw_lists lists_;
  std::size_t turn_ = 0;
  std::array<at::Tensor, 2> host_;  // bytes
  at::Tensor device_;
  at::Tensor tokens_;    // [rows] int32
  at::Tensor statuses_;  // [rows] uint8
  std::array<at::Tensor, 2> host_tokens_;
  std::array<at::Tensor, 2> host_statuses_;
};

}  // namespace cogen::detail
