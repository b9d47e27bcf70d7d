#include "network/models/t5_fields.hpp"

#include "formats/checkpoint/field_ranges.hpp"

#include <fmt/format.h>

namespace cogen::models {
namespace {

constexpr load::integer_range bucket_counts{4, 1 << 10};
constexpr load::integer_range distances{3, 1 << 16};

bool is_known(std::string_view activation) {
  return activation == "relu" || activation == "gelu" || activation == "gelu_new" || activation == "silu";
}

/// "gated-gelu" has meant the approximation by tanh since the first models with gates. What newer files say of its
/// parts counts more.
void read_feed_forward(const load::config_fields& fields, t5_fields& own) {
  constexpr std::string_view key = "feed_forward_proj", gate = "gated-", activation = "dense_act_fn";
  own.activation = fields.string(key, "relu");
  own.gated = own.activation.starts_with(gate);
  if (own.gated) own.activation.erase(0, gate.size());
  if (own.gated && own.activation == "gelu") own.activation = "gelu_new";
  if (!is_known(own.activation))
    fields.refuse(key, "'relu', 'gelu', 'gelu_new' and 'silu' are known, also behind 'gated-'");
  own.activation = fields.string(activation, own.activation);
  if (!is_known(own.activation)) fields.refuse(activation, "'relu', 'gelu', 'gelu_new' and 'silu' are known");
  own.gated = fields.boolean("is_gated_act", own.gated);
}

}  // namespace

t5_fields read_t5_fields(const load::config_fields& fields, const load::model_config& config) {
  t5_fields own{.encoder_layers = fields.integer("num_layers", load::layer_counts, 6),
                .buckets = fields.integer("relative_attention_num_buckets", bucket_counts, 32),
                .max_distance = fields.integer("relative_attention_max_distance", distances, 128),
                .scaled_head = fields.boolean("scale_decoder_outputs", config.tie_embeddings)};
  read_feed_forward(fields, own);
  if (own.buckets % 4 != 0) fields.refuse("relative_attention_num_buckets", "it must be a multiple of 4");
  if (own.max_distance <= own.buckets / 2)
    fields.refuse("relative_attention_max_distance",
                  fmt::format("it must be more than half of the {} buckets", own.buckets));
  return own;
}

}  // namespace cogen::models
