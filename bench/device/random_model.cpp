#include "random_model.hpp"

#include "network/model/model_text.hpp"
#include "network/models/families.hpp"
#include "network/nn/device/device_model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace cogen::bench {

namespace {

struct shape {
  std::string_view name;
  std::int64_t vocabulary, hidden, layers, heads, kv_heads, head_dim, intermediate, positions;
  bool tied;
};

constexpr std::array shapes{
    shape{"135m", 49152, 576, 30, 9, 3, 64, 1536, 8192, true},        // SmolLM2-135M
    shape{"1b", 128256, 2048, 16, 32, 8, 64, 8192, 131072, true},     // Llama-3.2-1B
    shape{"8b", 128256, 4096, 32, 32, 8, 128, 14336, 131072, false},  // Llama-3.1-8B
};

load::model_config config_of(const shape& sizes) {
  load::model_config config;
  config.family = "llama";
  config.vocabulary = sizes.vocabulary;
  config.hidden = sizes.hidden;
  config.layers = sizes.layers;
  config.heads = sizes.heads;
  config.kv_heads = sizes.kv_heads;
  config.head_dim = sizes.head_dim;
  config.intermediate = sizes.intermediate;
  config.max_positions = sizes.positions;
  config.rms_norm_eps = 1e-5;
  config.tie_embeddings = sizes.tied;
  config.rope.theta = 500000;
  config.rope.rotary_dim = sizes.head_dim;
  return config;
}

}  // namespace

std::vector<std::string_view> shape_names() {
  std::vector<std::string_view> names;
  for (const auto& each : shapes) names.push_back(each.name);
  return names;
}

std::shared_ptr<const model> random_model(std::shared_ptr<const device::backend> where, std::string_view name,
                                          device_weights bits) {
  const auto found = std::ranges::find(shapes, name, &shape::name);
  if (found == shapes.end())
    throw std::invalid_argument(
        fmt::format("the shape \"{}\" is not known; known are: {}", name, fmt::join(shape_names(), ", ")));
  auto config = config_of(*found);
  const auto packer = where->make_operators();
  device::random_weights weights(at::TensorOptions(where->device()).dtype(at::kBFloat16), 0.02,
                                 {.bits = bits, .ops = packer.get()});
  const auto spec = models::family_named("llama")(load::config_fields::from_json("{}", "random"), config);
  auto network = std::make_unique<nn::device_model>(std::move(where), spec, config, weights);
  return std::make_shared<const model>(std::move(config), nn::model_text{}, std::move(network));
}

}  // namespace cogen::bench
