#include "nn/model_outline.hpp"

#include "models/families.hpp"
#include "models/pooling.hpp"
#include "nn/cpu_network.hpp"
#include "nn/model_text.hpp"

#include <cogen/model.hpp>

namespace cogen::nn {

model_outline read_outline(const std::filesystem::path& path) {
  const load::checkpoint files(path);
  const auto describe = models::family_named(files.family());
  auto config = files.config();
  cpu::weight_reader weights(files);
  const auto spec = models::with_pooling(describe(files.fields(), config), files);
  auto network = make_cpu_network(spec, config, weights);
  weights.tensors().finish();
  return {std::make_shared<const model>(std::move(config), model_text{}, std::move(network)), weights.held_bytes()};
}

}  // namespace cogen::nn
