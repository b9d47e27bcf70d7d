#include "network/model/model_outline.hpp"

#include "network/model/model_text.hpp"
#include "network/model/wanted_spec.hpp"
#include "network/models/families.hpp"
#include "network/nn/cpu_network.hpp"

#include <cogen/model.hpp>

namespace cogen::nn {

model_outline read_outline(const std::filesystem::path& path, const load_options& options) {
  const load::checkpoint files(path);
  models::family_named(files.family());  // refused as such, whatever else is wrong
  auto config = files.config();
  cpu::weight_reader weights(files);
  const auto spec = wanted_spec(files, config, {.multi_token_prediction = options.multi_token_prediction});
  auto network = make_cpu_network(spec, config, weights);
  weights.tensors().finish();
  return {std::make_shared<const model>(std::move(config), model_text{}, std::move(network)), weights.held_bytes()};
}

}  // namespace cogen::nn
