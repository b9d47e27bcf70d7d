#include "network/nn/cpu_network.hpp"

#include "formats/checkpoint/quantized_blocks.hpp"
#include "network/backend/cpu/operators.hpp"
#include "network/kernels/instruction_set.hpp"
#include "network/models/pipeline_stage.hpp"
#include "network/nn/decoder.hpp"
#include "network/nn/encoder_memory.hpp"
#include "network/nn/part_reader.hpp"
#include "network/nn/varlen_texts.hpp"
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

struct cpu_mtp {
  parts::mtp<forms> part;
  blocks<forms> stack;
};

class cpu_network final : public decoder<forms> {
 public:
  cpu_network(const models::model_spec& spec, const load::model_config& config, cpu::weight_reader& weights,
              std::shared_ptr<parallel::rank_group> ranks, cpu_reader read)
      : decoder(spec, config, read, weights.number_reader(), extent_of(ranks.get())),
        ranks_(std::move(ranks)),
        mtp_(spec.mtp ? std::optional(read_mtp(spec, read)) : std::nullopt),
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
    const auto x = run(ops, batch.tokens);
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
    const cpu::operators ops(context);
    run_encoder(input_ops, batch.tokens, [&](const auto& cross, const forms::norm& norm, const activations& x) {
      ops.cache_encoder_input(cross, norm, x);
    });
  }

  void embed(std::span<const encoder_text> texts, scratch& scratch, const matrix_view& vectors) const override {
    if (!pooler_) return network::embed(texts, scratch, vectors);
    const varlen_texts packed(texts, *pooler_);
    encoder_memory own(packed.step, *text_memory_);
    scratch.space.reset();
    auto context = context_for(own, scratch);
    context.seconds = packed.seconds;
    cpu::operators ops(context, packed.outputs);
    packed.pool(*pooler_, run(ops, packed.tokens), vectors);
  }

  std::int64_t weight_bytes() const noexcept override {
    return decoder::weight_bytes() + (mtp_ ? bytes_of(mtp_->stack) + forms::bytes(mtp_->part.projection) : 0);
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

  static extent extent_of(const parallel::rank_group* ranks) {
    return {.first = !ranks || ranks->stage().is_first(), .last = !ranks || ranks->stage().is_last()};
  }

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

  const std::shared_ptr<parallel::rank_group> ranks_;  // null: this process has the whole model
  const kernels::instruction_set set_ = kernels::preferred_instruction_set();
  std::optional<cpu_mtp> mtp_;
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
