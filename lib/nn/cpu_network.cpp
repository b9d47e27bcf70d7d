#include "nn/cpu_network.hpp"

#include "backend/cpu/operators.hpp"
#include "nn/blocks.hpp"
#include "nn/encoder_memory.hpp"
#include "nn/part_reader.hpp"
#include "nn/weight_bytes.hpp"

#include <optional>
#include <vector>

namespace cogen::nn {

namespace {

using cpu::activations;
using cpu::forms;
using cpu::forward_context;
using cpu_reader = part_reader<forms, cpu::weight_reader>;

struct cpu_encoder {
  parts::embedding<forms> embedding;
  blocks<forms> all;
  cache::kv_cache_spec memory;
};

class cpu_network final : public network {
 public:
  cpu_network(const models::model_spec& spec, const load::model_config& config, cpu::weight_reader& weights,
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
    cpu::operators on(context, outputs);
    const auto x = blocks_.run(on, on.embed(embedding_, tokens, hidden_));
    if (!on.is_empty(x)) on.score(x, norm_, head_, logits);
  }

  void encode(const forward_context& context, std::span<const token> tokens) const override {
    if (!encoder_) return network::encode(context, tokens);
    encoder_memory own(context, encoder_->memory);
    const forward_context inner{
        .run = context.run, .step = own.step, .memory = own.memory, .rows = own.rows, .space = context.space};
    cpu::operators on_input(inner);
    const auto x = encoder_->all.run(on_input, on_input.embed(encoder_->embedding, tokens, hidden_));
    const cpu::operators on(context);
    for (const auto& block : blocks_.all())
      if (const auto* cross = std::get_if<parts::cross_attention<forms>>(&block.what))
        on.cache_encoder_input(*cross, x);
  }

  bool has_encoder() const noexcept override { return encoder_.has_value(); }
  bool has_position_table() const noexcept override { return !embedding_.positions.empty(); }
  const std::vector<cache::kv_cache_spec>& kv_cache_specs() const noexcept override { return specs_; }
  std::int64_t weight_bytes() const noexcept override {
    return bytes_of(blocks_) + forms::bytes(norm_) + forms::bytes(head_.product);
  }
  std::string_view weight_type() const noexcept override { return weight_type_; }

 private:
  static cpu_encoder read_encoder(const models::encoder_spec& spec, cpu_reader& read) {
    return {.embedding = read.read(spec.embedding),
            .all = blocks<forms>(read.read(spec.blocks, true)),
            .memory = models::kv_cache_specs({.blocks = spec.blocks}).front()};
  }

  std::int64_t hidden_;
  std::optional<cpu_encoder> encoder_;
  parts::embedding<forms> embedding_;
  blocks<forms> blocks_;
  forms::norm norm_;
  parts::head<forms> head_;
  std::vector<cache::kv_cache_spec> specs_;
  std::string_view weight_type_;
};

}  // namespace

std::unique_ptr<const network> make_cpu_network(const models::model_spec& spec, const load::model_config& config,
                                                cpu::weight_reader& weights) {
  weights.tensors().expect(spec);
  return std::make_unique<const cpu_network>(spec, config, weights, cpu_reader(config, weights));
}

}  // namespace cogen::nn
