#include "network/models/mtp.hpp"

#include "network/models/like_llama.hpp"

namespace cogen::models {
namespace {

bool predicts_tokens(const load::config_fields& fields, std::int64_t usual) {
  constexpr load::integer_range counts{0, 1 << 8};
  return fields.is_gguf() ? fields.integer("nextn_predict_layers", counts, 0) > 0
                          : fields.integer("num_nextn_predict_layers", counts, usual) > 0;
}

}  // namespace

void add_mtp_layer(model_spec& spec, const moe_spec& experts, const load::config_fields& fields,
                   const load::model_config& config, std::int64_t usual) {
  const auto prefix = layer_prefix(config.layers);
  spec.unread.push_back(prefix + "*");
  if (!predicts_tokens(fields, usual)) return;
  const auto norm = [&](const char* name) { return rms_norm(config, prefix + name); };
  spec.mtp = {.embedding_norm = norm("enorm"),
              .hidden_norm = norm("hnorm"),
              .projection = prefix + "eh_proj",
              .blocks = {{.part = (spec.blocks.end() - 2)->part,
                          .prefix = prefix + "self_attn.",
                          .pre_norm = norm("input_layernorm")},
                         {.part = experts, .prefix = prefix + "mlp.", .pre_norm = norm("post_attention_layernorm")}},
              .final_norm = norm("shared_head.norm")};
}

}  // namespace cogen::models
