#include "nn/fingerprint.hpp"

#include "load/checksum.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace cogen::nn {
namespace {

/// Of each end of a weight.
constexpr std::int64_t bytes_read = 4096;

void add_rows(load::checksum& sum, const load::weight& from, std::int64_t first, std::int64_t last) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(last - first) * from.row_bytes());
  from.read_rows(first, last, bytes);
  sum.add(bytes);
}

void add(load::checksum& sum, const load::weight& from) {
  sum.add(fmt::format("{} {} {};", from.name(), static_cast<int>(from.type()), fmt::join(from.shape(), " ")));
  const auto row_bytes = std::max<std::int64_t>(1, static_cast<std::int64_t>(from.row_bytes()));
  const auto rows = std::clamp<std::int64_t>(bytes_read / row_bytes, 1, from.rows());
  add_rows(sum, from, 0, rows);
  add_rows(sum, from, from.rows() - rows, from.rows());
}

/// What changes numbers and is in no weight.
std::string numbers_of(const load::model_config& config) {
  const auto& rope = config.rope;
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {};", config.head_dim, config.rms_norm_eps, config.activation,
                     static_cast<int>(rope.kind), rope.theta, rope.rotary_dim, rope.factor, rope.original_positions,
                     fmt::join(rope.frequency_factors, " "), config.sliding_window.value_or(0),
                     fmt::join(config.layer_types, " "));
}

}  // namespace

std::string fingerprint_of(const load::checkpoint& files, const load::model_config& config) {
  load::checksum sum;
  sum.add(numbers_of(config));
  for (const auto& name : files.weight_names()) add(sum, files.find(name).value());
  return fmt::format("{}, {} layers of {}, {} tokens, weights {:016x}", config.family, config.layers, config.hidden,
                     config.vocabulary, sum.value());
}

}  // namespace cogen::nn
