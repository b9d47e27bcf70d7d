#pragma once

#include "block_storage.hpp"

#include <cogen/cache/layer.hpp>

#include <memory>

namespace cogen::cache {

/// A layer that attends to every earlier token and keeps its own in one part of a block storage, perhaps beside others.
class block_layer final : public layer {
 public:
  block_layer(const layer_shape& shape, scalar type, const slot_table& table, std::shared_ptr<block_storage> storage,
              const block_part& part);

  const void* storage() const noexcept override { return storage_.get(); }
  int max_length() const noexcept override { return storage_->max_length(); }
  void reserve(const step& step) override;
  std::optional<kv_view> view(int slot, int kv_length) const override;
  void append(const step& step, const at::Tensor& k, const at::Tensor& v) override;
  keys_values materialise(int slot, int length) const override;
  void truncate(int slot, int length) override { storage_->truncate(slot, length); }
  void clear(int slot) override { storage_->truncate(slot, 0); }
  void adopt(int slot, int of, int length) override;
  void copy(int from, int to, int begin, int end) override { storage_->copy(from, to, begin, end); }
  std::int64_t exported_bytes(int length) const override { return storage_->exported_bytes(length); }
  void export_slot(int slot, std::span<std::byte> into) const override { storage_->export_slot(slot, into.data()); }
  void import_slot(int slot, int length, std::span<const std::byte> from) override;
  memory_terms footprint_terms() const override { return storage_->footprint_terms(); }
  std::int64_t committed_bytes() const override { return storage_->committed_bytes(); }

 private:
  kv_view view_of(int slot, int kv_length) const;

  std::shared_ptr<block_storage> storage_;
  block_part part_;
};

}  // namespace cogen::cache
