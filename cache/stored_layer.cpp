#include "stored_layer.hpp"

#include "view_rows.hpp"

#include <utility>

namespace cogen::cache {

stored_layer::stored_layer(const kv_cache_spec& shape, scalar type, const slot_table& table,
                           const attention_span& attention_span, std::shared_ptr<token_storage> storage,
                           const block_part& part)
    : layer(shape, type, table, attention_span), storage_(std::move(storage)), part_(part) {}

void stored_layer::reserve(const step& step) {
  check_room(step);
  storage_->reserve(step);
}

std::optional<kv_view> stored_layer::view(int slot, int kv_length) const {
  kv_view view = view_over(*this, part_, storage_->layout().stride);
  view.ranges = storage_->ranges(slot, kv_length, view.range);
  for (int i = 0; i < view.ranges; ++i) view.range[i].data += part_.offset;
  return view;
}

void stored_layer::append(const step& step, const head_rows& k, const head_rows& v) {
  check_new(step, k, v);
  write_step(*this, step, k, v);
}

keys_values stored_layer::to_dense(int slot, int length) const {
  const kv_view tokens = *view(slot, length);
  return read_extent(slot, length, [&](int begin, int end) { return read_tokens(tokens, begin, end); });
}

}  // namespace cogen::cache
