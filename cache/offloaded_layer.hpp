#pragma once

#include "layer_prefetcher.hpp"

#include <cogen/extend/kv_layer.hpp>

#include <memory>

namespace cogen::cache {

/// A layer whose tokens (only the quantized ones, if it quantizes) stay in host memory and are copied to the device
/// buffer while it computes.
///
/// Within a step a view is valid until the next layer is read, because the layer after that reuses the buffer. Outside
/// of a step, or after an error in it, views point to host memory.
class offloaded_layer final : public layer {
 public:
  offloaded_layer(std::unique_ptr<layer> host, std::shared_ptr<layer_prefetcher> prefetcher);
  ~offloaded_layer() override;

  /// Appends copies of a row's older tokens to the buffer.
  void add_older(const step_row& row, std::vector<byte_copy>& copies) const;

  const void* storage() const noexcept override { return host_->storage(); }
  int max_sequence_length() const noexcept override { return host_->max_sequence_length(); }
  int max_rollback_tokens() const noexcept override { return host_->max_rollback_tokens(); }
  int max_step_tokens() const noexcept override { return host_->max_step_tokens(); }
  void reserve(const step& step) override;
  void settle() override;
  void advance(const step& step) override;
  std::optional<kv_view> view(int slot, int kv_length) const override;
  void written(const step& step) override;
  void append(const step& step, const head_rows& k, const head_rows& v) override;
  keys_values to_dense(int slot, int length) const override;
  mask rule() const override { return host_->rule(); }
  kv_extent mask_sizes(int slot, int q_length) const override { return host_->mask_sizes(slot, q_length); }
  bool can_truncate(int slot, int length) const override { return host_->can_truncate(slot, length); }
  void truncate(int slot, int length) override;
  void release(int slot, int length) override;
  void clear(int slot) override;
  void share_prefix(int slot, int source, int length) override { host_alone().share_prefix(slot, source, length); }
  void fork(const slot_fork& fork) override { host_alone().fork(fork); }
  void copy(int source, int target, int begin, int end) override { host_alone().copy(source, target, begin, end); }
  void take_checkpoint(int slot) override { host_alone().take_checkpoint(slot); }
  void drop_checkpoint(int slot, int length) override { host_->drop_checkpoint(slot, length); }
  std::int64_t exported_bytes(int length) const override { return host_->exported_bytes(length); }
  std::vector<exported_run> exported_runs(int length) const override { return host_->exported_runs(length); }
  bool has_finite_numbers(std::span<const std::byte> exported, int length) const override {
    return host_->has_finite_numbers(exported, length);
  }
  slot_footprint compressed_terms() const override { return host_->compressed_terms(); }
  void export_slot(int slot, std::span<std::byte> output, std::vector<byte_copy>& later) const override;
  void import_slot(int slot, int length, std::span<const std::byte> input, std::vector<byte_copy>& later) override {
    host_alone().import_slot(slot, length, input, later);
  }
  slot_footprint footprint_terms() const override;
  std::int64_t committed_bytes() const override;

 private:
  /// Host memory, once no transfer uses it.
  layer& host_alone();

  /// Device blocks that a slot of `length` tokens needs besides those of its parent.
  int own_blocks(int slot, int length) const;

  /// Where block 0 of one of a view's moving ranges would be in the buffer: a parent's blocks are in the parent's
  /// place, and a range's own blocks start at the slot's place.
  std::byte* device(int slot, const kv_view& view, const kv_range& range) const;
  kv_view device_view(int slot, int kv_length) const;
  void add_new(const step_row& row, std::vector<byte_copy>& copies) const;

  std::unique_ptr<layer> host_;
  std::shared_ptr<layer_prefetcher> prefetcher_;
};

}  // namespace cogen::cache
