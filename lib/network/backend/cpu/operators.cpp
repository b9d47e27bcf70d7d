#include "network/backend/cpu/operators.hpp"

#include "network/backend/cpu/add_result.hpp"
#include "network/backend/cpu/row_arithmetic.hpp"
#include "network/kernels/embed.hpp"
#include "network/kernels/row_tasks.hpp"
#include "network/models/tensor_shards.hpp"
#include "network/parallel/rank_group.hpp"

#include <algorithm>
#include <vector>

namespace cogen::cpu {

namespace {

activations written_by(const kernels::activation_operands& operands) {
  return {.data = operands.out.data, .rows = operands.rows, .columns = operands.width, .stride = operands.out.stride};
}

/// Adds the vectors of the step's positions. x [step.tokens(), hidden]
void add_positions(const forward_context& context, const parts::embedding<forms>& embeddings, const activations& x) {
  kernels::for_each_token(*context.run.workers, context.rows,
                          [&](const kernels::token_rows& row, std::int64_t token_index) {
                            const auto index = static_cast<std::size_t>(&row - context.rows.data());
                            const bool is_second = !context.seconds.empty() && token_index >= context.seconds[index];
                            const auto place = row.offset + token_index + (is_second ? embeddings.second_text : 0);
                            const float* position = embeddings.positions.data() + place * x.columns;
                            float* target = x.row(row.first + token_index);
                            for (std::int64_t column = 0; column < x.columns; ++column)
                              target[column] += position[column];
                          });
}

}  // namespace

activations operators::keep(const activations& x) const { return outputs_ ? cpu::keep(*outputs_, x) : x; }

activations operators::embed(const parts::embedding<forms>& embeddings, std::span<const token> tokens,
                             std::int64_t hidden) const {
  const auto rows = static_cast<std::int64_t>(tokens.size());
  const auto x = context_.space.take(rows, hidden);
  const auto scratch = this->scratch();
  const auto found = embeddings.to_hidden ? context_.space.take(rows, embeddings.width) : x;
  find_vectors(embeddings, tokens, found);
  if (embeddings.to_hidden) embeddings.to_hidden(context_, found, x);
  if (!embeddings.positions.empty()) add_positions(context_, embeddings, x);
  if (embeddings.after) (*embeddings.after)(context_, x, x);
  return x;
}

/// Vectors of other ranks' tokens are zeros until all ranks' are added.
void operators::find_vectors(const parts::embedding<forms>& embeddings, std::span<const token> tokens,
                             const activations& out) const {
  const auto& own = embeddings.vocabulary;
  if (!own) return kernels::embed(context_.run, *embeddings.table, tokens, out.data, out.stride, embeddings.scale);
  const auto scratch = this->scratch();
  const auto is_own = [&](token id) { return id >= own.first && id < own.first + own.count; };
  const auto rows = context_.space.take_integers(out.rows);
  std::ranges::transform(tokens, rows.begin(),
                         [&](token id) { return is_own(id) ? id - static_cast<token>(own.first) : 0; });
  kernels::embed(context_.run, *embeddings.table, rows, out.data, out.stride, embeddings.scale);
  for (std::size_t row = 0; row < tokens.size(); ++row)
    if (!is_own(tokens[row])) std::fill_n(out.row(static_cast<std::int64_t>(row)), out.columns, 0.0F);
  sum_over_ranks(out);
}

void operators::sum_over_ranks(const activations& x) const { context_.ranks->sum(x.numbers()); }

void operators::keep_embeddings(const activations& x) {
  beside_embeddings_ = context_.space.take(x.rows, 2 * x.columns);
  copy_rows(x, beside_embeddings_.columns_from(x.columns, x.columns));
}

activations operators::beside_embeddings(const activations& x) const {
  copy_rows(x, beside_embeddings_.columns_from(0, x.columns));
  return beside_embeddings_;
}

activations operators::norm_linear(const activations& x, const forms::norm& pre_norm, const projection& linear,
                                   std::int64_t outputs) const {
  return norm_linear(context_, x, pre_norm, linear, outputs);
}

activations operators::norm_linear(const forward_context& context, const activations& x, const forms::norm& pre_norm,
                                   const projection& linear, std::int64_t outputs) {
  const auto y = context.space.take(x.rows, outputs);
  if (!pre_norm) return linear(context, x, y), y;
  const arena::scope scratch(context.space);
  const auto normed = context.space.take(x.rows, x.columns);
  if (const auto rows = pre_norm->prologue(context, x, normed)) {
    linear(context, {normed, &*rows}, y);
  } else {
    (*pre_norm)(context, x, normed);
    linear(context, normed, y);
  }
  return y;
}

activations operators::mix(const activations& x, const forms::norm& pre_norm,
                           const parts::recurrent_mixer<forms>& part) const {
  return std::visit(
      [&](const auto& mixer) {
        const auto in = norm_linear(x, pre_norm, part.in, mixer.in_width());
        const auto decisions = part.decisions
                                   ? norm_linear(context_.exact(), x, pre_norm, part.decisions, mixer.decisions())
                                   : activations{};
        return mixer(context_, part.layer, in, decisions);
      },
      part.mixer);
}

activations operators::zeros_like(const activations& x) const {
  const auto rows = context_.space.take(x.rows, x.columns);
  std::fill_n(rows.data, rows.rows * rows.stride, 0.0F);
  return rows;
}

void operators::add_rows(const activations& rows, const parts::residual<forms::norm>& update,
                         const activations& x) const {
  add_result(
      context_, update, x, [&](const activations& out) { cpu::add_rows(context_, rows, 1, out); },
      [&](const activations& out) { copy_rows(rows, out); });
}

kernels::activation_operands operators::norm_activated(const activations& x, const forms::norm& pre_norm,
                                                       const projection& linear, const parts::activation& function,
                                                       std::int64_t intermediate) const {
  return activated(norm_linear(x, pre_norm, linear, function.gated ? 2 * intermediate : intermediate), function,
                   intermediate);
}

kernels::activation_operands operators::activated(const activations& up, const parts::activation& function,
                                                  std::int64_t intermediate) const {
  if (function.gate_scale != 1) scale_rows(context_, function.gate_scale, up.columns_from(0, intermediate));
  if (function.gate_cutoff) cut_off(context_, *function.gate_cutoff, up.columns_from(0, intermediate));
  return {.kind = function.kind,
          .x = up,
          .factor = {function.gated ? up.data + intermediate : nullptr, up.stride},
          .out = up,
          .rows = up.rows,
          .width = intermediate,
          .parameters = function.parameters.data()};
}

void operators::linear_add(const activations& y, const projection& linear, const parts::residual<forms::norm>& update,
                           const activations& x) const {
  linear_add(input(y), linear, update, x);
}

void operators::linear_add(const kernels::activation_operands& y, const projection& linear,
                           const parts::residual<forms::norm>& update, const activations& x) const {
  const kernels::activated_rows rows(context_.run, y);
  linear_add(input(written_by(y), &rows), linear, update, x);
}

void operators::linear_add(const input& y, const projection& linear, const parts::residual<forms::norm>& update,
                           const activations& x) const {
  if (linear.is_shard) {
    const auto scratch = this->scratch();
    const auto sum = context_.space.take(x.rows, x.columns);
    linear(context_, y, sum);
    sum_over_ranks(sum);
    return add_rows(sum, update, x);
  }
  add_result(
      context_, update, x, [&](const activations& out) { linear.add(context_, y, out); },
      [&](const activations& out) { linear(context_, y, out); });
}

void operators::cache_encoder_input(const parts::cross_attention<forms>& part, const forms::norm& pre_norm,
                                    const activations& x) const {
  const auto scratch = this->scratch();
  const auto kv = norm_linear(x, pre_norm, part.kv, 2 * part.heads.kv_width());
  part.heads.cache_encoder_input(context_, part.layer, kv);
}

activations operators::normed(const activations& x, const forms::norm& norm) const {
  if (!norm) return x;
  const auto y = context_.space.take(x.rows, x.columns);
  (*norm)(context_, x, y);
  return y;
}

activations operators::copy_kept(const activations& x) const {
  if (!outputs_) return x;
  const auto kept = context_.space.take(static_cast<std::int64_t>(outputs_->size()), x.columns);
  for (std::int64_t row = 0; row < kept.rows; ++row)
    std::copy_n(x.row((*outputs_)[static_cast<std::size_t>(row)]), x.columns, kept.row(row));
  return kept;
}

activations operators::join(const activations& embedded, const activations& x, const parts::mtp<forms>& layer) const {
  const auto joined = context_.space.take(x.rows, x.columns);
  const auto scratch = this->scratch();
  const auto both = context_.space.take(x.rows, 2 * x.columns);
  (*layer.embedding_norm)(context_, embedded, both.columns_from(0, x.columns));
  (*layer.hidden_norm)(context_, x, both.columns_from(x.columns, x.columns));
  layer.projection(context_, both, joined);
  return joined;
}

void operators::score(const activations& x, const forms::norm& pre_norm, const parts::head<forms>& lm_head,
                      const activations& logits) const {
  const auto scratch = this->scratch();
  auto hidden = x;
  if (pre_norm) {
    hidden = context_.space.take(x.rows, x.columns);
    (*pre_norm)(context_, x, hidden);
  }
  if (lm_head.to_width) hidden = norm_linear(hidden, {}, lm_head.to_width, lm_head.width);
  const auto own = lm_head.vocabulary ? context_.space.take(logits.rows, lm_head.vocabulary.count) : logits;
  lm_head.product(context_, hidden, own);
  if (lm_head.scale != 1) scale_rows(context_, lm_head.scale, own);
  if (lm_head.softcap > 0) cap(context_, own, lm_head.softcap);
  if (context_.ranks) gather_logits(own, logits);
}

void operators::gather_logits(const activations& own, const activations& logits) const {
  const auto scratch = this->scratch();
  const auto tensor = context_.ranks->tensor();
  std::vector<activations> parts;
  std::vector<std::span<float>> received;
  const auto shard_of = [&](int rank) { return models::logits_columns(logits.columns, {rank, tensor.count}); };
  for (int rank = 0; context_.ranks->gathers() && rank < tensor.count; ++rank) {
    parts.push_back(context_.space.take(logits.rows, shard_of(rank).count));
    received.push_back(parts.back().numbers());
  }
  context_.ranks->gather(own.numbers(), received);
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    const auto [first, count, total] = shard_of(static_cast<int>(rank));
    copy_rows(parts[rank], logits.columns_from(first, count));
  }
}

}  // namespace cogen::cpu
