#pragma once

#include "token_storage.hpp"

#include <cogen/cache/codec.hpp>
#include <cogen/cache/layer.hpp>

#include <memory>

namespace cogen::cache {

/// What quantised layers share: packed blocks, and a ring of the newest tokens in full precision.
struct quantised_storage {
  std::shared_ptr<token_storage> packed;
  std::shared_ptr<token_storage> newest;
  quantisation how;
};

/// A layer of tokens of which all blocks but the newest are packed, each once. Which ones a query reads packed follows
/// from its position alone (packed_tokens); meanwhile both forms exist.
class quantised_layer final : public layer {
 public:
  quantised_layer(const layer_shape& shape, scalar type, const slot_table& table, const sight& sight,
                  std::shared_ptr<quantised_storage> storage, const block_part& packed, const block_part& newest);

  const void* storage() const noexcept override { return storage_.get(); }
  int max_length() const noexcept override { return storage_->packed->max_length(); }
  int slack() const noexcept override;
  int longest_step() const noexcept override;
  void reserve(const step& step) override;
  std::optional<kv_view> view(int slot, int kv_length) const override;
  void written(const step& step) override;
  void append(const step& step, const at::Tensor& k, const at::Tensor& v) override;

  /// float32
  keys_values materialise(int slot, int length) const override;

  kv_extent mask_sizes(int slot, int q_length) const override { return extent(slots().length(slot), q_length); }
  bool can_truncate(int slot, int length) const override;
  void truncate(int slot, int length) override;
  void trim(int slot, int length) override;
  void clear(int slot) override { truncate(slot, 0); }
  void adopt(int slot, int of, int length) override;
  void fork(int slot, const fork_origin& origin) override;
  void copy(int from, int to, int begin, int end) override;
  void take_snapshot(int slot) override;
  void drop_snapshot(int slot, int length) override;
  std::int64_t exported_bytes(int length) const override;
  memory_terms packed_terms() const override;
  void export_slot(int slot, std::span<std::byte> into, std::vector<byte_copy>& later) const override;
  void import_slot(int slot, int length, std::span<const std::byte> from, std::vector<byte_copy>& later) override;
  memory_terms footprint_terms() const override;
  std::int64_t committed_bytes() const override;

 private:
  keys_values read(const kv_view& view, int packed, int begin, int end) const;

  std::shared_ptr<quantised_storage> storage_;
  block_part packed_;
  block_part newest_;
};

}  // namespace cogen::cache
