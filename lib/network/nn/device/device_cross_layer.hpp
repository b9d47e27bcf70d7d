#pragma once

#include "network/nn/device/device_kv_layer.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cogen::nn {

/// One layer of encoder inputs of a cache on a device. Their memory counts as that of the layers of tokens. Each call
/// has ended on the device when it returns.
class device_cross_layer final : public cache::layer {
 public:
  device_cross_layer(const cache::kv_cache_spec& shape, const cache::options& options, const cache::slot_table& slots,
                     std::shared_ptr<device_kv> kv);

  const void* storage() const noexcept override { return kv_.get(); }
  int max_sequence_length() const noexcept override { return kv_->tokens.max_encoder_length(); }

  void advance(const cache::step& step) override;
  void truncate(int slot, int length) override { kv_->tokens.set_encoder_length(slot, length); }
  void clear(int slot) override { truncate(slot, 0); }
  void copy(int source, int target, int begin, int end) override;

  std::int64_t exported_bytes(int length) const override;
  void export_slot(int slot, std::span<std::byte> output, std::vector<cache::byte_copy>& later) const override;
  void import_slot(int slot, int length, std::span<const std::byte> input,
                   std::vector<cache::byte_copy>& later) override;

  slot_footprint footprint_terms() const override { return {}; }
  std::int64_t committed_bytes() const override { return 0; }

  // Both throw std::invalid_argument: only encode() and forward() of a model on this device write and read tokens.
  void append(const cache::step& step, const cache::head_rows& k, const cache::head_rows& v) override;
  cache::keys_values to_dense(int slot, int length) const override;

 private:
  const std::shared_ptr<device_kv> kv_;
};

}  // namespace cogen::nn
