#include "network/backend/tensor/slot_rows.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/index_select.h>

namespace cogen::device {

slot_rows::slot_rows(const at::Tensor& step_slots)
    : is_padding(step_slots < 0),
      sources(at::arange(step_slots.size(0), step_slots.options().dtype(at::kLong)).masked_fill_(is_padding, 0)),
      slots(select(step_slots).to(at::kLong).clamp_min_(0)) {}

at::Tensor slot_rows::select(const at::Tensor& rows) const { return at::index_select(rows, 0, sources); }

}  // namespace cogen::device
