#include "make_layers.hpp"

#include "block_layer.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace cogen::cache {
namespace {

constexpr int most_dynamic_tokens = 1 << 20;
constexpr std::int64_t most_dynamic_addresses = std::int64_t{1} << 44;

/// The layers that are still to be made, and where they go.
struct open_places {
  std::vector<layer_shape> shapes;
  std::vector<std::size_t> indices;
};

open_places places_left(std::span<const layer_shape> shapes, const std::vector<std::unique_ptr<layer>>& layers) {
  open_places left;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (layers[i]) continue;
    left.shapes.push_back(shapes[i]);
    left.indices.push_back(i);
  }
  return left;
}

std::vector<std::unique_ptr<layer>> over_one_storage(std::span<const layer_shape> shapes, scalar type,
                                                     const slot_table& table, int max_length) {
  const auto storage = std::make_shared<block_storage>(lay_out(shapes, type), table, max_length);
  std::vector<std::unique_ptr<layer>> layers;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    layers.push_back(std::make_unique<block_layer>(shapes[i], type, table, storage, storage->layout().parts[i]));
  return layers;
}

int tokens_by_addresses(std::span<const layer_shape> shapes, scalar type, int slots) {
  std::int64_t stride = 0;
  for (const layer_shape& shape : shapes) stride += lay_out({&shape, 1}, type).stride;
  const std::int64_t blocks = most_dynamic_addresses / slots / stride;
  return static_cast<int>(std::clamp<std::int64_t>(blocks, 1, most_dynamic_tokens / block_tokens)) * block_tokens;
}

std::vector<std::unique_ptr<layer>> static_layers(std::span<const layer_shape> shapes, const options& options,
                                                  const slot_table& table) {
  return over_one_storage(shapes, options.type, table, options.max_length);
}

std::vector<std::unique_ptr<layer>> dynamic_layers(std::span<const layer_shape> shapes, const options& options,
                                                   const slot_table& table) {
  const int bound =
      options.max_length > 0 ? options.max_length : tokens_by_addresses(shapes, options.type, options.slots);
  std::vector<std::unique_ptr<layer>> layers;
  for (const layer_shape& shape : shapes)
    layers.push_back(std::move(over_one_storage({&shape, 1}, options.type, table, bound).front()));
  return layers;
}

std::vector<std::unique_ptr<layer>> layers_of_kind(std::span<const layer_shape> shapes, const options& options,
                                                   const slot_table& table) {
  switch (options.kind) {
    case cache_kind::dynamic:
      return dynamic_layers(shapes, options, table);
    case cache_kind::static_:
      return static_layers(shapes, options, table);
  }
  throw std::invalid_argument("cache: there is no kind " + std::to_string(static_cast<int>(options.kind)));
}

}  // namespace

std::vector<std::unique_ptr<layer>> make_layers(std::span<const layer_shape> shapes, const options& options,
                                                const slot_table& table, const layer_factory& own) {
  std::vector<std::unique_ptr<layer>> layers(shapes.size());
  if (own)
    for (std::size_t i = 0; i < shapes.size(); ++i) layers[i] = own(static_cast<int>(i), shapes[i], table);
  const open_places left = places_left(shapes, layers);
  if (left.shapes.empty()) return layers;
  auto made = layers_of_kind(left.shapes, options, table);
  for (std::size_t i = 0; i < made.size(); ++i) layers[left.indices[i]] = std::move(made[i]);
  return layers;
}

}  // namespace cogen::cache
