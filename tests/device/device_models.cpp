#include "device_models.hpp"

#include "../test_data.hpp"
#include "models/device_llama.hpp"
#include "models/families.hpp"
#include "models/model_text.hpp"
#include "models/network_on_device.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <cmath>
#include <functional>
#include <random>

namespace cogen::test {

namespace {

/// Each matrix has numbers of its own, by its name.
class seeded_weights final : public models::device_weights {
 public:
  explicit seeded_weights(at::TensorOptions like) : like_(like) {}

  at::Tensor matrix(std::span<const layers::named_rows> parts, std::int64_t inputs) override {
    std::int64_t rows = 0;
    for (const auto& part : parts) rows += part.rows;
    const auto numbers = at::empty({rows, inputs}, at::kFloat);
    std::mt19937 random(static_cast<unsigned>(std::hash<std::string>()(parts.front().name)));
    std::normal_distribution<float> any(0, 1 / std::sqrt(static_cast<float>(inputs)));
    auto* const to = numbers.mutable_data_ptr<float>();
    for (std::int64_t i = 0; i < numbers.numel(); ++i) to[i] = any(random);
    return numbers.to(at::kBFloat16).to(like_.device(), like_.dtype());
  }

  at::Tensor vector(std::span<const layers::named_rows> parts) override {
    return at::ones({parts.front().rows}, like_);
  }

 private:
  const at::TensorOptions like_;
};

}  // namespace

std::shared_ptr<const model> seeded_model_on(std::shared_ptr<const device::place> where, at::ScalarType type,
                                             int window) {
  load::model_config config;
  config.family = "llama";
  config.vocabulary = 1000;
  config.hidden = 192;
  config.layers = 4;
  config.heads = 6;
  config.kv_heads = 2;
  config.head_dim = 64;
  config.intermediate = 320;
  config.max_positions = 1024;
  config.rope.rotary_dim = 64;
  if (window > 0) config.sliding_window = window;
  seeded_weights weights(at::TensorOptions(where->device()).dtype(type));
  const auto make = window > 0 ? models::make_device_mistral : models::make_device_llama;
  models::device_model on_device{where, make(config, weights)};
  return std::make_shared<const model>(std::move(config), models::model_text{},
                                       std::make_unique<models::network_on_device>(std::move(on_device)));
}

std::shared_ptr<const model> golden_model_on(std::shared_ptr<const device::place> where, const std::string& name,
                                             at::ScalarType type) {
  const load::checkpoint files(test_data() + "/golden/" + name);
  auto config = files.config();
  models::stored_weights weights(files, at::TensorOptions(where->device()).dtype(type), {});
  auto network = models::device_family_named(files.family())(config, weights);
  weights.finish();
  models::device_model on_device{std::move(where), std::move(network)};
  return std::make_shared<const model>(std::move(config), models::model_text{},
                                       std::make_unique<models::network_on_device>(std::move(on_device)));
}

}  // namespace cogen::test
