#pragma once

#include "state_storage.hpp"

#include <memory>

namespace cogen::cache {

/// A recurrent layer: no tokens, one state for each slot.
class state_layer final : public layer {
 public:
  state_layer(const kv_cache_spec& shape, const slot_table& table, std::shared_ptr<state_storage> storage,
              std::size_t index)
      : layer(shape, scalar::f32, table), storage_(std::move(storage)), index_(index) {}

  const void* storage() const noexcept override { return storage_.get(); }
  int max_rollback_tokens() const noexcept override { return 0; }
  int max_dropped_drafts() const noexcept override { return storage_->max_drafts(); }
  void reserve(const step& step) override { storage_->reserve(step); }
  void advance(const step& step) override { storage_->advance(step); }
  std::optional<state_view> state(int slot, int draft) const override { return storage_->view(slot, index_, draft); }

  /// Both throw std::logic_error.
  void append(const step& step, const head_rows& k, const head_rows& v) override;
  keys_values to_dense(int slot, int length) const override;

  kv_extent mask_sizes(int, int) const override { return {}; }
  bool can_truncate(int slot, int length) const override { return storage_->can_truncate(slot, length); }
  void truncate(int slot, int length) override { storage_->truncate(slot, length); }
  void release(int slot, int) override { storage_->truncate(slot, 0); }
  void clear(int slot) override { storage_->truncate(slot, 0); }
  void share_prefix(int slot, int source, int length) override { storage_->copy(source, slot, length); }
  void fork(const slot_fork& fork) override { storage_->copy(fork.source, fork.slot, fork.end); }
  void copy(int source, int target, int, int end) override { storage_->copy(source, target, end); }
  void take_checkpoint(int slot) override { storage_->take_checkpoint(slot); }
  void drop_checkpoint(int slot, int length) override { storage_->drop_checkpoint(slot, length); }
  std::int64_t exported_bytes(int length) const override { return storage_->exported_bytes(length); }
  void export_slot(int slot, std::span<std::byte> output, std::vector<byte_copy>&) const override {
    storage_->export_slot(slot, output.data());
  }
  void import_slot(int slot, int, std::span<const std::byte> input, std::vector<byte_copy>&) override {
    storage_->import_slot(slot, input.data());
  }
  slot_footprint footprint_terms() const override { return storage_->footprint_terms(); }
  std::int64_t committed_bytes() const override { return storage_->committed_bytes(); }

 private:
  std::shared_ptr<state_storage> storage_;
  std::size_t index_;
};

}  // namespace cogen::cache
