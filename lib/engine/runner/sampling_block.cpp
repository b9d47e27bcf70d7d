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
std::int64_t bytes_of(const std::vector<T>& all) {
  return static_cast<std::int64_t>(all.size() * sizeof(T));
}

template <class T>
std::int64_t aligned_bytes(const std::vector<T>& all) {
  return (bytes_of(all) + alignment - 1) / alignment * alignment;
}

template <class T>
void copy_bytes(const std::vector<T>& from, std::byte* to) {
  std::ranges::copy(std::as_bytes(std::span(from)), to);
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
  layout at{};
  at.biases = aligned_bytes(rows_[turn_]);
  at.counts = at.biases + aligned_bytes(lists_->biases);
  at.masks = at.counts + aligned_bytes(lists_->counts);
  at.raw = at.masks + aligned_bytes(lists_->masks);
  at.end = at.raw + static_cast<std::int64_t>((lists_->biases.size() + lists_->counts.size()) * sizeof(float));
  return at;
}

void sampling_block::send(const sampling_lists& lists) {
  lists_ = &lists;
  const auto at = layout_of_step();
  const auto on_host = [&](std::int64_t bytes) { return where_.make_host(bytes); };
  const auto on_device = [&](std::int64_t bytes) {
    return at::empty({bytes}, at::TensorOptions(where_.device()).dtype(at::kByte));
  };
  auto& host = host_[turn_];
  hold(host, at.raw, on_host);
  hold(device_, at.end, on_device);
  hold(top_, top_bytes(), on_device);
  hold(host_top_[turn_], top_bytes(), on_host);
  auto* const to = reinterpret_cast<std::byte*>(host.mutable_data_ptr<std::uint8_t>());
  copy_bytes(rows_[turn_], to);
  copy_bytes(lists_->biases, to + at.biases);
  copy_bytes(lists_->counts, to + at.counts);
  copy_bytes(lists_->masks, to + at.masks);
  device_.narrow(0, 0, at.raw).copy_(host.narrow(0, 0, at.raw), true);
}

void sampling_block::sample(device::operators& on, const at::Tensor& logits, std::int64_t first,
                            const at::Tensor& last) {
  const auto at = layout_of_step();
  const auto count = logits.size(0);
  constexpr auto row_bytes = static_cast<std::int64_t>(sizeof(sampling_row));
  const auto part = [&](std::int64_t begin, std::int64_t bytes) { return device_.narrow(0, begin, bytes); };
  const auto numbers = sampled_.narrow(0, 0, 8 * rows());
  on.sample(logits,
            {.rows = part(first * row_bytes, count * row_bytes),
             .biases = part(at.biases, bytes_of(lists_->biases)),
             .counts = part(at.counts, bytes_of(lists_->counts)),
             .masks = part(at.masks, bytes_of(lists_->masks)),
             .raw = part(at.raw, at.end - at.raw).view(at::kFloat)},
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
  const auto& how = rows_[turn][static_cast<std::size_t>(row)];
  sampled_token made{.id = reinterpret_cast<const token*>(bytes)[row]};
  if (how.logprobs == sampled_logprobs::none) return made;
  made.logprob = reinterpret_cast<const float*>(bytes)[std::ssize(rows_[turn]) + row];
  const auto* const top = reinterpret_cast<const token_logprob*>(host_top_[turn].const_data_ptr<std::uint8_t>());
  for (const auto& each : std::span(top + how.top.begin, how.top.count))
    if (each.id >= 0) made.top.push_back(each);
  return made;
}

}  // namespace cogen::detail
