#include "network/backend/cpu/weight_reader.hpp"

#include "network/kernels/tile_layout.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace cogen::cpu {

namespace {

const std::byte* read_as_stored(const weights::matrix_rows& matrix, std::int64_t first, std::int64_t last,
                                std::byte* scratch) {
  matrix.read(first, last, {scratch, static_cast<std::size_t>(last - first) * matrix.row_bytes()});
  return scratch;
}

const std::byte* read_as_float(const weights::matrix_rows& matrix, std::int64_t first, std::int64_t last,
                               std::byte* scratch) {
  const auto count = static_cast<std::size_t>((last - first) * matrix.columns());
  matrix.read_as_float(first, last, {reinterpret_cast<float*>(scratch), count});
  return scratch;
}

/// What tiles take for each byte of a tensor; more than 1 for types of few bits.
double tiled_share(element_type type) {
  if (!is_quantized(type)) return 1;
  const auto [elements, bytes] = layout(type);
  constexpr std::int64_t inputs = kernels::quantized_block;
  const auto tile = static_cast<double>(kernels::tile_bytes(kernels::storage_of(type), inputs));
  const auto stored = kernels::tile_lanes * (inputs / elements) * bytes;
  return std::max(1.0, tile / static_cast<double>(stored));
}

/// Address space for all matrices: they lie in one chunk, of which only what they take is committed.
std::size_t one_chunk(const load::checkpoint& files) {
  double bytes = 0;
  for (const auto& name : files.weight_names()) {
    const auto weight = files.find(name);
    bytes += tiled_share(weight->type()) * static_cast<double>(weight->bytes());
  }
  return std::max(kernels::weight_arena::chunk_bytes, static_cast<std::size_t>(bytes * 1.125));
}

/// Bytes of a tiled matrix: whole tiles, one after the other.
std::uint64_t tiled_bytes(std::span<const kernels::weight_source> sources, std::int64_t inputs) {
  std::uint64_t bytes = 0;
  for (const auto& each : sources) {
    const auto tiles = static_cast<std::uint64_t>((each.rows + kernels::tile_lanes - 1) / kernels::tile_lanes);
    bytes += tiles * kernels::tile_bytes(kernels::storage_of(each.format), inputs);
  }
  return bytes;
}

}  // namespace

weight_reader::weight_reader(const load::checkpoint& files, kernels::worker_pool& workers,
                             weights::named_tensors::progress report)
    : tensors_(files, std::move(report)), workers_(&workers), memory_(one_chunk(files)) {}

weight_reader::weight_reader(const load::checkpoint& files) : tensors_(files), workers_(nullptr) {}

std::shared_ptr<const kernels::tiled_matrix> weight_reader::matrix(std::span<const weights::named_rows> parts,
                                                                   std::int64_t inputs) {
  std::vector<kernels::weight_source> sources;
  std::vector<weights::matrix_rows> rows;
  for (const auto& part : parts) {
    rows.push_back(tensors_.rows(part, inputs));
    sources.push_back(source(rows.back(), part.rows));
  }
  auto tiled = workers_ ? std::make_shared<const kernels::tiled_matrix>(sources, inputs, *workers_, &memory_)
                        : std::make_shared<const kernels::tiled_matrix>();
  held_bytes_ += tiled_bytes(sources, inputs);
  for (const auto& each : rows) {
    count(each.source());
    if (each.factor_source()) count(*each.factor_source());
  }
  return tiled;
}

kernels::weight_source weight_reader::source(const weights::matrix_rows& matrix, std::int64_t rows) const {
  const bool tiled = kernels::has_tiles(matrix.type()), scaled = workers_ && matrix.type() == element_type::nvfp4;
  const auto read = tiled ? read_as_stored : read_as_float;
  return {.format = tiled ? matrix.type() : element_type::f32,
          .rows = rows,
          .read = [matrix, read](std::int64_t first, std::int64_t last,
                                 std::byte* scratch) { return read(matrix, first, last, scratch); },
          .factor = scaled ? matrix.factor() : 1};
}

std::vector<float> weight_reader::vector(std::span<const weights::named_rows> parts) {
  std::vector<float> values;
  for (const auto& part : parts) {
    const auto rows = tensors_.rows(part, std::nullopt);
    const auto begin = values.size();
    values.resize(begin + static_cast<std::size_t>(part.rows));
    if (workers_) rows.read_as_float(0, part.rows, std::span(values).subspan(begin));
    held_bytes_ += static_cast<std::size_t>(part.rows) * sizeof(float);
    count(rows.source());
  }
  return values;
}

std::optional<norm> weight_reader::norm(const models::norm_spec& spec, std::int64_t width) {
  const auto vector_of = [&](const char* end) {
    return vector(std::array{weights::named_rows{spec.name + end, width}});
  };
  auto weight = spec.name.empty() ? std::vector<float>(static_cast<std::size_t>(width), 1) : vector_of(".weight");
  for (auto& each : weight) each *= spec.weight_scale;
  return cpu::norm(spec, std::move(weight), spec.bias ? vector_of(".bias") : std::vector<float>());
}

std::vector<float> weight_reader::numbers(const std::string& name, std::initializer_list<std::int64_t> shape) {
  const auto weight = tensors_.get(name, shape);
  std::vector<float> values(static_cast<std::size_t>(weight.rows() * weight.columns()));
  if (workers_) weight.read_rows_as_float(0, weight.rows(), values);
  held_bytes_ += values.size() * sizeof(float);
  count(weight);
  return values;
}

void weight_reader::count(const load::weight& read) {
  if (tensors_.count(read)) bytes_of_type_.at(static_cast<std::size_t>(read.type())) += read.bytes();
}

element_type weight_reader::most_common_type() const {
  const auto most = std::max_element(bytes_of_type_.begin(), bytes_of_type_.end());
  return static_cast<element_type>(most - bytes_of_type_.begin());
}

}  // namespace cogen::cpu
