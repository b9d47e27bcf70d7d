#include "network/nn/device/device_model.hpp"

#include "network/models/batch_invariance.hpp"
#include "network/models/tensor_shards.hpp"
#include "network/nn/device/device_kv_layer.hpp"
#include "network/nn/device/device_pass.hpp"
#include "network/nn/device/device_workspace.hpp"
#include "network/nn/device/scratch_widths.hpp"
#include "network/nn/part_reader.hpp"
#include "network/nn/varlen_texts.hpp"
#include "network/nn/workspace.hpp"

#include <cogen/extend/tensors.hpp>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>
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

/// The parts of a model that devices run.
tensor_reader reader_of(const models::model_spec& spec, const load::model_config& config,
                        device::tensor_weights& weights) {
  check_parallel(spec.blocks);
  if (spec.encoder) check_parallel(spec.encoder->blocks);
  return {config, spec.vocabulary, weights};
}

/// The step of one of its tokens.
device::step_rows step_of(const device::step_rows& rows, std::int64_t token) {
  const auto own = [&](const at::Tensor& numbers) { return numbers.defined() ? numbers.narrow(0, token, 1) : numbers; };
  device::step_rows step;
  step.ids = own(rows.ids);
  step.slots = own(rows.slots);
  step.positions = own(rows.positions);
  step.encoder_lengths = own(rows.encoder_lengths);
  step.single = 1;
  return step;
}

/// What a pass is given that caches nothing.
cache::device_cache no_cache(const device_model& model) {
  const cache::kv_cache_spec unread{.kind = cache::layer_kind::recurrent, .state = 1};
  return {{&unread, 1},
          {.device = model.backend->device(), .type = model.type(), .slots = 1, .max_sequence_length = 1}};
}

std::int64_t max_length(std::span<const encoder_text> texts) {
  std::int64_t longest = 0;
  for (const auto& each : texts) longest = std::max(longest, static_cast<std::int64_t>(each.tokens.size()));
  return longest;
}

}  // namespace

device_model::device_model(std::shared_ptr<const device::backend> where, const models::model_spec& spec,
                           const load::model_config& config, device::tensor_weights& weights,
                           std::shared_ptr<device::collectives> shared_by, std::shared_ptr<parallel::rank_group> ranks)
    : decoder(spec, config, reader_of(spec, config, weights), weights.number_reader(), {}),
      backend(std::move(where)),
      collectives(std::move(shared_by)),
      ranks_(std::move(ranks)),
      identity_(std::make_shared<char>()),
      batch_variant_part_(models::batch_variant_part(spec)) {}

cache::cache device_model::make_cache(const cache::options& options, const cache::layer_factory& own) const {
  return make_cache_on(*this, options, own);
}

std::string_view device_model::weight_type() const noexcept {
  switch (type()) {
    case at::kHalf:
      return "f16";
    case at::kFloat:
      return "f32";
    default:
      return "bf16";
  }
}

// Loops without an engine

/// Throws std::invalid_argument for a workspace that computes otherwise.
device_workspace& device_model::workspace_in(scratch& scratch) const {
  if (scratch.mode != compute_type::float32)
    throw std::invalid_argument(
        fmt::format("the workspace's compute type is int8; models on {} compute in float32 alone", backend->name()));
  auto* kept = dynamic_cast<device_workspace*>(scratch.on_device.get());
  if (kept && kept->identity() == identity_) return *kept;
  auto own = std::make_unique<device_workspace>(*this, identity_);
  auto& result = *own;
  scratch.on_device = std::move(own);
  return result;
}

void device_model::forward(const batch& batch, cache::cache& cache, scratch& scratch, const matrix_view& logits) const {
  workspace_in(scratch).run(batch, kv_on(*this, cache), tensor_of(logits));
}

void device_model::encode(const encoder_batch& batch, cache::cache& cache, scratch& scratch) const {
  if (!has_encoder()) return network::encode(batch, cache, scratch);
  workspace_in(scratch).encode(batch, kv_on(*this, cache));
}

/// One text at a time, so that each is the same bits in any batch.
void device_model::embed(std::span<const encoder_text> texts, scratch& scratch, const matrix_view& vectors) const {
  if (!pooling()) return network::embed(texts, scratch, vectors);
  backend->synchronize();
  backend->make_stream()->run_on_stream([&] {
    const auto operators = backend->make_operators();
    const auto cache = no_cache(*this);
    device_step step(*this, *operators, {.tokens = max_length(texts), .slots = 1});
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const varlen_texts text(texts.subspan(i, 1), *pooling());
      const auto second = texts[i].second.value_or(static_cast<int>(text.tokens.size()));
      const auto states =
          step.read_text(text.tokens, second, text.outputs, cache).to(at::kCPU, at::kFloat).contiguous();
      text.pool(*pooling(), matrix_of(states), vectors.rows_from(static_cast<std::int64_t>(i), 1));
    }
  });
}

