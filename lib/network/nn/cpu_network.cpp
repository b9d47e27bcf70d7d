#include "network/nn/cpu_network.hpp"

#include "formats/checkpoint/quantized_blocks.hpp"
#include "network/backend/cpu/operators.hpp"
#include "network/kernels/instruction_set.hpp"
#include "network/models/pipeline_stage.hpp"
#include "network/nn/blocks.hpp"
#include "network/nn/encoder_memory.hpp"
#include "network/nn/kept_sinks.hpp"
#include "network/nn/part_reader.hpp"
#include "network/nn/pooler.hpp"
#include "network/nn/text_memory.hpp"
#include "network/nn/varlen_texts.hpp"
#include "network/nn/weight_bytes.hpp"
#include "network/nn/workspace.hpp"
#include "network/parallel/rank_group.hpp"

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace cogen::nn {

namespace {

using cpu::activations;
using cpu::forms;
using cpu::forward_context;
using cpu_reader = part_reader<forms, cpu::weight_reader>;

/// The step's rows after what their slots hold.
void place_rows(const cache::step& step, const cache::cache& cache, std::vector<kernels::token_rows>& rows) {
  rows.resize(step.rows().size());
  for (std::size_t index = 0; index < rows.size(); ++index) {
    const auto& row = step.rows()[index];
    rows[index] = {.first = step.first(static_cast<int>(index)), .count = row.count, .offset = cache.length(row.slot)};
  }
}

struct cpu_encoder {
  parts::embedding<forms> embedding;
  blocks<forms> stack;
  forms::norm norm;
  cache::kv_cache_spec memory;
};

struct cpu_mtp {
  parts::mtp<forms> part;
  blocks<forms> stack;
};

class cpu_network final : public network {
 public:
  cpu_network(const models::model_spec& spec, const load::model_config& config, cpu::weight_reader& weights,
              std::shared_ptr<parallel::rank_group> ranks, cpu_reader read)
      : ranks_(std::move(ranks)),
        hidden_(config.hidden),
        encoder_(spec.encoder ? std::optional(read_encoder(*spec.encoder, read)) : std::nullopt),
        embedding_(is_first() || models::reads_embeddings(spec) ? std::optional(read.read(spec.embedding))
                                                                : std::nullopt),
        layer_inputs_(read.read(spec.layer_inputs)),
        streams_(read.read(spec.streams)),
        blocks_(read.read(spec.blocks)),
        norm_(read.read(spec.final_norm)),
        head_(is_last() ? std::optional(read.read(spec.head, spec.embedding)) : std::nullopt),
        mtp_(spec.mtp ? std::optional(read_mtp(spec, read)) : std::nullopt),
        specs_(cached_layers_of(spec)),
        has_position_table_(spec.embedding.positions.has_value()),
        keeps_sinks_(keeps_sinks(spec)),
        generates_(!models::is_encoder_only(spec)),
        text_memory_(text_memory_of(spec)),
        pooler_(spec.pooling ? std::optional<pooler>(std::in_place, spec, hidden_, weights.number_reader())
                             : std::nullopt),
        weight_type_(ranks_ ? weights.tensors().most_stored_type() : weights.most_common_type()) {}

  cache::cache make_cache(const cache::options& options, const cache::layer_factory& own) const override {
    if (options.sinks && !keeps_sinks_) refuse_sinks();
    return network::make_cache(options, own);
  }

  void forward(const batch& batch, cache::cache& cache, scratch& scratch, const matrix_view& logits) const override {
    scratch.space.reset();
    const auto context = context_for(batch.step, cache, scratch);
    if (ranks_ && ranks_->stage().count > 1) return run_stage(context, batch, logits);
    cpu::operators ops(context, mtp_ ? std::nullopt : std::optional(batch.outputs));
    const auto embedded = ops.embed(*embedding_, batch.tokens, hidden_);
    if (layer_inputs_) ops.read_layer_inputs(*layer_inputs_, batch.tokens, embedded);
    if (streams_) ops.start_streams(*streams_, embedded);
    const auto x = blocks_.run(ops, embedded);
    if (streams_ && !ops.is_empty(x)) ops.join_streams(*streams_, x);
    if (mtp_) return score_some(context, batch.outputs, scratch.hidden = ops.normed(x, norm_), logits);
    if (!ops.is_empty(x)) ops.score(x, norm_, *head_, logits);
  }

  parallel::rank_group* ranks() const noexcept override { return ranks_.get(); }

  bool predicts_tokens() const noexcept override { return mtp_.has_value(); }

  void predict(const batch& next, cache::cache& cache, scratch& scratch, const matrix_view& logits) const override {
    if (!mtp_) return network::predict(next, cache, scratch, logits);
    const auto context = context_for(next.step, cache, scratch);
    cpu::operators ops(context, next.outputs);
    const auto embedded = ops.embed(*embedding_, next.tokens, hidden_);
    const auto x = mtp_->stack.run(ops, ops.join(embedded, scratch.hidden, mtp_->part));
    if (!ops.is_empty(x)) ops.score(x, mtp_->part.final_norm, *head_, logits);
  }

  /// Encoder inputs come before the slot's tokens, so they begin at position 0.
  void encode(const encoder_batch& batch, cache::cache& cache, scratch& scratch) const override {
    if (!encoder_) return network::encode(batch, cache, scratch);
    scratch.space.reset();
    const auto context = context_for(batch.step, cache, scratch);
    encoder_memory own(batch.step, encoder_->memory);
    const auto inner = context_for(own, scratch);
    cpu::operators input_ops(inner);
    const auto x = encoder_->stack.run(input_ops, input_ops.embed(encoder_->embedding, batch.tokens, hidden_));
    const cpu::operators ops(context);
    for (const auto& block : blocks_.items())
      if (const auto* cross = std::get_if<parts::cross_attention<forms>>(&block.part))
        ops.cache_encoder_input(*cross, encoder_->norm, x);
  }

  bool generates() const noexcept override { return generates_; }
  const pooler* pooling() const noexcept override { return pooler_ ? &*pooler_ : nullptr; }

  void embed(std::span<const encoder_text> texts, scratch& scratch, const matrix_view& vectors) const override {
    if (!pooler_) return network::embed(texts, scratch, vectors);
    const varlen_texts packed(texts, *pooler_);
    encoder_memory own(packed.step, *text_memory_);
    scratch.space.reset();
    auto context = context_for(own, scratch);
    context.seconds = packed.seconds;
    cpu::operators ops(context, packed.outputs);
    const auto x = blocks_.run(ops, ops.embed(*embedding_, packed.tokens, hidden_));
    packed.pool(*pooler_, x, vectors);
  }

  bool has_encoder() const noexcept override { return encoder_.has_value(); }
  bool has_position_table() const noexcept override { return has_position_table_; }
  const std::vector<cache::kv_cache_spec>& kv_cache_specs() const noexcept override { return specs_; }
  std::int64_t weight_bytes() const noexcept override {
    const auto predicting = mtp_ ? bytes_of(mtp_->stack) + forms::bytes(mtp_->part.projection) : 0;
    return bytes_of(blocks_) + forms::bytes(norm_) + (head_ ? forms::bytes(head_->product) : 0) + predicting;
  }
  std::string_view weight_type() const noexcept override { return to_string(weight_type_); }
  compute_type default_compute_type() const noexcept override {
    return is_quantized(weight_type_) ? compute_type::int8 : compute_type::float32;
  }

 private:
  forward_context context_for(const cache::step& step, cache::cache& cache, scratch& scratch) const {
    place_rows(step, cache, scratch.rows);
    scratch.state_rows.resize(scratch.rows.size());
    return {.run = {scratch.workers.get(), set_, scratch.mode},
            .step = step,
            .memory = cache,
            .rows = scratch.rows,
            .state_rows = scratch.state_rows,
            .space = scratch.space,
            .ranks = ranks_.get()};
  }

  forward_context context_for(encoder_memory& texts, scratch& scratch) const {
    return {.run = {scratch.workers.get(), set_, scratch.mode},
            .step = texts.step,
            .memory = texts.memory,
            .rows = texts.rows,
            .state_rows = {},
            .space = scratch.space,
            .ranks = ranks_.get(),
            .encodes = true};
  }

  bool is_first() const { return !ranks_ || ranks_->stage().is_first(); }
  bool is_last() const { return !ranks_ || ranks_->stage().is_last(); }

  /// The blocks of one stage, from the rows of the stage before it to those of the next.
  void run_stage(const forward_context& context, const batch& batch, const matrix_view& logits) const {
    const auto stage = ranks_->stage();
    cpu::operators ops(context, stage.is_last() ? std::optional(batch.outputs) : std::nullopt);
    const auto embedded = embedding_ ? ops.embed(*embedding_, batch.tokens, hidden_) : activations();
    if (layer_inputs_) ops.read_layer_inputs(*layer_inputs_, batch.tokens, embedded);
    const auto begun = stage.is_first() ? embedded : received(context, hidden_);
    if (streams_ && stage.is_first()) ops.start_streams(*streams_, embedded);
    if (streams_ && !stage.is_first()) ops.set_streams(received(context, streams_->count() * hidden_));
    const auto x = blocks_.run(ops, begun, embedded);
    if (!stage.is_last()) {
      ranks_->send_to_next_stage(x.numbers());
      if (streams_) ranks_->send_to_next_stage(ops.streams().numbers());
    } else if (!ops.is_empty(x)) {
      if (streams_) ops.join_streams(*streams_, x);
      ops.score(x, norm_, *head_, logits);
    }
  }

  activations received(const forward_context& context, std::int64_t columns) const {
    const auto x = context.space.take(context.step.tokens(), columns);
    ranks_->receive_from_last_stage(x.numbers());
    return x;
  }

  /// Logits of the outputs, whose hidden states the last norm has made.
  void score_some(const forward_context& context, std::span<const int> outputs, const activations& normed,
                  const matrix_view& logits) const {
    const cpu::operators ops(context, outputs);
    const auto x = ops.copy_kept(normed);
    if (!ops.is_empty(x)) ops.score(x, {}, *head_, logits);
  }

  static cpu_mtp read_mtp(const models::model_spec& spec, cpu_reader& read) {
    const auto layers = models::kv_cache_specs({.blocks = spec.blocks}).size();
    auto part = read.read(*spec.mtp, static_cast<int>(layers));
    blocks<forms> stack(std::move(part.blocks));
    return {.part = std::move(part), .stack = std::move(stack)};
  }

  static cpu_encoder read_encoder(const models::encoder_spec& spec, cpu_reader& read) {
    return {.embedding = read.read(spec.embedding),
            .stack = blocks<forms>(read.read(spec.blocks, true)),
            .norm = read.read(spec.final_norm),
            .memory = models::kv_cache_specs({.blocks = spec.blocks}).front()};
  }

  const std::shared_ptr<parallel::rank_group> ranks_;  // null: this process has the whole model
  const kernels::instruction_set set_ = kernels::preferred_instruction_set();
  std::int64_t hidden_;
  std::optional<cpu_encoder> encoder_;
  std::optional<parts::embedding<forms>> embedding_;  // of the first stage
  std::optional<parts::layer_inputs<forms>> layer_inputs_;
  std::optional<parts::streams<forms>> streams_;
  blocks<forms> blocks_;
  forms::norm norm_;
  std::optional<parts::head<forms>> head_;  // of the last stage
  std::optional<cpu_mtp> mtp_;
  std::vector<cache::kv_cache_spec> specs_;
  bool has_position_table_;
  bool keeps_sinks_;
  bool generates_;
  std::optional<cache::kv_cache_spec> text_memory_;
  std::optional<pooler> pooler_;
  element_type weight_type_;
};

}  // namespace

std::unique_ptr<const network> make_cpu_network(const models::model_spec& spec, const load::model_config& config,
                                                cpu::weight_reader& weights,
                                                std::shared_ptr<parallel::rank_group> ranks) {
  weights.tensors().expect(spec);
  return std::make_unique<const cpu_network>(spec, config, weights, std::move(ranks),
                                             cpu_reader(config, spec.vocabulary, weights));
}

}  // namespace cogen::nn
