#include "network/models/modern_bert_fields.hpp"

#include "formats/checkpoint/field_ranges.hpp"
#include "formats/checkpoint/rope_config.hpp"

#include <string>

namespace cogen::models {
namespace {

std::vector<bool> read_slides(const load::config_fields& fields, const load::model_config& config) {
  std::vector<bool> slides;
  for (const auto& type : config.layer_types) {
    if (type != "sliding_attention" && type != "full_attention")
      fields.refuse("layer_types", "'sliding_attention' and 'full_attention' are known");
    slides.push_back(type == "sliding_attention");
  }
  if (!slides.empty()) return slides;
  const auto every = fields.integer("global_attn_every_n_layers", load::layer_periods, 3);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) slides.push_back(layer % every != 0);
  return slides;
}

// Published checkpoints say global_rope_theta and local_rope_theta; rope_scaling is of both types.
load::rope_config read_rope(const load::config_fields& fields, const load::model_config& config,
                            const std::string& type, std::string_view older_key, double fallback) {
  const bool is_older = fields.has("rope_scaling");
  if (is_older && fields.has("rope_parameters"))
    fields.refuse("rope_scaling", "it is read where rope_parameters is left out");
  const auto object = is_older ? std::string("rope_scaling") : "rope_parameters." + type;
  const auto theta = fields.real(older_key, load::rope_thetas, fallback);
  if (fields.has(object)) return load::read_rope_config(fields, object, config, {.theta = theta});
  return {.theta = theta, .rotary_dim = config.head_dim};
}

void check_window(const load::config_fields& fields, const load::model_config& config) {
  if (!config.sliding_window)
    fields.refuse(fields.is_gguf() ? "attention.sliding_window" : "local_attention",
                  "layers of sliding_attention need one");
}

}  // namespace

modern_bert_fields read_modern_bert_fields(const load::config_fields& fields, const load::model_config& config) {
  check_window(fields, config);
  return {.slides = read_slides(fields, config),
          .global = read_rope(fields, config, "full_attention", "global_rope_theta", 160000),
          .local = read_rope(fields, config, "sliding_attention", "local_rope_theta", 10000)};
}

}  // namespace cogen::models
