#include "network/backend/cpu/activations.hpp"

#include <algorithm>
#include <new>
#include <numeric>

namespace cogen::cpu {

namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t line = alignment / sizeof(float);
constexpr std::size_t smallest_block = std::size_t{64} << 10;

std::size_t whole_lines(std::size_t floats) { return (floats + line - 1) / line * line; }

}  // namespace

void arena::release::operator()(float* data) const noexcept { ::operator delete(data, std::align_val_t{alignment}); }

arena::block arena::allocate(std::size_t size) {
  auto* memory = static_cast<float*>(::operator new(size * sizeof(float), std::align_val_t{alignment}));
  return {.data = std::unique_ptr<float[], release>(memory), .size = size};
}

std::size_t arena::size() const noexcept {
  return std::accumulate(blocks_.begin(), blocks_.end(), std::size_t{0},
                         [](std::size_t sum, const block& part) { return sum + part.size; });
}

void arena::reset() {
  if (blocks_.size() > 1) {
    const auto total = size();
    blocks_.clear();
    blocks_.push_back(allocate(total));
  }
  current_ = 0;
  used_ = 0;
}

activations arena::take(std::int64_t rows, std::int64_t columns) {
  const auto wanted = whole_lines(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  while (current_ < blocks_.size() && blocks_[current_].size - used_ < wanted) {
    ++current_;
    used_ = 0;
  }
  if (current_ == blocks_.size()) blocks_.push_back(allocate(std::max(wanted, smallest_block)));
  auto* data = blocks_[current_].data.get() + used_;
  used_ += wanted;
  return {.data = data, .rows = rows, .columns = columns, .stride = columns};
}

std::span<std::int32_t> arena::take_integers(std::int64_t count) {
  static_assert(sizeof(std::int32_t) == sizeof(float));
  const auto size = static_cast<std::size_t>(count);
  return {new (take(1, count).data) std::int32_t[size], size};
}

std::int64_t arena::bytes() const noexcept { return static_cast<std::int64_t>(size() * sizeof(float)); }

}  // namespace cogen::cpu
