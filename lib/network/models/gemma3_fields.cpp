#include "network/models/gemma3_fields.hpp"

#include "formats/checkpoint/field_ranges.hpp"
#include "formats/checkpoint/rope_config.hpp"

#include <fmt/format.h>

namespace cogen::models {
namespace {

// Every layer of that number in a row, counted from 1, attends to everything.
std::vector<bool> slides_by_pattern(std::int64_t pattern, std::int64_t layers) {
  std::vector<bool> slides;
  for (std::int64_t layer = 1; layer <= layers; ++layer) slides.push_back(layer % pattern != 0);
  return slides;
}

std::vector<bool> slides_by_type(const load::config_fields& fields, const load::model_config& config) {
  std::vector<bool> slides;
  for (const auto& type : config.layer_types) {
    if (type != "sliding_attention" && type != "full_attention") {
      fields.refuse("layer_types", "'sliding_attention' and 'full_attention' are known");
    }
    slides.push_back(type == "sliding_attention");
  }
  return slides;
}

std::vector<bool> read_slides(const load::config_fields& fields, const load::model_config& config,
                              std::int64_t pattern) {
  if (!config.layer_types.empty()) return slides_by_type(fields, config);
  return slides_by_pattern(fields.integer("sliding_window_pattern", load::layer_periods, pattern), config.layers);
}

// Today's spelling has an object for each type of layer; published checkpoints say rope_local_base_freq.
load::rope_config read_local(const load::config_fields& fields, const load::model_config& config) {
  constexpr std::string_view object = "rope_parameters.sliding_attention";
  const auto theta = fields.real("rope_local_base_freq", load::rope_thetas, 10000);
  load::rope_config local;
  if (fields.has(object)) local = load::read_rope_config(fields, object, config);
  if (!fields.has("rope_parameters.sliding_attention.rope_theta")) local.theta = theta;
  local.rotary_dim = config.head_dim;
  return local;
}

void check_window(const load::config_fields& fields, const load::model_config& config,
                  const std::vector<bool>& slides) {
  for (const bool slide : slides) {
    if (slide && !config.sliding_window) fields.refuse("sliding_window", "layers of sliding_attention need one");
  }
}

}  // namespace

gemma3_fields read_gemma3_fields(const load::config_fields& fields, const load::model_config& config,
                                 std::int64_t pattern) {
  gemma3_fields gemma;
  gemma.causal = !fields.boolean("use_bidirectional_attention", false);
  gemma.slides = read_slides(fields, config, pattern);
  gemma.local = read_local(fields, config);
  gemma.query_scalar = fields.real("query_pre_attn_scalar", query_scalars, 256);
  gemma.logit_cap = fields.has("final_logit_softcapping") ? fields.real("final_logit_softcapping", load::softcaps) : 0;
  check_window(fields, config, gemma.slides);
  return gemma;
}

}  // namespace cogen::models
