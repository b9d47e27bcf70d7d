#pragma once

#include "network/backend/operators.hpp"

#include <ATen/core/Tensor.h>

namespace cogen::device {

/// Rows of a step as a recorded one sees them: which of them are padding, the device alone knows. A padding row does
/// what the first row does, so that what both write is the same.
struct slot_rows {
  /// step_slots [rows] int32, as in step_rows
  explicit slot_rows(const at::Tensor& step_slots);

  /// Of a tensor with a row for each of them.
  at::Tensor select(const at::Tensor& rows) const;

  at::Tensor is_padding;  ///< [rows]
  at::Tensor sources;     ///< [rows] int64, whose work it does
  at::Tensor slots;       ///< [rows] int64, in which it does that
};

}  // namespace cogen::device
