#include "stored_copy.hpp"

#include "formats/checkpoint/dequantize.hpp"
#include "load/shards.hpp"

#include <cogen/detail/half.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::golden {

namespace {

bool is_floating_point(element_type type) {
  return type == element_type::f32 || type == element_type::f16 || type == element_type::bf16;
}

std::string encode(std::span<const float> values, element_type type) {
  std::string bytes;
  for (const float value : values) {
    if (type == element_type::f32) bytes += raw(value);
    if (type == element_type::f16) bytes += raw(cogen::f32_to_f16(value));
    if (type == element_type::bf16) bytes += raw(cogen::f32_to_bf16(value));
  }
  return bytes;
}

std::vector<float> decode(std::string_view bytes, element_type type) {
  const auto [elements, block_bytes] = layout(type);
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

stored_copy::stored_copy(const std::filesystem::path& folder, stored_form form) : form_(form) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const auto name = std::filesystem::relative(entry.path(), folder);
    if (entry.is_directory())
      std::filesystem::create_directories(copy_.path() / name);
    else
      copy(entry.path(), name);
  }
  if (tensors_ == 0)
    throw std::runtime_error(fmt::format("{}: there are no weights in safetensors files", folder.string()));
  if (form_.shards > 0) write_shards();
}

void stored_copy::copy(const std::filesystem::path& source, const std::filesystem::path& name) {
  const bool is_spread = form_.shards > 0 && !name.has_parent_path();
  if (is_spread && name == shard_index_name) return;
  if (!is_weights(source)) {
    std::filesystem::copy_file(source, copy_.path() / name);
    return;
  }
  auto tensors = test::read_weights(source);
  convert(tensors);
  if (is_spread)
    std::ranges::move(tensors, std::back_inserter(spread_));
  else
    test::write_weights(copy_.path() / name, tensors);
}

void stored_copy::convert(std::span<test::stored_tensor> tensors) {
  for (auto& tensor : tensors) {
    if (!is_floating_point(tensor.type)) continue;
    ++tensors_;
    if (!form_.type) continue;
    if (auto exact = encode_exactly(decode(tensor.bytes, tensor.type), *form_.type)) {
      ++converted_;
      tensor.type = *form_.type;
      tensor.bytes = std::move(*exact);
    }
  }
}

/// Tensors that belong together, such as queries and keys, or the experts of a layer, come into different shards. The
/// index says only where tensors are.
void stored_copy::write_shards() const {
  const auto count = static_cast<std::size_t>(form_.shards);
  boost::json::object files;
  for (std::size_t shard = 0; shard < std::min(count, spread_.size()); ++shard) {
    const auto file = fmt::format("model-{:05}-of-{:05}.safetensors", shard + 1, count);
    std::vector<test::stored_tensor> tensors;
    for (auto index = shard; index < spread_.size(); index += count) {
      tensors.push_back(spread_[index]);
      files[spread_[index].name] = file;
    }
    test::write_weights(copy_.path() / file, tensors);
  }
  copy_.write(shard_index_name, boost::json::serialize(boost::json::object{{"weight_map", files}}));
}

}  // namespace cogen::golden
