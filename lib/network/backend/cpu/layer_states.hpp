#pragma once

#include "network/backend/cpu/forward_context.hpp"

#include <span>
#include <type_traits>

namespace cogen::cpu {

/// Of each row, the tokens up to its drafts, with their states in one layer of the cache; with `draft` from 1 on, that
/// draft token of each row that has one. Valid until the next call. Throws std::logic_error if the layer keeps no
/// states.
std::span<const kernels::token_rows> rows_with_states(const forward_context& context, int layer, int draft);

/// Calls run(rows) for all tokens of the step, with their states in one layer: for those up to drafts, then for the
/// first drafts, and so on, so that a state is left after each token that may be the last to count.
template <class Run>
void for_each_state(const forward_context& context, int layer, Run run) {
  int draft = 0;
  for (auto rows = rows_with_states(context, layer, 0); !rows.empty(); rows = rows_with_states(context, layer, ++draft))
    run(rows);
}

/// The same by a kernel that takes rows.
template <class Operands>
void run_with_states(const forward_context& context, int layer,
                     void (*kernel)(const kernels::execution&, std::span<const kernels::token_rows>, const Operands&),
                     const std::type_identity_t<Operands>& operands) {
  for_each_state(context, layer, [&](auto rows) { kernel(context.run, rows, operands); });
}

}  // namespace cogen::cpu
