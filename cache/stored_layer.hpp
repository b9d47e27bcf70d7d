#pragma once

#include "token_storage.hpp"

#include <cogen/extend/kv_layer.hpp>

#include <memory>

namespace cogen::cache {

/// A layer that keeps its tokens in full precision in one part of a storage, which it may share.
class stored_layer final : public layer {
 public:
  /// `attention_span` gives the view's window, chunk and sinks.
  stored_layer(const kv_cache_spec& shape, scalar type, const slot_table& table, const attention_span& attention_span,
               std::shared_ptr<token_storage> storage, const block_part& part);

  const void* storage() const noexcept override { return storage_.get(); }
  int max_sequence_length() const noexcept override { return storage_->max_sequence_length(); }
  int max_rollback_tokens() const noexcept override { return storage_->max_rollback_tokens(); }
  int max_step_tokens() const noexcept override { return storage_->max_step_tokens(); }
  void reserve(const step& step) override;
  std::optional<kv_view> view(int slot, int kv_length) const override;
  void append(const step& step, const head_rows& k, const head_rows& v) override;
  keys_values to_dense(int slot, int length) const override;
  kv_extent mask_sizes(int slot, int q_length) const override { return extent(slots().length(slot), q_length); }
  bool can_truncate(int slot, int length) const override { return storage_->can_truncate(slot, length); }
  void truncate(int slot, int length) override { storage_->truncate(slot, length); }
  void release(int slot, int length) override { storage_->release(slot, length); }
  void clear(int slot) override { storage_->truncate(slot, 0); }
  void share_prefix(int slot, int source, int length) override { storage_->share_prefix(slot, source, length); }
  void fork(const slot_fork& fork) override { storage_->fork(fork); }
  void copy(int source, int target, int begin, int end) override { storage_->copy(source, target, begin, end); }
  void take_checkpoint(int slot) override { storage_->take_checkpoint(slot); }
  void drop_checkpoint(int slot, int length) override { storage_->drop_checkpoint(slot, length); }
  std::int64_t exported_bytes(int length) const override { return storage_->exported_bytes(length); }
  std::vector<exported_run> exported_runs(int length) const override { return storage_->exported_runs(length, type()); }
  bool has_finite_numbers(std::span<const std::byte> exported, int length) const override {
    return are_finite(storage_->exported_runs(length, type()), exported);
  }
  slot_footprint compressed_terms() const override { return storage_->compressed_terms(type()); }
  void export_slot(int slot, std::span<std::byte> output, std::vector<byte_copy>& later) const override {
    storage_->export_slot(slot, output.data(), later);
  }
  void import_slot(int slot, int length, std::span<const std::byte> input, std::vector<byte_copy>& later) override {
    storage_->import_slot(slot, length, input.data(), later);
  }
  slot_footprint footprint_terms() const override { return storage_->footprint_terms(); }
  std::int64_t committed_bytes() const override { return storage_->committed_bytes(); }

 private:
  std::shared_ptr<token_storage> storage_;
  block_part part_;
};

}  // namespace cogen::cache
