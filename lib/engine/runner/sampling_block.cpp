#include "engine/runner/sampling_block.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>
#include <span>

namespace cogen::detail {

namespace {

/// Bytes to which the beginning of each list is aligned.
constexpr std::int64_t alignment = 16;

constexpr std::int64_t result_bytes = sizeof(token) + sizeof(float) + sizeof(sampling_status);  // of a row

template <class T>
std::int64_t bytes_of(const std::vector<T>& values) {
  return static_cast<std::int64_t>(values.size() * sizeof(T));
}

template <class T>
std::int64_t aligned_bytes(const std::vector<T>& values) {
  return (bytes_of(values) + alignment - 1) / alignment * alignment;
}

template <class T>
void copy_bytes(const std::vector<T>& source, std::byte* target) {
  std::ranges::copy(std::as_bytes(std::span(source)), target);
}

/// Makes it anew if it is too small.
template <class Make>
void hold(at::Tensor& memory, std::int64_t bytes, Make make) {
  if (!memory.defined() || memory.numel() < bytes)
    memory = make(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(bytes))));
}

}  // namespace

sampling_block::sampling_block(const device::backend& where, std::int64_t rows)
    : where_(where), sampled_(at::empty({result_bytes * rows}, at::TensorOptions(where.device()).dtype(at::kByte))) {
  for (auto& each : rows_) each.reserve(static_cast<std::size_t>(rows));
  for (auto& each : host_sampled_) each = where.make_host(result_bytes * rows);
}

void sampling_block::begin(std::int64_t rows) {
  turn_ = 1 - turn_;
  rows_[turn_].assign(static_cast<std::size_t>(rows), sampling_row());
}

std::int64_t sampling_block::top_bytes() const {
  return static_cast<std::int64_t>(lists_->top_logprobs * sizeof(token_logprob));
}

sampling_block::layout sampling_block::layout_of_step() const {
  layout offsets{};
  offsets.biases = aligned_bytes(rows_[turn_]);
  offsets.counts = offsets.biases + aligned_bytes(lists_->biases);
  offsets.masks = offsets.counts + aligned_bytes(lists_->counts);
  offsets.raw = offsets.masks + aligned_bytes(lists_->masks);
  offsets.end =
      offsets.raw + static_cast<std::int64_t>((lists_->biases.size() + lists_->counts.size()) * sizeof(float));
  return offsets;
}

void sampling_block::send(const sampling_lists& lists) {
  lists_ = &lists;
  const auto offsets = layout_of_step();
  const auto on_host = [&](std::int64_t bytes) { return where_.make_host(bytes); };
  const auto on_device = [&](std::int64_t bytes) {
    return at::empty({bytes}, at::TensorOptions(where_.device()).dtype(at::kByte));
  };
  auto& host = host_[turn_];
  hold(host, offsets.raw, on_host);
  hold(device_, offsets.end, on_device);
  hold(top_, top_bytes(), on_device);
  hold(host_top_[turn_], top_bytes(), on_host);
  auto* const target = reinterpret_cast<std::byte*>(host.mutable_data_ptr<std::uint8_t>());
  copy_bytes(rows_[turn_], target);
  copy_bytes(lists_->biases, target + offsets.biases);
  copy_bytes(lists_->counts, target + offsets.counts);
  copy_bytes(lists_->masks, target + offsets.masks);
  device_.narrow(0, 0, offsets.raw).copy_(host.narrow(0, 0, offsets.raw), true);
}

void sampling_block::sample(device::operators& ops, const at::Tensor& logits, std::int64_t first,
                            const at::Tensor& last) {
  const auto offsets = layout_of_step();
  const auto count = logits.size(0);
  constexpr auto row_bytes = static_cast<std::int64_t>(sizeof(sampling_row));
  const auto part = [&](std::int64_t begin, std::int64_t bytes) { return device_.narrow(0, begin, bytes); };
  const auto numbers = sampled_.narrow(0, 0, 8 * rows());
  ops.sample(logits,
             {.rows = part(first * row_bytes, count * row_bytes),
              .biases = part(offsets.biases, bytes_of(lists_->biases)),
              .counts = part(offsets.counts, bytes_of(lists_->counts)),
              .masks = part(offsets.masks, bytes_of(lists_->masks)),
              .raw = part(offsets.raw, offsets.end - offsets.raw).view(at::kFloat)},
             last,
             {.tokens = numbers.view(at::kInt).narrow(0, first, count),
              .statuses = sampled_.narrow(0, 8 * rows() + first, count),
              .logprobs = numbers.view(at::kFloat).narrow(0, rows() + first, count),
              .top = top_.narrow(0, 0, top_bytes())});
}

void sampling_block::receive() {
  const auto used = result_bytes * rows();
  host_sampled_[turn_].narrow(0, 0, used).copy_(sampled_.narrow(0, 0, used), true);
  if (const auto bytes = top_bytes(); bytes > 0)
    host_top_[turn_].narrow(0, 0, bytes).copy_(top_.narrow(0, 0, bytes), true);
}

// As sample() lays them out. Called for each row of a step, for which views would take longer than all else.

sampling_status sampling_block::status(std::size_t turn, std::int64_t row) const {
  const auto* const statuses = host_sampled_[turn].const_data_ptr<std::uint8_t>() + 8 * rows_[turn].size();
  return static_cast<sampling_status>(statuses[row]);
}

sampled_token sampling_block::sampled(std::size_t turn, std::int64_t row) const {
  const auto* const bytes = host_sampled_[turn].const_data_ptr<std::uint8_t>();
  const auto& settings = rows_[turn][static_cast<std::size_t>(row)];
  sampled_token result{.id = reinterpret_cast<const token*>(bytes)[row]};
  if (settings.logprobs == sampled_logprobs::none) return result;
  result.logprob = reinterpret_cast<const float*>(bytes)[std::ssize(rows_[turn]) + row];
  const auto* const top = reinterpret_cast<const token_logprob*>(host_top_[turn].const_data_ptr<std::uint8_t>());
  for (const auto& each : std::span(top + settings.top.begin, settings.top.count))
    if (each.id >= 0) result.top.push_back(each);
  return result;
}

}  // namespace cogen::detail
