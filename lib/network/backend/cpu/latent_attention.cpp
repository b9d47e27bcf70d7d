#include "network/backend/cpu/operators.hpp"
#include "network/kernels/row_tasks.hpp"

#include <algorithm>

namespace cogen::cpu {

namespace {

using latent_attention = parts::latent_attention<forms>;

/// Copies what is rotated, of each head's query and of the shared key behind them, to where attention reads it.
void copy_rotated(const forward_context& context, const head_columns& q, const activations& k,
                  const head_columns& rotated) {
  const auto heads = q.rows.columns / q.stride;
  kernels::for_each_row(*context.run.workers, k.rows, (heads + 1) * k.columns, [&](std::int64_t row) {
    for (std::int64_t head = 0; head < heads; ++head)
      std::copy_n(q.columns_of(head).row(row), k.columns, rotated.columns_of(head).row(row));
    std::copy_n(k.row(row), k.columns, rotated.columns_of(heads).row(row));
  });
}

}  // namespace

activations operators::attend_to_latents(const activations& x, const forms::norm& pre_norm,
                                         const latent_attention& part) const {
  const auto& spec = part.spec;
  const auto values = context_.space.take(x.rows, part.out_width());
  const auto scratch = this->scratch();
  const auto in = norm_linear(x, pre_norm, part.in, part.in_width());
  const auto q_in = in.columns_from(0, part.q_in());
  const auto q = part.q ? norm_linear(q_in, part.q_norm, part.q, part.q_width()) : q_in;

  const auto rows = context_.space.take(x.rows, std::int64_t{spec.heads + 1} * spec.row_dim());
  const head_columns latents{rows, spec.row_dim(), 0, spec.kv_rank};
  project_heads(context_, part.absorb, {q, spec.query_dim(), 0, spec.nope_dim}, latents);
  (*part.kv_norm)(context_, in.columns_from(part.q_in(), spec.kv_rank), latents.columns_of(spec.heads));
  copy_rotated(context_, {q, spec.query_dim(), spec.nope_dim, spec.rope_dim},
               in.columns_from(part.q_in() + spec.kv_rank, spec.rope_dim),
               {rows, spec.row_dim(), spec.kv_rank, spec.rope_dim});

  const auto sums = attend(part.heads, part.layer, rows);
  project_heads(context_, part.expand, {sums, spec.row_dim(), 0, spec.kv_rank},
                {values, spec.value_dim, 0, spec.value_dim});
  return values;
}

}  // namespace cogen::cpu
