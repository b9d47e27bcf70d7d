#include "device_models.hpp"

#include "../test_data.hpp"
#include "network/model/model_text.hpp"
#include "network/model/wanted_spec.hpp"
#include "network/models/families.hpp"
#include "network/models/pooling.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <span>
#include <vector>

namespace cogen::test {

namespace {

/// Each matrix has numbers of its own, by its name.
class seeded_weights final : public device::tensor_weights {
 public:
  seeded_weights(at::TensorOptions like, const device::projection_form& form) : tensor_weights(like), form_(form) {}

  std::vector<float> numbers(const std::string& name, std::initializer_list<std::int64_t> shape) override {
    const auto count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
    std::vector<float> values(static_cast<std::size_t>(count));
    fill(name, 1, values);
    return values;
  }

  at::Tensor matrix(std::span<const weights::named_rows> parts, std::int64_t inputs) override {
    return numbers(parts, inputs).to(like().device(), like().dtype());
  }

  device::projection projection(std::span<const weights::named_rows> parts, std::int64_t inputs) override {
    if (form_.bits == cogen::device_weights::whole) return tensor_weights::projection(parts, inputs);
    return packed(device::quantize(numbers(parts, inputs).to(at::kFloat), packing(), at::kBFloat16));
  }

  device::projection table(const weights::named_rows& rows, std::int64_t inputs) override {
    const bool is_whole = form_.bits == cogen::device_weights::whole || form_.bits == cogen::device_weights::fp8;
    if (is_whole) return tensor_weights::table(rows, inputs);
    return packed(device::quantize_in_8_bits(numbers({&rows, 1}, inputs).to(at::kFloat), at::kBFloat16));
  }

  at::Tensor vector(std::span<const weights::named_rows> parts) override {
    return at::ones({parts.front().rows}, like());
  }

 private:
  device::projection packed(const device::quantized_rows& rows) const {
    const auto result = form_.ops->pack({rows.codes.to(like().device()), rows.scales.to(like()), rows.packing});
    return {.weights = result.codes, .scales = result.scales, .packing = result.packing};
  }

  kernels::weight_packing packing() const {
    switch (form_.bits) {
      case cogen::device_weights::int4:
        return kernels::weight_packing::int4;
      case cogen::device_weights::fp8:
        return kernels::weight_packing::fp8;
      default:
        return kernels::weight_packing::int8;
    }
  }

  static at::Tensor numbers(std::span<const weights::named_rows> parts, std::int64_t inputs) {
    std::int64_t rows = 0;
    for (const auto& part : parts) rows += part.rows;
    const auto matrix = at::empty({rows, inputs}, at::kFloat);
    fill(parts.front().name, 1 / std::sqrt(static_cast<float>(inputs)),
         {matrix.mutable_data_ptr<float>(), static_cast<std::size_t>(matrix.numel())});
    return matrix.to(at::kBFloat16);
  }

  static void fill(const std::string& name, float deviation, std::span<float> values) {
    std::mt19937 random(static_cast<unsigned>(std::hash<std::string>()(name)));
    std::normal_distribution<float> any(0, deviation);
    for (auto& number : values) number = any(random);
  }

  const device::projection_form form_;
};

}  // namespace

std::shared_ptr<const model> seeded_model_on(std::shared_ptr<const device::backend> where, at::ScalarType type,
                                             int window, device_weights bits) {
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
  const auto packer = where->make_operators();
  seeded_weights weights(at::TensorOptions(where->device()).dtype(type), {.bits = bits, .ops = packer.get()});
  const auto describe = models::family_named(window > 0 ? "mistral" : "llama");
  const auto spec = describe(load::config_fields::from_json("{}", "seeded"), config);
  auto network = std::make_unique<nn::device_model>(std::move(where), spec, config, weights);
  return std::make_shared<const model>(std::move(config), nn::model_text{}, std::move(network));
}

std::unique_ptr<const nn::device_model> golden_network_on(std::shared_ptr<const device::backend> where,
                                                          const std::string& name, at::ScalarType type,
                                                          device_weights bits,
                                                          std::shared_ptr<device::collectives> ranks) {
  const load::checkpoint files(golden_folder(name));
  const auto config = files.config();
  const auto packer = where->make_operators();
  device::stored_weights weights(files, at::TensorOptions(where->device()).dtype(type), {},
                                 {.bits = bits, .ops = packer.get()});
  auto whole = models::with_pooling(models::family_named(files.family())(files.fields(), config), files);
  whole.mtp.reset();  // no device runs that layer, whose keys and values would never be written
  weights.tensors().expect(whole);
  if (ranks) {
    const auto spec = nn::spec_of_rank(whole, files, config, ranks->place(), {});
    return std::make_unique<nn::device_model>(std::move(where), spec, config, weights, std::move(ranks));
  }
  auto network = std::make_unique<nn::device_model>(std::move(where), whole, config, weights);
  weights.tensors().finish();
  return network;
}

std::shared_ptr<const model> golden_model_on(std::shared_ptr<const device::backend> where, const std::string& name,
                                             at::ScalarType type, device_weights bits) {
  auto network = golden_network_on(std::move(where), name, type, bits);
  return std::make_shared<const model>(load::checkpoint(golden_folder(name)).config(), nn::model_text{},
                                       std::move(network));
}

device::selective_scan seeded_scan(const device::backend& where, at::ScalarType type, const models::mamba_spec& spec) {
  seeded_weights weights(at::TensorOptions(where.device()).dtype(type), {});
  return {weights, "", spec};
}

std::vector<device::mixer> seeded_mixers(const device::backend& where) {
  seeded_weights weights(at::TensorOptions(where.device()).dtype(at::kFloat), {});
  using place = models::mamba2_spec::norm_place;
  const models::mamba2_spec scan{
      .heads = 6, .head_width = 5, .groups = 2, .states = 7, .taps = 4, .scales = {0.5F, 2, 1.5F, 0.7F, 1.2F}};
  auto normed_early = scan, not_normed = scan;
  normed_early.norm = place::before_gate;
  not_normed.norm = place::none;
  const models::delta_net_spec net{.heads = 6, .key_heads = 2, .key_width = 7, .value_width = 5, .taps = 3};
  auto tiled = net;
  tiled.tiled = true;
  return {device::short_convolution(weights, "a.", {.channels = 12, .taps = 3, .bias = true}),
          device::delta_net(weights, "b.", net),
          device::delta_net(weights, "c.", tiled),
          device::mamba2_scan(weights, "d.", scan),
          device::mamba2_scan(weights, "e.", normed_early),
          device::mamba2_scan(weights, "f.", not_normed)};
}

}  // namespace cogen::test
