#include "models/model_outline.hpp"

#include "models/families.hpp"
#include "models/model_text.hpp"

#include <cogen/model.hpp>

namespace cogen::models {

model_outline read_outline(const std::filesystem::path& path) {
  const load::checkpoint files(path);
  const auto make = family_named(files.family());
  auto config = files.config();
  layers::weight_reader weights(files);
  auto network = make(files.fields(), config, weights);
  weights.finish();
  return {std::make_shared<const model>(std::move(config), model_text{}, std::move(network)), weights.held_bytes()};
}

}  // namespace cogen::models
