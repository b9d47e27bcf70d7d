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

// Writes each member of a value, at any depth.
template <class T>
void write(std::string& to, const T& value);

template <class T>
void write(std::string& to, const std::optional<T>& value) {
  to += value ? "+" : "-";
  if (value) write(to, *value);
}

template <class Range>
void write_all(std::string& to, const Range& values) {
  to += fmt::format("{}:", values.size());
  for (const auto& each : values) write(to, each);
}

template <class T>
void write(std::string& to, const std::vector<T>& values) {
  write_all(to, values);
}

template <class T, std::size_t Size>
void write(std::string& to, const std::array<T, Size>& values) {
  write_all(to, values);
}

template <class... T>
void write(std::string& to, const std::variant<T...>& value) {
  to += fmt::format("{}:", value.index());
  std::visit([&](const auto& one) { write(to, one); }, value);
}

template <class T>
void write(std::string& to, const T& value) {
  if constexpr (std::is_same_v<T, std::string>)
    to += fmt::format("{}:{};", value.size(), value);
  else if constexpr (std::is_enum_v<T>)
    to += fmt::format("{};", static_cast<int>(value));
  else if constexpr (std::is_arithmetic_v<T>)
    to += fmt::format("{};", value);
  else
    boost::pfr::for_each_field(value, [&](const auto& member) { write(to, member); });
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
