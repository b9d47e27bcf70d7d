#include "nn/device_parts.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string_view>

namespace cogen::nn {

namespace {

void refuse(bool has, std::string_view part) {
  if (has) throw std::invalid_argument(fmt::format("devices do not run {} yet; the cpu does", part));
}

void check(const std::optional<models::norm_spec>& norm) {
  refuse(norm && norm->type == models::norm_spec::kind::layer, "layer norms");
  refuse(norm && norm->weight_offset != 0, "norms whose weights have an offset");
}

void check(const models::attention_spec& attention) {
  refuse(attention.kv.kind == cache::layer_kind::cross, "attention to an encoder input");
  refuse(attention.kv.kind == cache::layer_kind::chunked, "attention in chunks");
  refuse(!attention.rope, "attention without rotary positions");
  refuse(attention.rope && attention.rope->config.kind == load::rope_kind::longrope, "rotations of longrope");
  refuse(attention.qk_norm.has_value(), "norms of queries and keys");
  refuse(attention.alibi.has_value(), "attention with linear biases");
  refuse(attention.query_growth.has_value(), "queries that grow with their position");
  refuse(attention.softcap != 0, "capped attention scores");
  refuse(attention.qkv_clip != 0, "clipped queries, keys and values");
}

void check(const models::mlp_spec& mlp) {
  refuse(mlp.gate.empty(), "feed-forwards without a gate");
  refuse(mlp.activation != kernels::activation::silu, "feed-forwards with another activation than silu");
}

void check(const models::moe_spec&) { refuse(true, "mixtures of experts"); }
void check(const models::mamba_spec&) { refuse(true, "state-space mixers"); }

void check(const models::block_spec& block) {
  std::visit([](const auto& what) { check(what); }, block.what);
  refuse(!block.before, "blocks without a norm before them");
  check(block.before);
  refuse(block.after || block.post, "norms behind blocks");
  refuse(block.residual_scale != 1, "scaled residuals");
  refuse(block.parallel, "parallel blocks");
}

}  // namespace

void refuse_what_devices_lack(const models::model_spec& spec) {
  refuse(spec.encoder.has_value(), "encoders");
  refuse(spec.embedding.scale != 1, "scaled embeddings");
  refuse(spec.embedding.positions.has_value(), "tables of positions");
  refuse(spec.embedding.norm.has_value(), "norms of embeddings");
  refuse(spec.embedding.width != 0 || spec.head.width != 0, "embeddings that are narrower than hidden states");
  for (const auto& block : spec.blocks) check(block);
  refuse(!spec.final_norm, "models without a last norm");
  check(spec.final_norm);
  refuse(!spec.head.bias.empty() || spec.head.scale != 1 || spec.head.softcap != 0, "biased, scaled or capped logits");
}

}  // namespace cogen::nn
