#include "network/backend/tensor/kept_tokens.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/List.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/index.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/where.h>

#include <optional>

namespace cogen::device {

namespace {

/// Numbers of 8 bits, which LibTorch's operators do not index, as bytes.
at::Tensor indexable(const at::Tensor& numbers) {
  return numbers.element_size() == 1 ? numbers.view(at::kByte) : numbers;
}

at::Tensor by_heads(const at::Tensor& tokens) { return tokens.to(at::kFloat).transpose(1, 2); }

}  // namespace

at::Tensor tokens_of_slots(const at::Tensor& plane, const at::Tensor& slots) {
  return by_heads(at::index_select(indexable(plane), 0, slots).view(plane.scalar_type()));
}

at::Tensor held_tokens_of_slots(const at::Tensor& plane, const at::Tensor& slots, const at::Tensor& newest,
                                std::int64_t places) {
  const auto last = newest.to(at::kLong).unsqueeze(1);
  const auto held = at::minimum(at::arange(places, last.options()).unsqueeze(0), last);
  const c10::List<std::optional<at::Tensor>> where({slots.unsqueeze(1), held});
  return by_heads(at::index(indexable(plane), where).view(plane.scalar_type()));
}

at::Tensor tokens_of_slot(const at::Tensor& plane, std::int64_t slot, std::int64_t first, std::int64_t count) {
  return by_heads(plane.narrow(0, slot, 1).narrow(1, first, count));
}

at::Tensor positions_in(const cache::device_layer& layer, const at::Tensor& newest) {
  const auto places = at::arange(layer.keys.size(1), newest.options().dtype(at::kLong)).unsqueeze(0);
  if (layer.ring == 0) return places.expand({newest.size(0), -1});
  const auto last = newest.to(at::kLong).unsqueeze(1);
  const auto in_ring = last - at::remainder(last - places, layer.ring);
  const auto held = in_ring.masked_fill(in_ring < layer.span.sinks, -1);
  return at::where(places < layer.span.sinks, places, held);
}

at::Tensor places_of(const cache::device_layer& layer, const at::Tensor& positions) {
  if (layer.ring == 0) return positions;
  const auto sinks = layer.span.sinks;
  return at::where(positions < sinks, positions, at::remainder(positions - sinks, layer.ring) + sinks);
}

void store(const at::Tensor& tokens, const at::Tensor& plane, const slot_rows& rows, const at::Tensor& places) {
  const auto numbers = rows.select(tokens).to(plane.scalar_type());
  const c10::List<std::optional<at::Tensor>> where({rows.slots, rows.select(places).to(at::kLong)});
  indexable(plane).index_put_(where, indexable(numbers));
}

}  // namespace cogen::device
