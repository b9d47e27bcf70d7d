#include "network/backend/tensor_weights.hpp"

#include "network/backend/rotation_tables.hpp"
#include "network/backend/stored_rows.hpp"

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

device::projection product_with(const quantized_rows& packed) {
  return {.weights = packed.codes, .scales = packed.scales, .packing = packed.packing};
}

/// For `rows` of such rows.
at::Tensor room_for(std::int64_t rows, const at::Tensor& like) {
  auto sizes = like.sizes().vec();
  sizes.front() = rows;
  return at::empty(sizes, like.options());
}

quantized_rows room_for(std::int64_t rows, const quantized_rows& like) {
  return {room_for(rows, like.codes), room_for(rows, like.scales), like.packing};
}

void copy(const quantized_rows& source, const quantized_rows& target) {
  target.codes.copy_(source.codes);
  target.scales.copy_(source.scales);
}

at::TensorOptions on_host() { return at::TensorOptions().dtype(at::kFloat); }

bool stored_as(const weights::matrix_rows& matrix, at::ScalarType type) {
  return (matrix.type() == element_type::bf16 && type == at::kBFloat16) ||
         (matrix.type() == element_type::f16 && type == at::kHalf) ||
         (matrix.type() == element_type::f32 && type == at::kFloat);
}

}  // namespace

device::norm tensor_weights::norm(const models::norm_spec& spec, std::int64_t width) {
  const auto vector_of = [&](const char* end) {
    const weights::named_rows rows{.name = spec.name + end, .rows = width};
    return vector(std::span(&rows, 1));
  };
  const auto weight =
      spec.name.empty() ? as_vector(std::vector<float>(static_cast<std::size_t>(width), 1)) : vector_of(".weight");
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
                               weights::named_tensors::progress report, const projection_form& form,
                               kernels::worker_pool* workers)
    : tensor_weights(like), tensors_(files, std::move(report)), form_(form), workers_(workers) {}

std::vector<float> stored_weights::numbers(const std::string& name, std::initializer_list<std::int64_t> shape) {
  const auto weight = tensors_.get(name, shape);
  std::vector<float> values(static_cast<std::size_t>(weight.rows() * weight.columns()));
  weight.read_rows_as_float(0, weight.rows(), values);
  tensors_.count(weight);
  return values;
}

at::Tensor stored_weights::matrix(std::span<const weights::named_rows> parts, std::int64_t inputs) {
  auto result = at::empty({rows_of(parts), inputs}, like());
  for (std::int64_t first = 0; const auto& part : parts) {
    read(tensors_.rows(part, inputs), result.narrow(0, first, part.rows));
    first += part.rows;
  }
  return result;
}

at::Tensor stored_weights::vector(std::span<const weights::named_rows> parts) {
  auto result = at::empty({rows_of(parts)}, like());
  for (std::int64_t first = 0; const auto& part : parts) {
    read(tensors_.rows(part, std::nullopt), result.narrow(0, first, part.rows).unsqueeze(1));
    first += part.rows;
  }
  return result;
}

/// Each thread has some of the rows.
void stored_weights::for_each_share(std::int64_t rows, const std::function<void(const row_range&)>& read) const {
  const std::int64_t shares = workers_ ? std::min<std::int64_t>(rows, std::int64_t{4} * workers_->threads()) : 1;
  const auto share = [&](std::int64_t index, int) {
    const auto first = rows * index / shares;
    read({first, rows * (index + 1) / shares - first});
  };
  if (workers_) return workers_->parallel(shares, share);
  share(0, 0);
}

void stored_weights::read(const weights::matrix_rows& matrix, const at::Tensor& out) {
  const auto type = c10::typeMetaToScalarType(like().dtype());
  const auto at_once = rows_at_once(matrix.columns());
  for (std::int64_t first = 0; first < out.size(0); first += at_once) {
    const row_range which{first, std::min(at_once, out.size(0) - first)};
    out.narrow(0, first, which.count)
        .copy_(stored_as(matrix, type) ? read_as_stored(matrix, which, type) : read_numbers(matrix, which));
  }
  count(matrix);
}

