#include "network/model/wanted_spec.hpp"

#include "formats/checkpoint/quantized_blocks.hpp"
#include "network/models/families.hpp"
#include "network/models/pipeline_stage.hpp"
#include "network/models/pooling.hpp"
#include "network/models/tensor_shards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace cogen::nn {

namespace {

/// Numbers of the largest quantization block among the weights; at least 32, which activations are rounded by.
std::int64_t largest_block(const load::checkpoint& files) {
  std::int64_t largest = 32;
  for (const auto& name : files.weight_names()) largest = std::max(largest, layout(files.find(name)->type()).elements);
  return largest;
}

}  // namespace

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

models::model_spec spec_of_rank(const models::model_spec& whole, const load::checkpoint& files,
                                const load::model_config& config, parallel::place tensor, parallel::place stage) {
  return models::shard_of(models::stage_of(whole, stage), config.vocabulary, tensor, largest_block(files));
}

}  // namespace cogen::nn
