#include "backend/cpu/operators.hpp"
#include "kernels/row_tasks.hpp"

#include <algorithm>

namespace cogen::cpu {

namespace {

using latent_attention = parts::latent_attention<forms>;

void copy_columns(const forward_context& context, const activations& from, const activations& to) {
  kernels::for_each_row(*context.run.workers, from.rows, from.columns,
                        [&](std::int64_t row) { std::copy_n(from.row(row), from.columns, to.row(row)); });
}

/// The part of each head among heads that lie side by side.
activations of_head(const activations& all, std::int64_t head, std::int64_t stride, std::int64_t first,
                    std::int64_t count) {
  return all.columns_from(head * stride + first, count);
}

/// Each head's query in latent space, and its part that is rotated behind it.
void absorb(const forward_context& context, const latent_attention& part, const activations& q,
            const activations& rows) {
  const auto& how = part.how;
  for (int head = 0; head < how.heads; ++head) {
    part.absorb[static_cast<std::size_t>(head)](context, of_head(q, head, how.query_dim(), 0, how.nope_dim),
                                                of_head(rows, head, how.row_dim(), 0, how.kv_rank));
    copy_columns(context, of_head(q, head, how.query_dim(), how.nope_dim, how.rope_dim),
                 of_head(rows, head, how.row_dim(), how.kv_rank, how.rope_dim));
  }
}

}  // namespace

activations operators::attend_to_latents(const activations& x, const forms::norm& before,
                                         const latent_attention& part) const {
  const auto& how = part.how;
  const auto values = context_.space.take(x.rows, part.out_width());
  const auto scratch = this->scratch();
  const auto in = norm_linear(x, before, part.in, part.in_width());
  const auto q_in = in.columns_from(0, part.q_in());
  const auto q = part.q ? norm_linear(q_in, part.q_norm, part.q, part.q_width()) : q_in;

  const auto rows = context_.space.take(x.rows, std::int64_t{how.heads + 1} * how.row_dim());
  absorb(context_, part, q, rows);
  const auto latent = in.columns_from(part.q_in(), how.kv_rank);
  (*part.kv_norm)(context_, latent, of_head(rows, how.heads, how.row_dim(), 0, how.kv_rank));
  copy_columns(context_, in.columns_from(part.q_in() + how.kv_rank, how.rope_dim),
               of_head(rows, how.heads, how.row_dim(), how.kv_rank, how.rope_dim));

  const auto sums = attend(part.heads, part.layer, rows);
  for (int head = 0; head < how.heads; ++head)
    part.expand[static_cast<std::size_t>(head)](context_, of_head(sums, head, how.row_dim(), 0, how.kv_rank),
                                                of_head(values, head, how.value_dim, 0, how.value_dim));
  return values;
}

}  // namespace cogen::cpu
