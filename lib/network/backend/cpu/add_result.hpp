#pragma once

#include "network/backend/cpu/forms.hpp"
#include "network/backend/cpu/row_arithmetic.hpp"

namespace cogen::cpu {

/// Adds a block's result to x as `how` says: calls add(x), or write(out) where something happens to it before.
template <class Add, class Write>
void add_result(const forward_context& context, const parts::residual<forms::norm>& how, const activations& x,
                const Add& add, const Write& write) {
  if (!how.after && how.scale == 1) {
    add(x);
  } else {
    const arena::scope scratch(context.space);
    const auto out = context.space.take(x.rows, x.columns);
    write(out);
    if (how.after && how.scale == 1) {
      how.after->add(context, out, x);
    } else {
      if (how.after) (*how.after)(context, out, out);
      add_rows(context, out, how.scale, x);
    }
  }
  if (how.post) (*how.post)(context, x, x);
  if (how.total != 1) scale_rows(context, how.total, x);
}

}  // namespace cogen::cpu