at::Tensor stored_weights::read_as_stored(const weights::matrix_rows& matrix, const row_range& which,
                                          at::ScalarType type) const {
  const auto numbers = at::empty({which.count, matrix.columns()}, type);
  const std::span bytes(static_cast<std::byte*>(numbers.mutable_data_ptr()), numbers.nbytes());
  for_each_share(which.count, [&](const row_range& share) {
    const auto first = which.first + share.first;
    matrix.read(first, first + share.count,
                bytes.subspan(static_cast<std::size_t>(share.first) * matrix.row_bytes(),
                              static_cast<std::size_t>(share.count) * matrix.row_bytes()));
  });
  return numbers;
}

/// [rows, columns] float32, in host memory.
at::Tensor stored_weights::read_numbers(const weights::matrix_rows& matrix, const row_range& which) const {
  const auto numbers = at::empty({which.count, matrix.columns()}, on_host());
  const std::span values(numbers.mutable_data_ptr<float>(), static_cast<std::size_t>(numbers.numel()));
  for_each_share(which.count, [&](const row_range& share) {
    const auto first = which.first + share.first;
    matrix.read_as_float(first, first + share.count,
                         values.subspan(static_cast<std::size_t>(share.first * matrix.columns()),
                                        static_cast<std::size_t>(share.count * matrix.columns())));
  });
  return numbers;
}

device::projection stored_weights::projection(std::span<const weights::named_rows> parts, std::int64_t inputs) {
  std::vector<weights::matrix_rows> matrices;
  for (const auto& part : parts) matrices.push_back(tensors_.rows(part, inputs));
  const auto packing = packing_of(matrices);
  return packing ? read_packed(matrices, parts, *packing) : tensor_weights::projection(parts, inputs);
}

device::projection stored_weights::table(const weights::named_rows& rows, std::int64_t inputs) {
  const auto matrix = tensors_.rows(rows, inputs);
  const auto packing = packing_of_table(matrix);
  return packing ? read_packed({&matrix, 1}, {&rows, 1}, *packing) : tensor_weights::table(rows, inputs);
}

/// Some rows are packed at a time: that takes several times the memory of their codes.
device::projection stored_weights::read_packed(std::span<const weights::matrix_rows> matrices,
                                               std::span<const weights::named_rows> parts,
                                               kernels::weight_packing packing) {
  quantized_rows packed{};
  for (std::int64_t offset = 0, index = 0; const auto& part : parts) {
    const auto& rows = matrices[static_cast<std::size_t>(index++)];
    const auto at_once = rows_at_once(rows.columns());
    for (std::int64_t first = 0; first < part.rows; first += at_once) {
      const row_range which{first, std::min(at_once, part.rows - first)};
      const auto some = form_.ops->pack(on_device(read_quantized(rows, which, packing)));
      if (!packed.codes.defined()) packed = room_for(rows_of(parts), some);
      copy(some, some_of(packed, offset + first, which.count));
    }
    count(rows);
    offset += part.rows;
  }
  return product_with(packed);
}

quantized_rows stored_weights::on_device(const quantized_rows& rows) const {
  return {rows.codes.to(like().device()), rows.scales.to(like()), rows.packing};
}

/// Of a projection of these parts; none for whole numbers.
std::optional<kernels::weight_packing> stored_weights::packing_of(std::span<const weights::matrix_rows> parts) const {
  switch (form_.bits) {
    case cogen::device_weights::whole:
      return std::nullopt;
    case cogen::device_weights::int8:
      return kernels::weight_packing::int8;
    case cogen::device_weights::int4:
      return kernels::weight_packing::int4;
    case cogen::device_weights::fp8:
      return kernels::weight_packing::fp8;
    case cogen::device_weights::stored:
      break;
  }
  std::vector<element_type> types;
  for (const auto& part : parts) types.push_back(part.type());
  return device::packing_of(types);
}

