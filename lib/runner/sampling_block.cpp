#include "runner/sampling_block.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>

namespace cogen::detail {

namespace {

/// Bytes to which the beginning of each list is aligned.
constexpr std::size_t alignment = 16;

std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& all) {
  return std::as_bytes(std::span(all));
}

constexpr std::int64_t bytes_of_row = sizeof(token) + sizeof(float) + sizeof(sampling_status);

/// Makes it anew if it is too small.
template <class Make>
void hold(at::Tensor& memory, std::size_t bytes, Make make) {
  if (!memory.defined() || memory.numel() < static_cast<std::int64_t>(bytes))
    memory = make(static_cast<std::int64_t>(std::bit_ceil(bytes)));
}

}  // namespace

sampling_block::sampling_block(const device::backend& where, std::int64_t rows)
    : where_(where),
      most_(rows),
      sampled_(at::empty({bytes_of_row * rows}, at::TensorOptions(where.device()).dtype(at::kByte))) {
  for (auto& each : rows_) each.reserve(static_cast<std::size_t>(rows));
  for (auto& each : host_sampled_) each = where.make_host(bytes_of_row * rows);
}

void sampling_block::begin(std::int64_t rows) {
  turn_ = 1 - turn_;
  rows_[turn_].assign(static_cast<std::size_t>(rows), sampling_row());
  lists_.biases.clear();
  lists_.counts.clear();
  lists_.masks.clear();
  lists_.top_logprobs = 0;
}

void sampling_block::run(device::operators& on, const at::Tensor& logits, const at::Tensor& last) {
  const auto rows = bytes_of(rows_[turn_]);
  const auto biases = bytes_of(lists_.biases);
  const auto counts = bytes_of(lists_.counts);
  const auto masks = bytes_of(lists_.masks);
  const auto biases_at = aligned(rows.size());
  const auto counts_at = biases_at + aligned(biases.size());
  const auto masks_at = counts_at + aligned(counts.size());
  const auto raw_at = masks_at + aligned(masks.size());
  const auto raw_bytes = (lists_.biases.size() + lists_.counts.size()) * sizeof(float);
  const auto top_bytes = lists_.top_logprobs * sizeof(token_logprob);
  const auto on_host = [&](std::int64_t bytes) { return where_.make_host(bytes); };
  const auto on_device = [&](std::int64_t bytes) {
    return at::empty({bytes}, at::TensorOptions(where_.device()).dtype(at::kByte));
  };
  auto& host = host_[turn_];
  hold(host, raw_at, on_host);
  hold(device_, raw_at + raw_bytes, on_device);
  hold(top_, top_bytes, on_device);
  hold(host_top_[turn_], top_bytes, on_host);
  auto* const to = reinterpret_cast<std::byte*>(host.mutable_data_ptr<std::uint8_t>());
  std::ranges::copy(rows, to);
  std::ranges::copy(biases, to + biases_at);
  std::ranges::copy(counts, to + counts_at);
  std::ranges::copy(masks, to + masks_at);
  const auto used = static_cast<std::int64_t>(masks_at + masks.size());
  device_.narrow(0, 0, used).copy_(host.narrow(0, 0, used), true);

  const auto part = [&](std::size_t begin, std::size_t size) {
    return device_.narrow(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(size));
  };
  auto samples = samples_in(sampled_, logits.size(0));
  samples.top = top_.narrow(0, 0, static_cast<std::int64_t>(top_bytes));
  on.sample(logits,
            {.rows = part(0, rows.size()),
             .biases = part(biases_at, biases.size()),
             .counts = part(counts_at, counts.size()),
             .masks = part(masks_at, masks.size()),
             .raw = part(raw_at, raw_bytes).view(at::kFloat)},
            last, samples);
  host_sampled_[turn_].copy_(sampled_, true);
  if (top_bytes > 0) host_top_[turn_].narrow(0, 0, samples.top.numel()).copy_(samples.top, true);
}

device::step_samples sampling_block::samples_in(const at::Tensor& sampled, std::int64_t rows) const {
  const auto numbers = sampled.narrow(0, 0, 8 * most_);
  return {.tokens = numbers.view(at::kInt).narrow(0, 0, rows),
          .statuses = sampled.narrow(0, 8 * most_, rows),
          .logprobs = numbers.view(at::kFloat).narrow(0, most_, rows),
          .top = {}};
}

// As samples_in() lays them out. Called for each row of a step, for which views would take longer than all else.

sampling_status sampling_block::status(std::size_t turn, std::int64_t row) const {
  return static_cast<sampling_status>(host_sampled_[turn].const_data_ptr<std::uint8_t>()[8 * most_ + row]);
}

sampled_token sampling_block::sampled(std::size_t turn, std::int64_t row) const {
  const auto* const bytes = host_sampled_[turn].const_data_ptr<std::uint8_t>();
  const auto& how = rows_[turn][static_cast<std::size_t>(row)];
  sampled_token made{.id = reinterpret_cast<const token*>(bytes)[row]};
  if (how.logprobs == sampled_logprobs::none) return made;
  made.logprob = reinterpret_cast<const float*>(bytes)[most_ + row];
  const auto* const top = reinterpret_cast<const token_logprob*>(host_top_[turn].const_data_ptr<std::uint8_t>());
  for (const auto& each : std::span(top + how.top.begin, how.top.count))
    if (each.id >= 0) made.top.push_back(each);
  return made;
}

}  // namespace cogen::detail
