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

}  // namespace

sampling_block::sampling_block(const device::backend& where, std::int64_t rows)
    : where_(where), most_(rows), sampled_(at::empty({5 * rows}, at::TensorOptions(where.device()).dtype(at::kByte))) {
  sampling_.reserve(static_cast<std::size_t>(rows));
  for (auto& each : host_sampled_) each = where.make_host(5 * rows);
}

void sampling_block::begin(std::int64_t rows) {
  turn_ = 1 - turn_;
  sampling_.assign(static_cast<std::size_t>(rows), sampling_row());
  lists_.biases.clear();
  lists_.counts.clear();
  lists_.masks.clear();
}

void sampling_block::run(device::operators& on, const at::Tensor& logits, const at::Tensor& last) {
  const auto rows = bytes_of(sampling_);
  const auto biases = bytes_of(lists_.biases);
  const auto counts = bytes_of(lists_.counts);
  const auto masks = bytes_of(lists_.masks);
  const auto biases_at = aligned(rows.size());
  const auto counts_at = biases_at + aligned(biases.size());
  const auto masks_at = counts_at + aligned(counts.size());
  const auto total = static_cast<std::int64_t>(std::bit_ceil(masks_at + aligned(masks.size())));
  auto& host = host_[turn_];
  if (!host.defined() || host.numel() < total) host = where_.make_host(total);
  if (!device_.defined() || device_.numel() < total)
    device_ = at::empty({total}, at::TensorOptions(where_.device()).dtype(at::kByte));
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
  const auto count = logits.size(0);
  on.sample(logits,
            {.rows = part(0, rows.size()),
             .biases = part(biases_at, biases.size()),
             .counts = part(counts_at, counts.size()),
             .masks = part(masks_at, masks.size())},
            last, tokens_in(sampled_).narrow(0, 0, count), statuses_in(sampled_).narrow(0, 0, count));
  host_sampled_[turn_].copy_(sampled_, true);
}

}  // namespace cogen::detail
