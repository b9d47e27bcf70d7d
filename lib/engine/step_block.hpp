#pragma once

#include "device/backend.hpp"

#include <cogen/cache/device_cache.hpp>
#include <cogen/scheduler/plan.hpp>

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace cogen::detail {

/// What a device is told of one step, in one copy: its tokens, their slots and positions, and whose logits are wanted.
/// It lies on the device where the last one lay, so that recorded work reads this step's; on the host two take turns,
/// so that a step can be written while the one before it is still on its way.
class step_block {
 public:
  /// For steps of at most so many tokens.
  step_block(const device::backend& where, std::int64_t tokens);

  /// Writes a step whose rows, of one token first, are those of `plan` in the order `order`; where one is chained, the
  /// device knows its token. The cache's lengths are those before the step. `outputs` are indices into its tokens.
  void write(const scheduler::plan& plan, std::span<const int> order, const cache::device_cache& memory,
             std::span<const std::int32_t> outputs);

  /// Writes a prompt of so many tokens that are nobody's, and nothing comes of.
  void write_nothing(std::int64_t tokens);

  /// Appends rows that only fill up, until there are `rows`. After write(), and only where all rows are of one token.
  void fill_up(std::int64_t rows);

  /// Begins to copy it to the device.
  void send();

  /// As the device has it.
  const device::step_rows& rows() const noexcept { return rows_; }
  at::Tensor outputs() const { return section(device_, outputs_at, output_count_); }

  /// Recorded work reads this many rows of one token from it, whatever they are.
  device::step_rows single_rows(std::int64_t count) const;

 private:
  void name_rows(std::int64_t single, std::vector<device::prompt_row> prompts);

  enum section_name : std::int64_t {
    ids_at,
    slots_at,
    positions_at,
    outputs_at,
    starts_at,
    origins_at,
    lengths_at,
    sections
  };

  at::Tensor section(const at::Tensor& of, section_name which, std::int64_t count) const {
    return of.narrow(0, which * stride_, count);
  }
  std::int32_t* host(section_name which) const {
    return host_[turn_].mutable_data_ptr<std::int32_t>() + which * stride_;
  }

  std::int64_t stride_;
  std::array<at::Tensor, 2> host_;
  std::size_t turn_ = 0;
  at::Tensor device_;
  device::step_rows rows_;
  std::int64_t tokens_ = 0;
  std::int64_t output_count_ = 0;
};

}  // namespace cogen::detail
