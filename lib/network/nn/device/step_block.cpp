#include "network/nn/device/step_block.hpp"

#include <ATen/ops/zeros.h>

#include <algorithm>

namespace cogen::nn {

step_block::step_block(const device::backend& where, std::int64_t tokens)
    : stride_(tokens + 1), device_(at::zeros({sections * stride_}, at::TensorOptions(where.device()).dtype(at::kInt))) {
  for (auto& each : host_)
    each = where.make_host(sections * stride_ * static_cast<std::int64_t>(sizeof(std::int32_t))).view(at::kInt);
}

void step_block::write(std::span<const token_row> step, const cache::device_cache& memory,
                       std::span<const std::int32_t> outputs) {
  begin();
  std::int64_t single = 0, longest = 0, reach = 0;
  std::vector<device::prompt_row> prompts;
  for (const auto& row : step) {
    const auto count = static_cast<std::int64_t>(row.tokens.size());
    const auto held = memory.length(row.slot);
    if (count == 1) {
      ++single;
    } else {
      host(starts_at)[prompts.size()] = static_cast<std::int32_t>(tokens_ - single);
      host(origins_at)[prompts.size()] = static_cast<std::int32_t>(memory.origin(row.slot));
      host(lengths_at)[prompts.size()] = static_cast<std::int32_t>(held + count);
      longest = std::max(longest, count);
      reach = std::max(reach, held + count);
      prompts.push_back({row.slot, held, count});
    }
    add_tokens(row, memory);
  }
  host(starts_at)[prompts.size()] = static_cast<std::int32_t>(tokens_ - single);
  host(origins_at)[prompts.size()] = 0;
  std::ranges::copy(outputs, host(outputs_at));
  output_count_ = static_cast<std::int64_t>(outputs.size());
  name_rows(single, std::move(prompts));
  rows_.longest = longest;
  rows_.reach = reach;
}

void step_block::write_each(std::span<const token_row> step, const cache::device_cache& memory, std::int64_t count) {
  begin();
  for (const auto& row : step) add_tokens(row, memory);
  fill_up(count);
  output_count_ = 0;
  name_rows(count, {});
  rows_.longest = rows_.reach = 0;
}

void step_block::write_nothing(std::int64_t single, std::int64_t prompt) {
  begin();
  fill_up(single + prompt);
  host(outputs_at)[0] = static_cast<std::int32_t>(tokens_ - 1);
  output_count_ = 1;
  if (prompt > 0) return end_prompt(single, prompt);
  name_rows(single, {});
  rows_.longest = rows_.reach = 0;
}

void step_block::write_text(std::span<const token> tokens, std::int64_t second, std::int64_t further,
                            std::span<const std::int32_t> outputs) {
  begin();
  for (const token id : tokens) {
    host(ids_at)[tokens_] = id;
    host(slots_at)[tokens_] = 0;
    host(positions_at)[tokens_] = static_cast<std::int32_t>(tokens_ < second ? tokens_ : tokens_ + further);
    host(encoder_lengths_at)[tokens_] = 0;
    ++tokens_;
  }
  std::ranges::copy(outputs, host(outputs_at));
  output_count_ = static_cast<std::int64_t>(outputs.size());
  end_prompt(0, tokens_);
}

/// The last tokens are one prompt of the first slot, which holds nothing.
void step_block::end_prompt(std::int64_t single, std::int64_t count) {
  host(starts_at)[0] = 0;
  host(starts_at)[1] = static_cast<std::int32_t>(count);
  host(origins_at)[0] = host(origins_at)[1] = 0;
  host(lengths_at)[0] = static_cast<std::int32_t>(count);
  name_rows(single, {{.slot = 0, .held = 0, .count = count}});
  rows_.longest = rows_.reach = count;
}

/// Makes rows_ refer to the tokens written so far, in device memory. They are there once send() has copied them.
void step_block::name_rows(std::int64_t single, std::vector<device::prompt_row> prompts) {
  const auto count = static_cast<std::int64_t>(prompts.size());
  rows_ = single_rows(tokens_);
  rows_.single = single;
  rows_.prompts = std::move(prompts);
  rows_.prompt_starts = section(device_, starts_at, count + 1);
  rows_.prompt_origins = section(device_, origins_at, count + 1);
  rows_.prompt_lengths = section(device_, lengths_at, count);
}

/// The other buffer may still be copied.
void step_block::begin() {
  turn_ = 1 - turn_;
  tokens_ = 0;
}

void step_block::add_tokens(const token_row& row, const cache::device_cache& memory) {
  for (int position = memory.length(row.slot); const token id : row.tokens) {
    host(ids_at)[tokens_] = id;
    host(slots_at)[tokens_] = row.slot;
    host(positions_at)[tokens_] = position++;
    host(encoder_lengths_at)[tokens_] = memory.encoder_length(row.slot);
    ++tokens_;
  }
}

/// Padding.
void step_block::fill_up(std::int64_t count) {
  for (; tokens_ < count; ++tokens_) {
    host(ids_at)[tokens_] = 0;
    host(slots_at)[tokens_] = -1;
    host(positions_at)[tokens_] = 0;
    host(encoder_lengths_at)[tokens_] = 0;
  }
}

void step_block::send() { device_.copy_(host_[turn_], true); }

device::step_rows step_block::single_rows(std::int64_t count) const {
  device::step_rows rows;
  rows.ids = section(device_, ids_at, count);
  rows.slots = section(device_, slots_at, count);
  rows.positions = section(device_, positions_at, count);
  rows.encoder_lengths = section(device_, encoder_lengths_at, count);
  rows.single = count;
  return rows;
}

}  // namespace cogen::nn
