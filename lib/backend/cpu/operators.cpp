#include "backend/cpu/operators.hpp"

#include "backend/cpu/add_result.hpp"
#include "backend/cpu/row_arithmetic.hpp"
#include "kernels/embed.hpp"
#include "kernels/row_tasks.hpp"

#include <algorithm>

namespace cogen::cpu {

namespace {

activations written_by(const kernels::activation_operands& made) {
  return {.data = made.out, .rows = made.rows, .columns = made.width, .stride = made.out_stride};
}

/// Adds the vectors of the step's positions. x [step.tokens(), hidden]
void add_positions(const forward_context& context, const parts::embedding<forms>& from, const activations& x) {
  kernels::for_each_token(*context.run.workers, context.rows, [&](const kernels::token_rows& row, std::int64_t at) {
    const auto index = static_cast<std::size_t>(&row - context.rows.data());
    const bool is_second = !context.seconds.empty() && at >= context.seconds[index];
    const auto place = row.offset + at + (is_second ? from.second_text : 0);
    const float* position = from.positions.data() + place * x.columns;
    float* to = x.row(row.first + at);
    for (std::int64_t column = 0; column < x.columns; ++column) to[column] += position[column];
  });
}

}  // namespace

activations operators::keep(const activations& x) const { return outputs_ ? cpu::keep(*outputs_, x) : x; }

activations operators::embed(const parts::embedding<forms>& from, std::span<const token> tokens,
                             std::int64_t hidden) const {
  const auto rows = static_cast<std::int64_t>(tokens.size());
  const auto x = context_.space.take(rows, hidden);
  const auto scratch = this->scratch();
  const auto found = from.to_hidden ? context_.space.take(rows, from.width) : x;
  kernels::embed(context_.run, *from.table, tokens, found.data, found.stride, from.scale);
  if (from.to_hidden) from.to_hidden(context_, found, x);
  if (!from.positions.empty()) add_positions(context_, from, x);
  if (from.after) (*from.after)(context_, x, x);
  return x;
}

void operators::keep_embeddings(const activations& x) {
  beside_embeddings_ = context_.space.take(x.rows, 2 * x.columns);
  copy_rows(x, beside_embeddings_.columns_from(x.columns, x.columns));
}

activations operators::beside_embeddings(const activations& x) const {
  copy_rows(x, beside_embeddings_.columns_from(0, x.columns));
  return beside_embeddings_;
}

activations operators::norm_linear(const activations& x, const forms::norm& before, const projection& by,
                                   std::int64_t outputs) const {
  return norm_linear(context_, x, before, by, outputs);
}

activations operators::norm_linear(const forward_context& context, const activations& x, const forms::norm& before,
                                   const projection& by, std::int64_t outputs) {
  const auto y = context.space.take(x.rows, outputs);
  if (!before) return by(context, x, y), y;
  const arena::scope scratch(context.space);
  const auto normed = context.space.take(x.rows, x.columns);
  if (const auto rows = before->prologue(context, x, normed)) {
    by(context, {normed, &*rows}, y);
  } else {
    (*before)(context, x, normed);
    by(context, normed, y);
  }
  return y;
}

activations operators::mix(const activations& x, const forms::norm& before,
                           const parts::recurrent_mixer<forms>& by) const {
  return std::visit(
      [&](const auto& mixer) {
        const auto in = norm_linear(x, before, by.in, mixer.in_width());
        const auto decisions =
            by.decisions ? norm_linear(context_.exact(), x, before, by.decisions, mixer.decisions()) : activations{};
        return mixer(context_, by.layer, in, decisions);
      },
      by.mixer);
}

activations operators::zeros_like(const activations& x) const {
  const auto rows = context_.space.take(x.rows, x.columns);
  std::fill_n(rows.data, rows.rows * rows.stride, 0.0F);
  return rows;
}

void operators::add_rows(const activations& rows, const parts::residual<forms::norm>& how, const activations& x) const {
  add_result(
      context_, how, x, [&](const activations& out) { cpu::add_rows(context_, rows, 1, out); },
      [&](const activations& out) { copy_rows(rows, out); });
}

kernels::activation_operands operators::norm_activated(const activations& x, const forms::norm& before,
                                                       const projection& by, const parts::activation& how,
                                                       std::int64_t intermediate) const {
  return activated(norm_linear(x, before, by, how.gated ? 2 * intermediate : intermediate), how, intermediate);
}

kernels::activation_operands operators::activated(const activations& up, const parts::activation& how,
                                                  std::int64_t intermediate) const {
  if (how.gate_scale != 1) scale_rows(context_, how.gate_scale, up.columns_from(0, intermediate));
  if (how.gate_cutoff) cut_off(context_, *how.gate_cutoff, up.columns_from(0, intermediate));
  return {.kind = how.kind,
          .x = up.data,
          .x_stride = up.stride,
          .factor = how.gated ? up.data + intermediate : nullptr,
          .factor_stride = up.stride,
          .out = up.data,
          .out_stride = up.stride,
          .rows = up.rows,
          .width = intermediate,
          .parameters = how.parameters.data()};
}

void operators::linear_add(const activations& y, const projection& by, const parts::residual<forms::norm>& how,
                           const activations& x) const {
  linear_add(input(y), by, how, x);
}

void operators::linear_add(const kernels::activation_operands& y, const projection& by,
                           const parts::residual<forms::norm>& how, const activations& x) const {
  const kernels::activated_rows rows(context_.run, y);
  linear_add(input(written_by(y), &rows), by, how, x);
}

void operators::linear_add(const input& y, const projection& by, const parts::residual<forms::norm>& how,
                           const activations& x) const {
  add_result(
      context_, how, x, [&](const activations& out) { by.add(context_, y, out); },
      [&](const activations& out) { by(context_, y, out); });
}

void operators::cache_encoder_input(const parts::cross_attention<forms>& part, const forms::norm& before,
                                    const activations& x) const {
  const auto scratch = this->scratch();
  const auto kv = norm_linear(x, before, part.kv, 2 * part.heads.kv_width());
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

activations operators::join(const activations& embedded, const activations& x, const parts::mtp<forms>& by) const {
  const auto joined = context_.space.take(x.rows, x.columns);
  const auto scratch = this->scratch();
  const auto both = context_.space.take(x.rows, 2 * x.columns);
  (*by.embedding_norm)(context_, embedded, both.columns_from(0, x.columns));
  (*by.hidden_norm)(context_, x, both.columns_from(x.columns, x.columns));
  by.projection(context_, both, joined);
  return joined;
}

void operators::score(const activations& x, const forms::norm& before, const parts::head<forms>& by,
                      const activations& logits) const {
  const auto scratch = this->scratch();
  auto hidden = x;
  if (before) {
    hidden = context_.space.take(x.rows, x.columns);
    (*before)(context_, x, hidden);
  }
  if (by.to_width) hidden = norm_linear(hidden, {}, by.to_width, by.width);
  by.product(context_, hidden, logits);
  if (by.scale != 1) scale_rows(context_, by.scale, logits);
  if (by.softcap > 0) cap(context_, logits, by.softcap);
}

}  // namespace cogen::cpu
