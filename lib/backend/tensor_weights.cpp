#include "backend/tensor_weights.hpp"

#include "backend/rotation_tables.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <numeric>

namespace cogen::device {

namespace {

/// Rows that are read, rounded and copied at a time.
constexpr std::int64_t bytes_at_once = std::int64_t{32} << 20;

std::int64_t rows_of(std::span<const weights::named_rows> parts) {
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& part) { return sum + part.rows; });
}

std::int64_t rows_at_once(std::int64_t columns) { return std::max<std::int64_t>(1, bytes_at_once / (columns * 4)); }

/// A projection's codes and scales on its device.
struct quantized_projection {
  quantized_projection(const projection_form& to, std::int64_t outputs, std::int64_t inputs, at::TensorOptions numbers)
      : form(to) {
    const bool groups = in_4_bits(form);
    rows.codes = at::empty({outputs, inputs}, numbers.dtype(groups ? at::kByte : at::kChar));
    rows.scales = groups ? at::empty({outputs, inputs / quantized_group, 2}, numbers) : at::empty({outputs}, numbers);
  }

  void set(std::int64_t first, const quantized_rows& some) const {
    const auto count = some.codes.size(0);
    rows.codes.narrow(0, first, count).copy_(some.codes);
    rows.scales.narrow(0, first, count).copy_(some.scales);
  }

  device::projection made() const {
    const auto packed = form.on->pack(rows);
    return {.weights = packed.codes, .scales = packed.scales};
  }

  const projection_form& form;
  quantized_rows rows;
};

bool stored_as(const weights::matrix_rows& from, at::ScalarType type) {
  return (from.type() == load::element_type::bf16 && type == at::kBFloat16) ||
         (from.type() == load::element_type::f16 && type == at::kHalf) ||
         (from.type() == load::element_type::f32 && type == at::kFloat);
}

}  // namespace

device::norm tensor_weights::norm(const models::norm_spec& spec, std::int64_t width) {
  const auto vector_of = [&](const char* end) {
    const weights::named_rows rows{.name = spec.name + end, .rows = width};
    return vector(std::span(&rows, 1));
  };
  auto weight = vector_of(".weight");
  return {.weight = spec.weight_scale == 1 ? weight : weight * spec.weight_scale,
          .epsilon = spec.epsilon,
          .weight_offset = spec.weight_offset,
          .is_layer_norm = spec.type == models::norm_spec::kind::layer,
          .bias = spec.bias ? vector_of(".bias") : at::Tensor()};
}

at::Tensor tensor_weights::as_vector(const std::vector<float>& numbers) const { return at::tensor(numbers).to(like_); }

at::Tensor tensor_weights::in_float32(const std::vector<float>& numbers) const {
  return at::tensor(numbers).to(like_.device());
}

at::Tensor tensor_weights::in_float32(const std::string& name, std::initializer_list<std::int64_t> shape) {
  return in_float32(numbers(name, shape)).view(shape);
}

device::rotations tensor_weights::rotation(const load::rope_config& config, std::int64_t positions) const {
  const auto near = make_rotation(config, positions, like_.device());
  const bool differs = config.kind == load::rope_kind::longrope;
  return {config.original_positions, near,
          differs ? make_rotation(config, positions, like_.device(), config.original_positions + 1) : near};
}

stored_weights::stored_weights(const load::checkpoint& files, at::TensorOptions like,
                               weights::named_tensors::progress report, const projection_form& form)
    : tensor_weights(like), tensors_(files, std::move(report)), form_(form) {}

std::vector<float> stored_weights::numbers(const std::string& name, std::initializer_list<std::int64_t> shape) {
  const auto from = tensors_.at(name, shape);
  std::vector<float> values(static_cast<std::size_t>(from.rows() * from.columns()));
  from.read_rows_as_float(0, from.rows(), values);
  tensors_.count(from);
  return values;
}

