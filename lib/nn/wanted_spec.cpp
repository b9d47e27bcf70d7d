#include "nn/wanted_spec.hpp"

#include "models/families.hpp"
#include "models/pooling.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace cogen::nn {

models::model_spec wanted_spec(const load::checkpoint& files, const load::model_config& config,
                               const load_options& options) {
  auto spec = models::with_pooling(models::family_named(files.family())(files.fields(), config), files);
  if (!options.multi_token_prediction) {
    spec.mtp.reset();
    return spec;
  }
  if (!spec.mtp)
    throw std::invalid_argument(
        fmt::format("load_options.multi_token_prediction is set; this {} model has no layer for it", config.family));
  if (options.device != "cpu")
    throw std::invalid_argument(
        fmt::format("load_options.multi_token_prediction is set; it runs on the CPU, not on {} yet", options.device));
  return spec;
}

}  // namespace cogen::nn