// Passes

device_scratch device_model::make_scratch(std::int64_t tokens, bool sinks) const {
  if (sinks && !keeps_sinks_) refuse_sinks();
  const auto on_device = at::TensorOptions(backend->device());
  const auto rows_of = [&](std::int64_t width, at::ScalarType type) {
    return at::empty({tokens, width}, on_device.dtype(type));
  };
  const auto begun = std::min(tokens, device::max_deferred_rows);
  const auto squares = (hidden_ + device::squared_numbers - 1) / device::squared_numbers;
  scratch_widths widths;
  widths.add(blocks_);
  if (encoder_) widths.add(encoder_->stack);
  return {.x = rows_of(hidden_, at::kFloat),
          .weighted = at::empty({begun, hidden_}, on_device.dtype(type())),
          .squares = at::empty({begun, squares}, on_device.dtype(at::kFloat)),
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
          .partial = rows_of(collectives ? std::max(hidden_, embedding_->width) : 0, at::kFloat)};
}

at::Tensor device_model::forward(device::operators& ops, const device::step_rows& rows, const at::Tensor& last,
                                 const at::Tensor& outputs, const device_memory& memory,
                                 const device_scratch& scratch) const {
  if (!ops.runs_single_tokens()) return run_step(ops, rows, last, outputs, memory, scratch);
  const auto single = scratch.first(1);  // where numbers lie may decide in which order a library adds them
  std::vector<at::Tensor> hidden;
  for (std::int64_t token = 0; token < rows.ids.size(0); ++token)
    hidden.push_back(run_step(ops, step_of(rows, token), last, {}, memory, single).clone());
  const auto states = at::cat(hidden);
  return outputs.defined() ? at::index_select(states, 0, outputs) : states;
}

at::Tensor device_model::run_step(device::operators& ops, const device::step_rows& rows, const at::Tensor& last,
                                  const at::Tensor& outputs, const device_memory& memory,
                                  const device_scratch& scratch) const {
  device_pass pass(ops, collectives.get(), rows, outputs, memory, scratch);
  return run(pass, last);
}

at::Tensor device_model::read_texts(device::operators& ops, const device::step_rows& rows, const at::Tensor& last,
                                    const at::Tensor& outputs, const device_memory& memory,
                                    const device_scratch& scratch) const {
  encoder_pass pass(ops, collectives.get(), rows, outputs, memory, scratch);
  return run(pass, last);
}

void device_model::encode(device::operators& ops, const device::step_rows& rows, const at::Tensor& last,
                          const device_memory& memory, const device_scratch& scratch) const {
  const at::Tensor outputs;
  encoder_pass pass(ops, collectives.get(), rows, outputs, memory, scratch);
  run_encoder(pass, last, [&](const device::cross_attention& cross, const device::norm& norm, const at::Tensor& x) {
    pass.store_encoder_input(x, norm, cross);
  });
}

void device_model::score(device::operators& ops, const at::Tensor& rows, const at::Tensor& logits) const {
  if (!head_->vocabulary) return score_own(ops, rows, logits);
  const auto part = at::empty({rows.size(0), head_->vocabulary.count}, logits.options());
  score_own(ops, rows, part);
  gather(part, logits);
}

/// logits [rows, this rank's part of the vocabulary]
void device_model::score_own(device::operators& ops, const at::Tensor& rows, const at::Tensor& logits) const {
  if (!ops.runs_single_tokens()) return ops.score(rows, norm_, *head_, logits);
  for (std::int64_t row = 0; row < rows.size(0); ++row)
    ops.score(rows.narrow(0, row, 1).clone(), norm_, *head_, logits.narrow(0, row, 1));
}

/// logits [rows, vocabulary] = the ranks' columns of them.
void device_model::gather(const at::Tensor& part, const at::Tensor& logits) const {
  const int ranks = collectives->gathers() ? collectives->place().count : 0;
  std::vector<at::Tensor> parts, places;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto shard = models::vocabulary_shard(logits.size(1), {rank, ranks});
    parts.push_back(at::empty({logits.size(0), shard.count}, logits.options()));
    places.push_back(logits.narrow(1, shard.first, shard.count));
  }
  collectives->gather(part, parts);
  for (std::size_t rank = 0; rank < parts.size(); ++rank) places[rank].copy_(parts[rank]);
}

}  // namespace cogen::nn
