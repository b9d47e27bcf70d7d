#pragma once

#include "network/backend/cpu/forms.hpp"
#include "network/backend/cpu/row_arithmetic.hpp"

namespace cogen::cpu {

/// Adds a block's result to x as `update` says: calls add(x), or write(out) where something happens to it before.
template <class Add, class Write>
void add_result(const forward_context& context, const parts::residual<forms::norm>& update, const activations& x,
                const Add& add, const Write& write) {
  if (!update.after && update.scale == 1) {
    add(x);
  } else {
    const arena::scope scratch(context.space);
    const auto out = context.space.take(x.rows, x.columns);
    write(out);
    if (update.after && update.scale == 1) {
      update.after->add(context, out, x);
    } else {
      if (update.after) (*update.after)(context, out, out);
      add_rows(context, out, update.scale, x);
    }
  }
  if (update.post) (*update.post)(context, x, x);
  if (update.total != 1) scale_rows(context, update.total, x);
}

}  // namespace cogen::cpu
