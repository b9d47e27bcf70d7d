#include "nn/cpu_network.hpp"

#include "layers/operators.hpp"
#include "nn/blocks.hpp"
#include "nn/encoder_memory.hpp"
#include "nn/part_reader.hpp"
#include "nn/weight_bytes.hpp"

#include <optional>
#include <vector>

namespace cogen::nn {

namespace {

using layers::activations;
using layers::cpu;
using layers::forward_context;
using cpu_reader = part_reader<cpu, layers::weight_reader>;

struct cpu_encoder {
  parts::embedding<cpu> embedding;
  blocks<cpu> all;
  cache::kv_cache_spec memory;
};

class cpu_network final : public network {
 public:
  cpu_network(const models::model_spec& spec, const load::model_config& config, layers::weight_reader& weights,
              cpu_reader read)
      : hidden_(config.hidden),
        encoder_(spec.encoder ? std::optional(read_encoder(*spec.encoder, read)) : std::nullopt),
        embedding_(read.read(spec.embedding)),
        blocks_(read.read(spec.blocks)),
        norm_(read.read(spec.final_norm)),
        head_(read.read(spec.head, spec.embedding)),
        specs_(models::kv_cache_specs(spec)),
        weight_type_(load::to_string(weights.most_common_type())) {}

  void forward(const forward_context& context, std::span<const token> tokens, std::span<const int> outputs,
               const activations& logits) const override {
    layers::operators on(context, outputs);
    const auto x = blocks_.run(on, on.embed(embedding_, tokens, hidden_));
    if (!on.is_empty(x)) on.score(x, norm_, head_, logits);
  }

  void encode(const forward_context& context, std::span<const token> tokens) const override {
    if (!encoder_) return network::encode(context, tokens);
    encoder_memory own(context, encoder_->memory);
    const forward_context inner{
        .run = context.run, .step = own.step, .memory = own.memory, .rows = own.rows, .space = context.space};
    layers::operators on_input(inner);
    const auto x = encoder_->all.run(on_input, on_input.embed(encoder_->embedding, tokens, hidden_));
    const layers::operators on(context);
    for (const auto& block : blocks_.all())
      if (const auto* cross = std::get_if<parts::cross_attention<cpu>>(&block.what)) on.cache_encoder_input(*cross, x);
  }

  bool has_encoder() const noexcept override { return encoder_.has_value(); }
  bool has_position_table() const noexcept override { return !embedding_.positions.empty(); }
  const std::vector<cache::kv_cache_spec>& kv_cache_specs() const noexcept override { return specs_; }
  std::int64_t weight_bytes() const noexcept override {
    return bytes_of(blocks_) + cpu::bytes(norm_) + cpu::bytes(head_.product);
  }
  std::string_view weight_type() const noexcept override { return weight_type_; }

 private:
  static cpu_encoder read_encoder(const models::encoder_spec& spec, cpu_reader& read) {
    return {.embedding = read.read(spec.embedding),
            .all = blocks<cpu>(read.read(spec.blocks, true)),
            .memory = models::kv_cache_specs({.blocks = spec.blocks}).front()};
  }

  std::int64_t hidden_;
  std::optional<cpu_encoder> encoder_;
  parts::embedding<cpu> embedding_;
  blocks<cpu> blocks_;
  cpu::norm norm_;
  parts::head<cpu> head_;
  std::vector<cache::kv_cache_spec> specs_;
  std::string_view weight_type_;
};

}  // namespace

std::unique_ptr<const network> make_cpu_network(const models::model_spec& spec, const load::model_config& config,
                                                layers::weight_reader& weights) {
  weights.tensors().expect(spec);
  return std::make_unique<const cpu_network>(spec, config, weights, cpu_reader(config, weights));
}

}  // namespace cogen::nn
