#include "network/nn/device/device_cross_layer.hpp"

#include <utility>

namespace cogen::nn {

device_cross_layer::device_cross_layer(const cache::kv_cache_spec& shape, const cache::options& options,
                                       const cache::slot_table& slots, std::shared_ptr<device_kv> kv)
    : layer(shape, options.type, slots), kv_(std::move(kv)) {}

void device_cross_layer::advance(const cache::step& step) {
  for (const auto& row : step.rows()) kv_->tokens.set_encoder_length(row.slot, row.count);
}

void device_cross_layer::copy(int source, int target, int, int) {
  kv_->run([&] { kv_->tokens.copy_encoder_input(source, target); });
}

std::int64_t device_cross_layer::exported_bytes(int length) const {
  return static_cast<std::int64_t>(kv_->tokens.encoder_part(0, length).nbytes());
}

void device_cross_layer::export_slot(int slot, std::span<std::byte> output, std::vector<cache::byte_copy>&) const {
  const auto part = kv_->tokens.encoder_part(slot, kv_->tokens.encoder_length(slot));
  auto views = cache::tensors_of({part}, output);
  kv_->run([&] { views.front().copy_(part); });
}

void device_cross_layer::import_slot(int slot, int length, std::span<const std::byte> input,
                                     std::vector<cache::byte_copy>&) {
  const auto part = kv_->tokens.encoder_part(slot, length);
  const auto views = cache::tensors_of({part}, input);
  kv_->run([&] { part.copy_(views.front()); });
  kv_->tokens.set_encoder_length(slot, length);
}

void device_cross_layer::append(const cache::step&, const cache::head_rows&, const cache::head_rows&) {
  refuse_elsewhere(*kv_);
}

cache::keys_values device_cross_layer::to_dense(int, int) const { refuse_elsewhere(*kv_); }

}  // namespace cogen::nn
