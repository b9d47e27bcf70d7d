#include "network/model/fingerprint.hpp"

#include "formats/checkpoint/checksum.hpp"

#include <boost/pfr.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace cogen::nn {
namespace {

/// Of each end of a weight.
constexpr std::int64_t bytes_read = 4096;

void add_rows(load::checksum& sum, const load::weight& tensor, std::int64_t first, std::int64_t last) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(last - first) * tensor.row_bytes());
  tensor.read_rows(first, last, bytes);
  sum.add(bytes);
}

void add(load::checksum& sum, const load::weight& tensor) {
  sum.add(fmt::format("{} {} {};", tensor.name(), static_cast<int>(tensor.type()), fmt::join(tensor.shape(), " ")));
  const auto row_bytes = std::max<std::int64_t>(1, static_cast<std::int64_t>(tensor.row_bytes()));
  const auto rows = std::clamp<std::int64_t>(bytes_read / row_bytes, 1, tensor.rows());
  add_rows(sum, tensor, 0, rows);
  add_rows(sum, tensor, tensor.rows() - rows, tensor.rows());
}

// Writes each member of a value, at any depth.
template <class T>
void write(std::string& output, const T& value);

template <class T>
void write(std::string& output, const std::optional<T>& value) {
  output += value ? "+" : "-";
  if (value) write(output, *value);
}

template <class Range>
void write_all(std::string& output, const Range& values) {
  output += fmt::format("{}:", values.size());
  for (const auto& each : values) write(output, each);
}

template <class T>
void write(std::string& output, const std::vector<T>& values) {
  write_all(output, values);
}

template <class T, std::size_t Size>
void write(std::string& output, const std::array<T, Size>& values) {
  write_all(output, values);
}

template <class... T>
void write(std::string& output, const std::variant<T...>& value) {
  output += fmt::format("{}:", value.index());
  std::visit([&](const auto& alternative) { write(output, alternative); }, value);
}

template <class T>
void write(std::string& output, const T& value) {
  if constexpr (std::is_same_v<T, std::string>)
    output += fmt::format("{}:{};", value.size(), value);
  else if constexpr (std::is_enum_v<T>)
    output += fmt::format("{};", static_cast<int>(value));
  else if constexpr (std::is_arithmetic_v<T>)
    output += fmt::format("{};", value);
  else
    boost::pfr::for_each_field(value, [&](const auto& member) { write(output, member); });
}

std::string text_of(const models::model_spec& spec) {
  std::string text;
  write(text, spec);
  return text;
}

}  // namespace

std::string fingerprint_of(const load::checkpoint& files, const load::model_config& config,
                           const models::model_spec& spec) {
  load::checksum sum;
  sum.add(text_of(spec));
  for (const auto& name : files.weight_names()) add(sum, files.find(name).value());
  return fmt::format("{}, {} layers of {}, {} tokens, weights {:016x}", config.family, config.layers, config.hidden,
                     config.vocabulary, sum.value());
}

}  // namespace cogen::nn
