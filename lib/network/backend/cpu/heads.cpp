#include "network/backend/cpu/heads.hpp"

#include "network/backend/cpu/generic_attention.hpp"
#include "network/backend/cpu/row_arithmetic.hpp"
#include "network/backend/text_span.hpp"
#include "network/kernels/attention.hpp"
#include "network/kernels/rope.hpp"
#include "network/kernels/row_tasks.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace cogen::cpu {

namespace {

/// Sets the rows' views to those of one layer; false where it has none.
bool set_views(const forward_context& context, const cache::layer& layer) {
  const auto slots = context.step.rows();
  for (std::size_t index = 0; index < slots.size(); ++index) {
    auto& row = context.rows[index];
    const auto view = layer.view(slots[index].slot, static_cast<int>(row.offset + row.count));
    if (!view) return false;
    row.cache = *view;
  }
  return true;
}

/// Keys that are normed after they are rotated go to the cache as they are.
bool rotates_early(const models::attention_spec& spec) { return spec.rope && spec.qk_norm && spec.qk_norm->after_rope; }

void clip(const forward_context& context, const activations& x, float limit) {
  kernels::for_each_row(*context.run.workers, x.rows, x.columns, [&](std::int64_t row) {
    std::for_each_n(x.row(row), x.columns, [limit](float& value) { value = std::clamp(value, -limit, limit); });
  });
}

void grow(const forward_context& context, const models::query_growth_spec& spec, const activations& q) {
  kernels::for_each_token(
      *context.run.workers, context.rows, [&](const kernels::token_rows& row, std::int64_t token_index) {
        const auto turn = (row.offset + token_index + spec.offset) / spec.length;
        const auto factor = static_cast<float>(1 + spec.beta * std::log1p(static_cast<double>(turn)));
        std::for_each_n(q.row(row.first + token_index), q.columns, [factor](float& value) { value *= factor; });
      });
}

}  // namespace

heads::heads(const models::attention_spec& spec, const weights::head_numbers& numbers, std::shared_ptr<const rope> rope)
    : spec_(spec),
      rope_(std::move(rope)),
      sink_logits_(numbers.sink_logits),
      distance_biases_(numbers.distance_biases) {
  if (spec.qk_norm) norm_.emplace(spec, numbers);
}

activations heads::attend(const forward_context& context, int layer, const activations& qkv) const {
  const auto table = rope_ ? rope_->covering(context.reach(), context.memory.max_sequence_length()) : nullptr;
  prepare(context, table.get(), qkv);
  const auto* const left = rotates_early(spec_) ? nullptr : table.get();
  auto& memory = context.memory.layer(context.encodes ? 0 : layer);
  const bool in_place = set_views(context, memory);
  if (context.encodes)
    for (auto& row : context.rows) row.cache.span = span_within_text(spec_);
  if (in_place)
    attend_in_place(context, memory, left, qkv);
  else
    attend_generically(context, memory, left, {spec_, sink_logits_, distance_biases_}, qkv);
  if (spec_.output_gate) gate(context, qkv);
  return qkv.columns_from(0, spec_.q_width());
}

/// What happens to queries, keys and values before they are rotated, or are not rotated any more.
void heads::prepare(const forward_context& context, const kernels::rope_table* table, const activations& qkv) const {
  if (rotates_early(spec_)) rotate_queries_and_keys(context, *table, spec_, qkv);
  if (norm_)
    (*norm_)(context, qkv.columns_from(0, spec_.q_width()), qkv.columns_from(spec_.q_width(), spec_.kv_width()),
             qkv.columns_from(spec_.q_width() + spec_.kv_width(), spec_.kv_width()));
  if (spec_.qkv_clip > 0) clip(context, qkv, spec_.qkv_clip);
  if (spec_.query_growth) grow(context, *spec_.query_growth, qkv.columns_from(0, spec_.q_width()));
}

/// out = out * sigmoid(gate)
void heads::gate(const forward_context& context, const activations& qkv) const {
  const auto out = qkv.columns_from(0, spec_.q_width());
  const auto gates = qkv.columns_from(spec_.q_width() + 2 * spec_.kv_width(), spec_.q_width());
  activate_rows(context, kernels::activation::sigmoid, gates, out, out);
}

void heads::attend_in_place(const forward_context& context, cache::layer& memory, const kernels::rope_table* table,
                            const activations& qkv) const {
  const arena::scope scratch(context.space);
  const bool has_sinks = memory.span().sinks > 0;
  if (has_sinks && rotates_early(spec_))
    throw std::invalid_argument("a cache with sinks cannot hold keys that are normed after they are rotated");
  const float* const keys = spec_.shared_kv ? nullptr : qkv.data + spec_.q_width();
  const auto sink_q = has_sinks ? context.space.take(qkv.rows, spec_.q_width()) : activations{};
  kernels::rope_append(context.run, table, context.rows,
                       {.q = qkv,
                        .k = {keys, qkv.stride},
                        .v = {keys ? keys + spec_.kv_width() : nullptr, qkv.stride},
                        .heads = spec_.heads,
                        .first_rotated = spec_.rope ? spec_.rope->first_dim : 0,
                        .sink_q = sink_q});
  if (keys) memory.written(context.step);
  kernels::attention(context.run, context.rows,
                     {.q = qkv,
                      .out = qkv,
                      .heads = spec_.heads,
                      .scale = static_cast<float>(spec_.scale),
                      .softcap = spec_.softcap,
                      .slopes = spec_.alibi ? spec_.alibi->slopes.data() : nullptr,
                      .sink_logits = sink_logits_.empty() ? nullptr : sink_logits_.data(),
                      .distance_biases = spec_.relative_bias ? distance_biases_.data() : nullptr,
                      .max_distance = spec_.relative_bias ? spec_.relative_bias->max_distance : 0,
                      .sink_q = sink_q});
}

}  // namespace cogen::cpu
