#include "engine/draw_block.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>

namespace cogen::detail {

namespace {

/// Where lists begin, so that whatever they hold is aligned.
constexpr std::size_t alignment = 16;

std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& all) {
  return std::as_bytes(std::span(all));
}

}  // namespace

draw_block::draw_block(const device::place& where, std::int64_t rows) : where_(where) {
  draws_.reserve(static_cast<std::size_t>(rows));
  const auto on_device = at::TensorOptions(where.device());
  tokens_ = at::empty({rows}, on_device.dtype(at::kInt));
  statuses_ = at::empty({rows}, on_device.dtype(at::kByte));
  for (auto& each : host_tokens_)
    each = where.make_host(rows * static_cast<std::int64_t>(sizeof(token))).view(at::kInt);
  for (auto& each : host_statuses_) each = where.make_host(rows);
}

void draw_block::begin(std::int64_t rows) {
  turn_ = 1 - turn_;
  draws_.assign(static_cast<std::size_t>(rows), device_draw());
  lists_.biases.clear();
  lists_.counts.clear();
}

void draw_block::run(device::operators& on, const at::Tensor& logits, const at::Tensor& last) {
  const auto rows = bytes_of(draws_);
  const auto biases = bytes_of(lists_.biases);
  const auto counts = bytes_of(lists_.counts);
  const auto biases_at = aligned(rows.size());
  const auto counts_at = biases_at + aligned(biases.size());
  const auto total = static_cast<std::int64_t>(std::bit_ceil(counts_at + aligned(counts.size())));
  auto& host = host_[turn_];
  if (!host.defined() || host.numel() < total) host = where_.make_host(total);
  if (!device_.defined() || device_.numel() < total)
    device_ = at::empty({total}, at::TensorOptions(where_.device()).dtype(at::kByte));
  auto* const to = reinterpret_cast<std::byte*>(host.mutable_data_ptr<std::uint8_t>());
  std::ranges::copy(rows, to);
  std::ranges::copy(biases, to + biases_at);
  std::ranges::copy(counts, to + counts_at);
  const auto used = static_cast<std::int64_t>(counts_at + counts.size());
  device_.narrow(0, 0, used).copy_(host.narrow(0, 0, used), true);

  const auto part = [&](std::size_t begin, std::size_t size) {
    return device_.narrow(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(size));
  };
  const auto count = logits.size(0);
  on.draw(logits, {part(0, rows.size()), part(biases_at, biases.size()), part(counts_at, counts.size())}, last,
          tokens_.narrow(0, 0, count), statuses_.narrow(0, 0, count));
  host_tokens_[turn_].narrow(0, 0, count).copy_(tokens_.narrow(0, 0, count), true);
  host_statuses_[turn_].narrow(0, 0, count).copy_(statuses_.narrow(0, 0, count), true);
}

}  // namespace cogen::detail
