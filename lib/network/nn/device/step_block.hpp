#pragma once

#include "network/backend/backend.hpp"

#include <cogen/cache/device_cache.hpp>
#include <cogen/token.hpp>

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace cogen::nn {

/// New tokens of one slot. A token of -1 is the one last sampled in the slot, which is already on the device.
struct token_row {
  int slot = 0;
  std::span<const token> tokens;
};

/// The inputs of one step, copied to a device at once: tokens, their slots and positions, and the tokens whose logits
/// are wanted. The buffer on the device keeps its address, so that graphs read the current step. There are two buffers
/// on the host, so that a step can be written while the previous one is still being copied.
class step_block {
 public:
  /// For steps of at most `tokens` tokens.
  step_block(const device::backend& where, std::int64_t tokens);

  /// Writes a step, rows of one token first. The cache's lengths must be those before the step. `outputs` are indices
  /// into the step's tokens.
  void write(std::span<const token_row> step, const cache::device_cache& memory, std::span<const std::int32_t> outputs);

  /// Writes a whole text, from position 0 on. The tokens from `second` on have the vectors of positions `further` on.
  void write_text(std::span<const token> tokens, std::int64_t second, std::int64_t further,
                  std::span<const std::int32_t> outputs);

  /// Writes a dummy step of tokens that belong to no slot: so many rows of one token, and a prompt of so many, 0 or
  /// more than 1. The last token is the only output.
  void write_nothing(std::int64_t single, std::int64_t prompt);

  /// Writes a step each of whose tokens is a row of one token, then padding up to `count` tokens: for graphs.
  void write_each(std::span<const token_row> step, const cache::device_cache& memory, std::int64_t count);

  /// Enqueues the copy to the device.
  void send();

  /// The step, in device memory.
  const device::step_rows& rows() const noexcept { return rows_; }
  at::Tensor outputs() const { return section(device_, outputs_at, output_count_); }

  /// `count` rows of one token in device memory, for graphs to read whatever step is there.
  device::step_rows single_rows(std::int64_t count) const;

  /// On the device.
  std::int64_t bytes() const noexcept { return static_cast<std::int64_t>(device_.nbytes()); }

 private:
  void begin();
  void add_tokens(const token_row& row, const cache::device_cache& memory);
  void fill_up(std::int64_t count);
  void end_prompt(std::int64_t single, std::int64_t count);
  void name_rows(std::int64_t single, std::vector<device::prompt_row> prompts);

  enum section_name : std::int64_t {
    ids_at,
    slots_at,
    positions_at,
    encoder_lengths_at,
    outputs_at,
    starts_at,
    origins_at,
    lengths_at,
    sections
  };

  at::Tensor section(const at::Tensor& tensor, section_name which, std::int64_t count) const {
    return tensor.narrow(0, which * stride_, count);
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

}  // namespace cogen::nn