at::Tensor stored_weights::matrix(std::span<const weights::named_rows> parts, std::int64_t inputs) {
  auto all = at::empty({rows_of(parts), inputs}, like());
  for (std::int64_t first = 0; const auto& part : parts) {
    read(tensors_.rows(part, inputs), all.narrow(0, first, part.rows));
    first += part.rows;
  }
  return all;
}

at::Tensor stored_weights::vector(std::span<const weights::named_rows> parts) {
  auto all = at::empty({rows_of(parts)}, like());
  for (std::int64_t first = 0; const auto& part : parts) {
    read(tensors_.rows(part, std::nullopt), all.narrow(0, first, part.rows).unsqueeze(1));
    first += part.rows;
  }
  return all;
}

void stored_weights::read(const weights::matrix_rows& from, const at::Tensor& into) {
  const auto type = c10::typeMetaToScalarType(like().dtype());
  const bool as_it_is = stored_as(from, type);
  const auto at_once = rows_at_once(from.columns());
  for (std::int64_t first = 0; first < into.size(0); first += at_once) {
    const auto count = std::min(at_once, into.size(0) - first);
    const auto numbers = at::empty({count, from.columns()}, as_it_is ? type : at::kFloat);
    if (as_it_is)
      from.read(first, first + count, static_cast<std::byte*>(numbers.mutable_data_ptr()));
    else
      from.read_as_float(first, first + count, numbers.mutable_data_ptr<float>());
    into.narrow(0, first, count).copy_(numbers);
  }
  tensors_.count(from.source());
}

device::projection stored_weights::projection(std::span<const weights::named_rows> parts, std::int64_t inputs) {
  if (form_.bits == cogen::device_weights::whole) return tensor_weights::projection(parts, inputs);
  quantized_projection quantized(form_, rows_of(parts), inputs, like());
  for (std::int64_t before = 0; const auto& part : parts) {
    const auto from = tensors_.rows(part, inputs);
    const auto at_once = rows_at_once(inputs);
    for (std::int64_t first = 0; first < part.rows; first += at_once)
      quantized.set(before + first, read_quantized(from, first, std::min(part.rows, first + at_once)));
    tensors_.count(from.source());
    before += part.rows;
  }
  return quantized.made();
}

quantized_rows stored_weights::read_quantized(const weights::matrix_rows& from, std::int64_t first,
                                              std::int64_t last) const {
  const auto rows = last - first;
  if (in_4_bits(form_) && has_4_bits(from.type())) {
    std::vector<std::byte> stored(static_cast<std::size_t>(rows) * from.row_bytes());
    from.read(first, last, stored.data());
    return stored_4_bits(from.type(), stored, rows, from.columns());
  }
  const auto read = at::empty({rows, from.columns()}, at::kFloat);
  from.read_as_float(first, last, read.mutable_data_ptr<float>());
  const auto numbers = read.to(like().device());
  const auto type = c10::typeMetaToScalarType(like().dtype());
  return in_4_bits(form_) ? quantize_in_4_bits(numbers, type) : quantize_in_8_bits(numbers, type);
}

at::Tensor random_weights::matrix(std::span<const weights::named_rows> parts, std::int64_t inputs) {
  return at::empty({rows_of(parts), inputs}, like()).normal_(0, deviation_);
}

/// Of about the same size as unquantized ones.
device::projection random_weights::projection(std::span<const weights::named_rows> parts, std::int64_t inputs) {
  if (form_.bits == cogen::device_weights::whole) return tensor_weights::projection(parts, inputs);
  const int largest = in_4_bits(form_) ? 15 : 127;
  const quantized_projection quantized(form_, rows_of(parts), inputs, like());
  quantized.rows.codes.random_(in_4_bits(form_) ? 0 : -largest, largest + 1);
  quantized.rows.scales.fill_(2 * deviation_ / largest);
  if (in_4_bits(form_)) quantized.rows.scales.select(2, 1).zero_();
  return quantized.made();
}

at::Tensor random_weights::vector(std::span<const weights::named_rows> parts) {
  return at::ones({rows_of(parts)}, like());
}

}  // namespace cogen::device
