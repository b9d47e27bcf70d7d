#include "network/nn/device/device_decoder.hpp"

#include "network/models/batch_invariance.hpp"
#include "network/models/tensor_shards.hpp"
#include "network/nn/blocks.hpp"
#include "network/nn/device/device_pass.hpp"
#include "network/nn/device/scratch_widths.hpp"
#include "network/nn/kept_sinks.hpp"
#include "network/nn/part_reader.hpp"
#include "network/nn/pooler.hpp"
#include "network/nn/text_memory.hpp"
#include "network/nn/weight_bytes.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>

#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <variant>
#include <vector>

namespace cogen::nn {

namespace {

using device::tensors;
using tensor_reader = part_reader<tensors, device::tensor_weights>;

/// Which tensor of a forward holds what a block begins with.
enum class result : std::uint8_t { attended, mixed, gated, routed, joined };

result result_of(const models::block_spec& block) {
  if (std::holds_alternative<models::attention_spec>(block.part)) return result::attended;
  if (std::holds_alternative<models::mlp_spec>(block.part)) return result::gated;
  if (std::holds_alternative<models::layer_input_spec>(block.part)) return result::gated;
  if (std::holds_alternative<models::low_rank_spec>(block.part)) return result::joined;
  if (std::holds_alternative<models::channel_mix_spec>(block.part)) return result::joined;
  return std::holds_alternative<models::moe_spec>(block.part) ? result::routed : result::mixed;
}

void check_parallel(const std::vector<models::block_spec>& blocks) {
  std::set<result> begun;
  for (const auto& block : blocks) {
    if (!block.parallel) begun.clear();
    if (!begun.insert(result_of(block)).second)
      throw std::invalid_argument(R"(devices do not run parallel blocks of the same kind; "cpu" does)");
  }
}

/// The step of one of its tokens.
device::step_rows step_of(const device::step_rows& rows, std::int64_t token) {
  const auto own = [&](const at::Tensor& each) { return each.defined() ? each.narrow(0, token, 1) : each; };
  device::step_rows step;
  step.ids = own(rows.ids);
  step.slots = own(rows.slots);
  step.positions = own(rows.positions);
  step.encoder_lengths = own(rows.encoder_lengths);
  step.single = 1;
  return step;
}

struct device_encoder {
  device::embedding embedding;
  blocks<tensors> stack;
  device::norm norm;
};

class device_decoder final : public device_network {
 public:
  device_decoder(const models::model_spec& spec, const load::model_config& config, device::tensor_weights& weights,
                 std::shared_ptr<device::collectives> ranks, tensor_reader read)
      : ranks_(std::move(ranks)),
        hidden_(config.hidden),
        specs_(cached_layers_of(spec)),
        generates_(!models::is_encoder_only(spec)),
        batch_variant_part_(models::batch_variant_part(spec)),
        keeps_sinks_(keeps_sinks(spec)),
        encoder_(spec.encoder ? std::optional(read_encoder(*spec.encoder, read)) : std::nullopt),
        embedding_(read.read(spec.embedding)),
        layer_inputs_(read.read(spec.layer_inputs)),
        streams_(read.read(spec.streams)),
        blocks_(read.read(spec.blocks)),
        norm_(read.read(spec.final_norm)),
        head_(read.read(spec.head, spec.embedding)) {
    if (text_memory_of(spec)) pooler_.emplace(spec, hidden_, weights.number_reader());
  }

  const std::vector<cache::kv_cache_spec>& kv_cache_specs() const noexcept override { return specs_; }
  std::int64_t weight_bytes() const noexcept override {
    return bytes_of(blocks_) + tensors::bytes(norm_) + tensors::bytes(head_.product);
  }
  at::ScalarType type() const noexcept override { return embedding_.table.type(); }
  at::Device device() const noexcept override { return embedding_.table.weights.device(); }

  device::collectives* ranks() const noexcept override { return ranks_.get(); }
  std::optional<std::string_view> batch_variant_part() const noexcept override { return batch_variant_part_; }

