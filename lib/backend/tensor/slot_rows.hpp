#pragma once

#include "backend/operators.hpp"

#include <ATen/core/Tensor.h>

namespace cogen::device {

/// Rows of a step as a recorded one sees them: which of them are padding, the device alone knows. A padding row does
/// what the first row does, so that what both write is the same.
struct slot_rows {
  /// slots [rows] int32, as in step_rows
  explicit slot_rows(const at::Tensor& slots);

  /// Of a tensor with a row for each of them.
  at::Tensor of(const at::Tensor& rows) const;

  at::Tensor is_padding;  ///< [rows]
  at::Tensor sources;     ///< [rows] int64, whose work it does
  at::Tensor slots;       ///< [rows] int64, in which it does that
};

/// From and to the states of the rows' slots: states [slots, numbers], out [tokens, width].
///
/// Calls mix(take, state) for all rows of a single token together, and for each prompt. Of a step's rows, take(rows)
/// are those of the sequences, [sequences, tokens, …]; state [sequences, numbers] is updated in place; the result is
/// [sequences, tokens, width].
template <class Mix>
void mix_sequences(const step_rows& rows, const at::Tensor& states, const at::Tensor& out, const Mix& mix) {
  if (rows.single > 0) {
    const auto first = [&](const at::Tensor& of) { return of.narrow(0, 0, rows.single); };
    const slot_rows own(first(rows.slots));
    const auto is_new = own.of(first(rows.positions)) == 0;
    const auto state = states.index_select(0, own.slots).masked_fill_(is_new.unsqueeze(1), 0);
    const auto made = mix([&](const at::Tensor& of) { return own.of(first(of)).unsqueeze(1); }, state);
    states.index_copy_(0, own.slots, state);
    first(out).copy_(made.squeeze(1).masked_fill(own.is_padding.unsqueeze(1), 0));
  }
  auto first = rows.single;
  for (const auto& prompt : rows.prompts) {
    const auto take = [&](const at::Tensor& of) { return of.narrow(0, first, prompt.count).unsqueeze(0); };
    const auto state = states.narrow(0, prompt.slot, 1);
    if (prompt.held == 0) state.zero_();
    take(out).copy_(mix(take, state));
    first += prompt.count;
  }
}

}  // namespace cogen::device
