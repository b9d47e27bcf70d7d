#include "models/device_weights.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <numeric>

namespace cogen::models {

namespace {

/// Rows that are read, rounded and sent at a time.
constexpr std::int64_t bytes_at_once = std::int64_t{32} << 20;

std::int64_t rows_of(std::span<const layers::named_rows> parts) {
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& part) { return sum + part.rows; });
}

bool stored_as(const load::weight& from, at::ScalarType type) {
  return (from.type() == load::element_type::bf16 && type == at::kBFloat16) ||
         (from.type() == load::element_type::f16 && type == at::kHalf) ||
         (from.type() == load::element_type::f32 && type == at::kFloat);
}

std::span<std::byte> bytes_in(const at::Tensor& numbers) {
  return {static_cast<std::byte*>(numbers.mutable_data_ptr()), static_cast<std::size_t>(numbers.nbytes())};
}

}  // namespace

stored_weights::stored_weights(const load::checkpoint& files, at::TensorOptions like,
                               layers::weight_reader::progress report)
    : files_(files), like_(like), report_(std::move(report)) {}

at::Tensor stored_weights::matrix(std::span<const layers::named_rows> parts, std::int64_t inputs) {
  auto all = at::empty({rows_of(parts), inputs}, like_);
  for (std::int64_t first = 0; const auto& part : parts) {
    read(files_.at(part.name, {part.rows, inputs}), all.narrow(0, first, part.rows));
    first += part.rows;
  }
  return all;
}

at::Tensor stored_weights::vector(std::span<const layers::named_rows> parts) {
  auto all = at::empty({rows_of(parts)}, like_);
  for (std::int64_t first = 0; const auto& part : parts) {
    read(files_.at(part.name, {part.rows}), all.narrow(0, first, part.rows).unsqueeze(1));
    first += part.rows;
  }
  return all;
}

void stored_weights::read(const load::weight& from, const at::Tensor& into) {
  const auto type = c10::typeMetaToScalarType(like_.dtype());
  const bool as_it_is = stored_as(from, type);
  const auto at_once = std::max<std::int64_t>(1, bytes_at_once / (from.columns() * 4));
  for (std::int64_t first = 0; first < from.rows(); first += at_once) {
    const auto count = std::min(at_once, from.rows() - first);
    const auto numbers = at::empty({count, from.columns()}, as_it_is ? type : at::kFloat);
    if (as_it_is)
      from.read_rows(first, first + count, bytes_in(numbers));
    else
      from.read_rows_as_float(first, first + count,
                              {numbers.mutable_data_ptr<float>(), static_cast<std::size_t>(numbers.numel())});
    into.narrow(0, first, count).copy_(numbers);
  }
  names_.push_back(from.name());
  bytes_ += from.bytes();
  if (report_) report_(bytes_);
}

at::Tensor random_weights::matrix(std::span<const layers::named_rows> parts, std::int64_t inputs) {
  return at::empty({rows_of(parts), inputs}, like_).normal_(0, deviation_);
}

at::Tensor random_weights::vector(std::span<const layers::named_rows> parts) {
  return at::ones({rows_of(parts)}, like_);
}

}  // namespace cogen::models
