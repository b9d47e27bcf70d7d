#include "models/mtp.hpp"

#include "models/like_llama.hpp"

namespace cogen::models {
namespace {

bool predicts_tokens(const load::config_fields& fields) {
  return fields.integer(fields.is_gguf() ? "nextn_predict_layers" : "num_nextn_predict_layers", {0, 1 << 8}, 0) > 0;
}

}  // namespace

void add_mtp_layer(model_spec& spec, const moe_spec& experts, const load::config_fields& fields,
                   const load::model_config& config) {
  const auto prefix = layer_prefix(config.layers);
  spec.unread.push_back(prefix + "*");
  if (!predicts_tokens(fields)) return;
  const auto norm = [&](const char* name) { return rms_norm(config, prefix + name); };
  spec.mtp = {.embedding_norm = norm("enorm"),
              .hidden_norm = norm("hnorm"),
              .projection = prefix + "eh_proj",
              .blocks = {{.what = (spec.blocks.end() - 2)->what,
                          .prefix = prefix + "self_attn.",
                          .before = norm("input_layernorm")},
                         {.what = experts, .prefix = prefix + "mlp.", .before = norm("post_attention_layernorm")}},
              .final_norm = norm("shared_head.norm")};
}

}  // namespace cogen::models
