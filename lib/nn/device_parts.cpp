#include "nn/device_parts.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::nn {

namespace {

class part_check {
 public:
  part_check(const std::string& name, bool every_part) : name_(name), every_part_(every_part) {}

  void check(const models::model_spec& spec) const {
    refuse(spec.encoder.has_value(), "encoders");
    if (spec.encoder) check(*spec.encoder);
    refuse(models::is_encoder_only(spec), "attention to later tokens");
    check(spec.embedding);
    refuse(spec.streams.has_value(), "several streams of hidden states");
    refuse(spec.layer_inputs.has_value(), "inputs of layers");
    refuse(spec.head.width != 0, "embeddings that are narrower than hidden states");
    check(spec.blocks);
    refuse(!spec.final_norm, "models without a last norm");
    check(spec.final_norm);
    refuse(!spec.head.bias.empty() || spec.head.scale != 1 || spec.head.softcap != 0,
           "biased, scaled or capped logits");
  }

 private:
  /// Which tensor of a forward holds what a block begins with; one that is parallel to it needs another.
  enum class result : std::uint8_t { attended, mixed, gated, routed, joined };

  static result result_of(const models::block_spec& block) {
    if (std::holds_alternative<models::attention_spec>(block.what)) return result::attended;
    if (std::holds_alternative<models::mlp_spec>(block.what)) return result::gated;
    if (std::holds_alternative<models::layer_input_spec>(block.what)) return result::gated;
    if (std::holds_alternative<models::low_rank_spec>(block.what)) return result::joined;
    return std::holds_alternative<models::moe_spec>(block.what) ? result::routed : result::mixed;
  }

  void refuse_always(bool has, std::string_view part) const {
    if (has) throw std::invalid_argument(fmt::format("device \"{}\" does not run {} yet; \"cpu\" does", name_, part));
  }

  void refuse(bool has, std::string_view part) const { refuse_always(has && !every_part_, part); }

  void check(const models::encoder_spec& encoder) const {
    check(encoder.embedding);
    check(encoder.blocks);
    check(encoder.final_norm);
  }

  void check(const models::embedding_spec& embedding) const {
    refuse(embedding.scale != 1, "scaled embeddings");
    refuse(embedding.positions.has_value(), "tables of positions");
    refuse(embedding.norm.has_value(), "norms of embeddings");
    refuse(embedding.width != 0, "embeddings that are narrower than hidden states");
  }

  void check(const std::vector<models::block_spec>& blocks) const {
    std::set<result> begun;
    for (const auto& block : blocks) {
      check(block);
      if (!block.parallel) begun.clear();
      refuse_always(!begun.insert(result_of(block)).second, "parallel blocks of the same kind");
    }
  }

  void check(const std::optional<models::norm_spec>& norm) const {
    refuse(norm && norm->type == models::norm_spec::kind::layer, "layer norms");
    refuse(norm && norm->weight_offset != 0, "norms whose weights have an offset");
  }

  void check(const models::attention_spec& attention) const {
    refuse(attention.kv.kind == cache::layer_kind::cross, "attention to an encoder input");
    refuse(attention.kv.kind == cache::layer_kind::chunked, "attention in chunks");
    refuse(attention.output_gate, "attention with gated outputs");
    refuse(attention.reads_embeddings, "attention that reads embeddings");
    refuse(!attention.adapters.empty(), "products with adapters");
    refuse(attention.shared_kv.has_value(), "layers that share keys and values");
    refuse(!attention.rope, "attention without rotary positions");
    refuse(attention.qk_norm.has_value(), "norms of queries and keys");
    refuse(attention.alibi.has_value(), "attention with linear biases");
    refuse(attention.relative_bias.has_value(), "attention with biases of distances");
    refuse(attention.query_growth.has_value(), "queries that grow with their position");
    refuse(!attention.sink_logits.empty(), "attention with logits of sinks");
    refuse(attention.softcap != 0, "capped attention scores");
    refuse(attention.qkv_clip != 0, "clipped queries, keys and values");
  }

  void check(const models::latent_attention_spec&) const { refuse(true, "latent attention"); }

  void check(const models::linear_spec&) const { refuse(true, "blocks of one product"); }
  void check(const models::low_rank_spec&) const { refuse(true, "low-rank residuals"); }
  void check(const models::stream_step_spec&) const { refuse(true, "several streams of hidden states"); }
  void check(const models::layer_input_spec&) const { refuse(true, "inputs of layers"); }

  void check(const models::mlp_spec& mlp) const {
    refuse(!mlp.adapters.empty(), "products with adapters");
    refuse(mlp.gate_scale != 1, "feed-forwards with a scaled gate");
    refuse(mlp.gate_cutoff.has_value(), "feed-forwards with a gate that is cut off");
    refuse(mlp.gate.empty(), "feed-forwards without a gate");
    refuse(mlp.activation != kernels::activation::silu, "feed-forwards with another activation than silu");
  }

  void check(const models::moe_spec&) const { refuse(true, "mixtures of experts"); }
  void check(const models::mamba_spec&) const { refuse(true, "state-space mixers"); }
  void check(const models::mamba2_spec&) const { refuse(true, "Mamba-2 mixers"); }
  void check(const models::delta_net_spec&) const { refuse(true, "gated delta nets"); }
  void check(const models::short_convolution_spec&) const { refuse(true, "short convolutions"); }

  void check(const models::block_spec& block) const {
    std::visit([this](const auto& what) { check(what); }, block.what);
    refuse(!block.before, "blocks without a norm before them");
    check(block.before);
    refuse(block.after || block.post || block.joint, "norms behind blocks");
    refuse(block.residual_scale != 1 || block.total_scale != 1 || !block.scalar.empty(), "scaled residuals");
    refuse(block.parallel, "parallel blocks");
    refuse(block.passes != models::passed_on::nothing, "blocks that pass their result on");
  }

  const std::string name_;
  const bool every_part_;
};

}  // namespace

void refuse_what_it_lacks(const device::backend& backend, const models::model_spec& spec) {
  refuse_what_it_lacks(backend.name(), backend.runs_every_part(), spec);
}

void refuse_what_it_lacks(const std::string& backend, bool runs_every_part, const models::model_spec& spec) {
  part_check(backend, runs_every_part).check(spec);
}

}  // namespace cogen::nn
