#include "network/backend/tensor/slot_rows.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/index_select.h>

namespace cogen::device {

slot_rows::slot_rows(const at::Tensor& all)
    : is_padding(all < 0),
      sources(at::arange(all.size(0), all.options().dtype(at::kLong)).masked_fill_(is_padding, 0)),
      slots(of(all).to(at::kLong).clamp_min_(0)) {}

at::Tensor slot_rows::of(const at::Tensor& rows) const { return at::index_select(rows, 0, sources); }

}  // namespace cogen::device