/// Of an embedding or an output: codes stay as they are stored, or there are at least 8 bits, and no 8-bit floats.
std::optional<kernels::weight_packing> stored_weights::packing_of_table(const weights::matrix_rows& matrix) const {
  const auto type = matrix.type();
  const auto as_stored = device::packing_of({&type, 1});
  switch (form_.bits) {
    case cogen::device_weights::whole:
    case cogen::device_weights::fp8:
      return std::nullopt;
    case cogen::device_weights::stored:
      return as_stored;
    case cogen::device_weights::int4:
      return as_stored.value_or(kernels::weight_packing::int8);
    case cogen::device_weights::int8:
      break;
  }
  return kernels::weight_packing::int8;
}

/// As they are stored, if the packing has such codes.
quantized_rows stored_weights::read_quantized(const weights::matrix_rows& matrix, const row_range& which,
                                              kernels::weight_packing packing) const {
  const auto type = matrix.type();
  const bool as_stored = form_.bits == cogen::device_weights::stored || device::packing_of({&type, 1}) == packing;
  if (as_stored) return read_codes(matrix, which, packing);
  const auto numbers = read_numbers(matrix, which).to(like().device());
  const auto scales = c10::typeMetaToScalarType(like().dtype());
  return quantize(numbers, packing, scales);
}

quantized_rows stored_weights::read_codes(const weights::matrix_rows& matrix, const row_range& which,
                                          kernels::weight_packing packing) const {
  auto rows = make_quantized_rows(packing, which.count, matrix.columns(), on_host());
  for_each_share(which.count, [&](const row_range& share) {
    std::vector<std::byte> stored(static_cast<std::size_t>(share.count) * matrix.row_bytes());
    const auto first = which.first + share.first;
    matrix.read(first, first + share.count, stored);
    read_stored_rows(matrix.type(), stored, some_of(rows, share.first, share.count));
  });
  if (matrix.factor_source()) rows.scales.mul_(matrix.factor());
  return rows;
}

void stored_weights::count(const weights::matrix_rows& read) {
  tensors_.count(read.source());
  if (read.factor_source()) tensors_.count(*read.factor_source());
}

at::Tensor random_weights::matrix(std::span<const weights::named_rows> parts, std::int64_t inputs) {
  return at::empty({rows_of(parts), inputs}, like()).normal_(0, deviation_);
}

/// Of about the same size as unquantized ones. There is no file that has stored any.
device::projection random_weights::projection(std::span<const weights::named_rows> parts, std::int64_t inputs) {
  if (form_.bits == cogen::device_weights::fp8)
    return product_with(form_.ops->pack(
        quantize_in_fp8(matrix(parts, inputs).to(at::kFloat), c10::typeMetaToScalarType(like().dtype()))));
  const bool in_4_bits = form_.bits == cogen::device_weights::int4;
  if (!in_4_bits && form_.bits != cogen::device_weights::int8) return tensor_weights::projection(parts, inputs);
  return codes(in_4_bits ? kernels::weight_packing::int4 : kernels::weight_packing::int8, rows_of(parts), inputs);
}

device::projection random_weights::table(const weights::named_rows& rows, std::int64_t inputs) {
  const bool in_8_bits = form_.bits == cogen::device_weights::int4 || form_.bits == cogen::device_weights::int8;
  return in_8_bits ? codes(kernels::weight_packing::int8, rows.rows, inputs) : tensor_weights::table(rows, inputs);
}

device::projection random_weights::codes(kernels::weight_packing packing, std::int64_t rows,
                                         std::int64_t inputs) const {
  const bool in_4_bits = packing == kernels::weight_packing::int4;
  const int largest = in_4_bits ? 15 : 127;
  const auto quantized = make_quantized_rows(packing, rows, inputs, like());
  quantized.codes.random_(in_4_bits ? 0 : -largest, largest + 1);
  quantized.scales.fill_(2 * deviation_ / largest);
  if (in_4_bits) quantized.scales.select(2, 1).zero_();
  return product_with(form_.ops->pack(quantized));
}

at::Tensor random_weights::vector(std::span<const weights::named_rows> parts) {
  return at::ones({rows_of(parts)}, like());
}

}  // namespace cogen::device
