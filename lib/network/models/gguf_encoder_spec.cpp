#include "network/models/gguf_encoder_spec.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cogen::models {

namespace {

/// Names the blocks of one half, "enc" or "dec". Attention to the half's own tokens begins a layer; it is the one with
/// biases of distances.
class half_namer {
 public:
  explicit half_namer(std::string_view half) : half_(half) {}

  void rename(std::vector<block_spec>& blocks) {
    for (auto& block : blocks) {
      if (auto* attends = std::get_if<attention_spec>(&block.part))
        rename(block, *attends);
      else
        rename(block, std::get<mlp_spec>(block.part));
    }
  }

  void rename(std::optional<norm_spec>& final_norm) const { final_norm->name = fmt::format("{}.output_norm", half_); }

 private:
  void rename(block_spec& block, attention_spec& attends) {
    if (attends.relative_bias) {
      attends.relative_bias->name = fmt::format("{}.blk.0.attn_rel_b", half_);
      ++layer_;
    }
    block.prefix = fmt::format("{}.blk.{}.{}", half_, layer_, attends.relative_bias ? "" : "cross_");
    block.pre_norm->name = block.prefix + "attn_norm";
    attends.qkv = {"attn_q", "attn_k", "attn_v"};
    attends.output = "attn_o";
  }

  void rename(block_spec& block, mlp_spec& mlp) const {
    block.prefix = fmt::format("{}.blk.{}.", half_, layer_);
    block.pre_norm->name = block.prefix + "ffn_norm";
    if (!mlp.gate.empty()) mlp.gate = "ffn_gate";
    mlp.up = "ffn_up";
    mlp.down = "ffn_down";
  }

  const std::string_view half_;
  int layer_ = -1;
};

}  // namespace

model_spec with_encoder_as_gguf(model_spec spec) {
  auto& encoder = *spec.encoder;
  spec.embedding.names = encoder.embedding.names = {"token_embd"};
  spec.head.names = {"output", "token_embd"};
  half_namer enc("enc"), dec("dec");
  enc.rename(encoder.blocks);
  enc.rename(encoder.final_norm);
  dec.rename(spec.blocks);
  dec.rename(spec.final_norm);
  spec.unread = {"dec.blk.0.cross_attn_rel_b.weight"};
  return spec;
}

}  // namespace cogen::models
