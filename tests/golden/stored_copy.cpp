#include "stored_copy.hpp"

#include "load/dequantize.hpp"
#include "load/half.hpp"
#include "load/weights_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace cogen::golden {

namespace {

using load::element_type;

bool is_floating_point(element_type type) {
  return type == element_type::f32 || type == element_type::f16 || type == element_type::bf16;
}

std::string encode(std::span<const float> values, element_type type) {
  std::string bytes;
  for (const float value : values) {
    if (type == element_type::f32) bytes += raw(value);
    if (type == element_type::f16) bytes += raw(load::f32_to_f16(value));
    if (type == element_type::bf16) bytes += raw(load::f32_to_bf16(value));
  }
  return bytes;
}

std::vector<float> decode(std::string_view bytes, element_type type) {
  const auto [elements, block_bytes] = load::layout(type);
  std::vector<float> values(bytes.size() / block_bytes * static_cast<std::size_t>(elements));
  load::dequantize(type, std::as_bytes(std::span(bytes)), values);
  return values;
}

/// Nothing if the type does not have all of these numbers.
std::optional<std::string> encode_exactly(std::span<const float> values, element_type type) {
  auto bytes = encode(values, type);
  const auto is_same = [](float left, float right) {
    return std::bit_cast<std::uint32_t>(left) == std::bit_cast<std::uint32_t>(right);
  };
  if (!std::ranges::equal(decode(bytes, type), values, is_same)) return std::nullopt;
  return bytes;
}

bool is_weights(const std::filesystem::path& file) {
  return file.extension() == ".safetensors" && file.filename() != "golden.safetensors";
}

}  // namespace

element_type stored_type_named(std::string_view name) {
  if (name == "float32") return element_type::f32;
  if (name == "bfloat16") return element_type::bf16;
  if (name == "float16") return element_type::f16;
  throw std::invalid_argument(fmt::format("--stored-as {}: there are float32, bfloat16 and float16", name));
}

stored_copy::stored_copy(const std::filesystem::path& folder, element_type type) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const auto to = copy_.path() / std::filesystem::relative(entry.path(), folder);
    if (entry.is_directory()) {
      std::filesystem::create_directories(to);
    } else if (is_weights(entry.path())) {
      convert(entry.path(), to, type);
    } else {
      std::filesystem::copy_file(entry.path(), to);
    }
  }
  if (tensors_ == 0)
    throw std::runtime_error(fmt::format("{}: --stored-as needs weights in safetensors files", folder.string()));
}

void stored_copy::convert(const std::filesystem::path& from, const std::filesystem::path& to, element_type type) {
  auto tensors = test::read_weights(from);
  for (auto& tensor : tensors) {
    if (!is_floating_point(tensor.type)) continue;
    ++tensors_;
    if (auto exact = encode_exactly(decode(tensor.bytes, tensor.type), type)) {
      ++converted_;
      tensor.type = type;
      tensor.bytes = std::move(*exact);
    }
  }
  test::write_weights(to, tensors);
}

}  // namespace cogen::golden
