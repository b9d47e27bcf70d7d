#include "network/models/bart_fields.hpp"

#include "formats/checkpoint/field_ranges.hpp"

#include <fmt/format.h>

namespace cogen::models {
namespace {

std::int64_t read_encoder_heads(const load::config_fields& fields, std::int64_t hidden) {
  const auto heads = fields.integer("encoder_attention_heads", load::head_counts, 16);
  if (hidden % heads != 0) {
    fields.refuse("encoder_attention_heads", fmt::format("d_model = {} must be a multiple of it", hidden));
  }
  return heads;
}

}  // namespace

bart_fields read_bart_fields(const load::config_fields& fields, const load::model_config& config,
                             bool scale_embedding) {
  return {.encoder_layers = fields.integer("encoder_layers", load::layer_counts, 12),
          .encoder_heads = read_encoder_heads(fields, config.hidden),
          .encoder_intermediate = fields.integer("encoder_ffn_dim", load::inner_widths, 4096),
          .scale_embedding = fields.boolean("scale_embedding", scale_embedding)};
}

}  // namespace cogen::models
