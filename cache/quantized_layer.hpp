#pragma once

#include "token_storage.hpp"

#include <cogen/extend/kv_codec.hpp>
#include <cogen/extend/kv_layer.hpp>

#include <memory>

namespace cogen::cache {

/// Shared by quantized layers: quantized blocks, and a ring of the newest tokens in full precision.
struct quantized_storage {
  std::shared_ptr<token_storage> quantized;
  std::shared_ptr<token_storage> newest;
  quantization scheme;
};

/// A layer that quantizes all blocks but the newest, each once. Whether a query reads a block quantized follows from
/// the query's position only (quantized_tokens); meanwhile both forms exist.
class quantized_layer final : public layer {
 public:
  quantized_layer(const kv_cache_spec& shape, scalar type, const slot_table& table,
                  const attention_span& attention_span, std::shared_ptr<quantized_storage> storage,
                  const block_part& quantized, const block_part& newest);

  const void* storage() const noexcept override { return storage_.get(); }
  int max_sequence_length() const noexcept override { return storage_->quantized->max_sequence_length(); }
  int max_rollback_tokens() const noexcept override;
  int max_step_tokens() const noexcept override;
  void reserve(const step& step) override;
  std::optional<kv_view> view(int slot, int kv_length) const override;
  void written(const step& step) override;
  void append(const step& step, const head_rows& k, const head_rows& v) override;

  /// float32
  keys_values to_dense(int slot, int length) const override;

  kv_extent mask_sizes(int slot, int q_length) const override { return extent(slots().length(slot), q_length); }
  bool can_truncate(int slot, int length) const override;
  void truncate(int slot, int length) override;
  void release(int slot, int length) override;
  void clear(int slot) override { truncate(slot, 0); }
  void share_prefix(int slot, int source, int length) override;
  void fork(const slot_fork& fork) override;
  void copy(int source, int target, int begin, int end) override;
  void take_checkpoint(int slot) override;
  void drop_checkpoint(int slot, int length) override;
  std::int64_t exported_bytes(int length) const override;
  bool has_finite_numbers(std::span<const std::byte> exported, int length) const override;
  slot_footprint compressed_terms() const override;
  void export_slot(int slot, std::span<std::byte> output, std::vector<byte_copy>& later) const override;
  void import_slot(int slot, int length, std::span<const std::byte> input, std::vector<byte_copy>& later) override;
  slot_footprint footprint_terms() const override;
  std::int64_t committed_bytes() const override;

 private:
  bool block_is_finite(const std::byte* block) const;
  keys_values read(const kv_view& view, int quantized, int begin, int end) const;

  std::shared_ptr<quantized_storage> storage_;
  block_part quantized_;
  block_part newest_;
};

}  // namespace cogen::cache