  device_scratch make_scratch(std::int64_t tokens, bool sinks) const override {
    if (sinks && !keeps_sinks_) refuse_sinks();
    const auto rows_of = [&](std::int64_t width, at::ScalarType type) {
      return at::empty({tokens, width}, at::TensorOptions(device()).dtype(type));
    };
    const auto begun = std::min(tokens, device::max_deferred_rows);
    const auto squares = (hidden_ + device::squared_numbers - 1) / device::squared_numbers;
    scratch_widths widths;
    widths.add(blocks_);
    if (encoder_) widths.add(encoder_->stack);
    return {.x = rows_of(hidden_, at::kFloat),
            .weighted = at::empty({begun, hidden_}, at::TensorOptions(device()).dtype(type())),
            .squares = at::empty({begun, squares}, at::TensorOptions(device()).dtype(at::kFloat)),
            .qkv = rows_of(widths.qkv, type()),
            .sink_q = sinks ? rows_of(widths.attended, type()) : at::Tensor(),
            .attended = rows_of(widths.attended, type()),
            .mixed = rows_of(widths.mixed, type()),
            .decisions = rows_of(widths.decisions, at::kFloat),
            .gated = rows_of(widths.inner, type()),
            .routed = rows_of(widths.experts > 0 ? hidden_ : 0, at::kFloat),
            .shares = rows_of(widths.experts, at::kFloat),
            .joined = rows_of(widths.joins ? hidden_ : 0, at::kFloat),
            .inputs = rows_of(layer_inputs_ ? layer_inputs_->width : 0, at::kFloat),
            .streams = rows_of(streams_ ? streams_->count() * hidden_ : 0, at::kFloat),
            .wide = rows_of(widths.reads_embeddings ? 2 * hidden_ : 0, at::kFloat),
            .partial = rows_of(ranks_ ? std::max(hidden_, embedding_.width) : 0, at::kFloat)};
  }

  at::Tensor forward(device::operators& ops, const device::step_rows& rows, const at::Tensor& last,
                     const at::Tensor& outputs, const device_memory& memory,
                     const device_scratch& scratch) const override {
    if (!ops.runs_single_tokens()) return run(ops, rows, last, outputs, memory, scratch);
    const auto single = scratch.first(1);  // where numbers lie may decide in which order a library adds them
    std::vector<at::Tensor> hidden;
    for (std::int64_t token = 0; token < rows.ids.size(0); ++token)
      hidden.push_back(run(ops, step_of(rows, token), last, {}, memory, single).clone());
    const auto all = at::cat(hidden);
    return outputs.defined() ? at::index_select(all, 0, outputs) : all;
  }

  bool generates() const noexcept override { return generates_; }
  const pooler* pooling() const noexcept override { return pooler_ ? &*pooler_ : nullptr; }
  std::int64_t second_text() const noexcept override { return embedding_.second_text; }

  at::Tensor read_texts(device::operators& ops, const device::step_rows& rows, const at::Tensor& last,
                        const at::Tensor& outputs, const device_memory& memory,
                        const device_scratch& scratch) const override {
    encoder_pass pass(ops, ranks(), rows, outputs, memory, scratch);
    return blocks_.run(pass, pass.embed(embedding_, last));
  }

  bool has_encoder() const noexcept override { return encoder_.has_value(); }
  bool has_position_table() const noexcept override { return embedding_.positions.defined(); }

  void encode(device::operators& ops, const device::step_rows& rows, const at::Tensor& last,
              const device_memory& memory, const device_scratch& scratch) const override {
    if (!encoder_) throw std::logic_error("this model has no encoder");
    const at::Tensor outputs;
    encoder_pass pass(ops, ranks(), rows, outputs, memory, scratch);
    const auto x = encoder_->stack.run(pass, pass.embed(encoder_->embedding, last));
    for (const auto& block : blocks_.items())
      if (const auto* cross = std::get_if<device::cross_attention>(&block.part))
        pass.store_encoder_input(x, encoder_->norm, *cross);
  }

  void score(device::operators& ops, const at::Tensor& rows, const at::Tensor& logits) const override {
    if (!head_.vocabulary) return score_own(ops, rows, logits);
    const auto part = at::empty({rows.size(0), head_.vocabulary.count}, logits.options());
    score_own(ops, rows, part);
    gather(part, logits);
  }

 private:
  /// As forward(), of all tokens at once.
  at::Tensor run(device::operators& ops, const device::step_rows& rows, const at::Tensor& last,
                 const at::Tensor& outputs, const device_memory& memory, const device_scratch& scratch) const {
    device_pass pass(ops, ranks(), rows, outputs, memory, scratch);
    const auto embedded = pass.embed(embedding_, last);
    if (layer_inputs_) pass.read_layer_inputs(*layer_inputs_, last, embedded);
    if (streams_) pass.start_streams(*streams_, embedded);
    auto x = blocks_.run(pass, embedded);
    if (streams_ && !pass.is_empty(x)) pass.join_streams(*streams_, x);
    return x;
  }

  /// logits [rows, this rank's part of the vocabulary]
  void score_own(device::operators& ops, const at::Tensor& rows, const at::Tensor& logits) const {
    if (!ops.runs_single_tokens()) return ops.score(rows, norm_, head_, logits);
    for (std::int64_t row = 0; row < rows.size(0); ++row)
      ops.score(rows.narrow(0, row, 1).clone(), norm_, head_, logits.narrow(0, row, 1));
  }

  /// logits [rows, vocabulary] = the ranks' columns of them.
  void gather(const at::Tensor& part, const at::Tensor& logits) const {
    const int ranks = ranks_->gathers() ? ranks_->place().count : 0;
    std::vector<at::Tensor> parts, places;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto shard = models::vocabulary_shard(logits.size(1), {rank, ranks});
      parts.push_back(at::empty({logits.size(0), shard.count}, logits.options()));
      places.push_back(logits.narrow(1, shard.first, shard.count));
    }
    ranks_->gather(part, parts);
    for (std::size_t rank = 0; rank < parts.size(); ++rank) places[rank].copy_(parts[rank]);
  }

  static device_encoder read_encoder(const models::encoder_spec& spec, tensor_reader& read) {
    return {.embedding = read.read(spec.embedding),
            .stack = blocks<tensors>(read.read(spec.blocks, true)),
            .norm = read.read(spec.final_norm)};
  }

  const std::shared_ptr<device::collectives> ranks_;  // null: the model is whole
  std::int64_t hidden_;
  std::vector<cache::kv_cache_spec> specs_;
  bool generates_;
  std::optional<std::string_view> batch_variant_part_;
  bool keeps_sinks_;
  std::optional<device_encoder> encoder_;
  device::embedding embedding_;
  std::optional<device::layer_inputs> layer_inputs_;
  std::optional<device::streams> streams_;
  blocks<tensors> blocks_;
  device::norm norm_;
  device::head head_;
  std::optional<pooler> pooler_;
};

}  // namespace

at::Tensor device_network::read_texts(device::operators&, const device::step_rows&, const at::Tensor&,
                                      const at::Tensor&, const device_memory&, const device_scratch&) const {
  throw std::logic_error("this model makes no vectors of texts");
}

device_scratch device_scratch::first(std::int64_t tokens) const {
  return {.x = x.narrow(0, 0, tokens),
          .weighted = weighted,
          .squares = squares,
          .qkv = qkv.narrow(0, 0, tokens),
          .sink_q = sink_q.defined() ? sink_q.narrow(0, 0, tokens) : sink_q,
          .attended = attended.narrow(0, 0, tokens),
          .mixed = mixed.narrow(0, 0, tokens),
          .decisions = decisions.narrow(0, 0, tokens),
          .gated = gated.narrow(0, 0, tokens),
          .routed = routed.narrow(0, 0, tokens),
          .shares = shares.narrow(0, 0, tokens),
          .joined = joined.narrow(0, 0, tokens),
          .inputs = inputs.narrow(0, 0, tokens),
          .streams = streams.narrow(0, 0, tokens),
          .wide = wide.narrow(0, 0, tokens),
          .partial = partial.narrow(0, 0, tokens)};
}

std::int64_t device_scratch::bytes() const noexcept {
  std::int64_t bytes = 0;
  for (const auto* each : {&x, &weighted, &squares, &qkv, &sink_q, &attended, &mixed, &decisions, &gated, &routed,
                           &shares, &joined, &inputs, &streams, &wide, &partial})
    if (each->defined()) bytes += static_cast<std::int64_t>(each->nbytes());
  return bytes;
}

std::unique_ptr<const device_network> make_device_decoder(const models::model_spec& spec,
                                                          const load::model_config& config,
                                                          device::tensor_weights& weights,
                                                          std::shared_ptr<device::collectives> ranks) {
  check_parallel(spec.blocks);
  if (spec.encoder) check_parallel(spec.encoder->blocks);
  return std::make_unique<const device_decoder>(spec, config, weights, std::move(ranks),
                                                tensor_reader(config, spec.vocabulary, weights));
}

}  // namespace cogen::nn
