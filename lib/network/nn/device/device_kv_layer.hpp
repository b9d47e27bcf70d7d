#pragma once

#include "network/nn/device/device_model.hpp"
#include "network/nn/device/kv_prefetcher.hpp"
#include "network/nn/device/saved_states.hpp"

#include <cogen/cache/cache.hpp>
#include <cogen/cache/device_cache.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace cogen::nn {

/// The memory that all layers of one cache on a device share, and the stream of the work on it.
class device_kv {
 public:
  /// A length that a slot can return to, and what it held then of all that is overwritten.
  struct snapshot {
    int length;
    int most;
    std::vector<at::Tensor> overwritten;
  };

  struct slot_past {
    int most = 0;  // tokens that it has held since it was empty
    std::vector<snapshot> snapshots = {};
  };

  device_kv(const device_model& model, const cache::options& options);

  /// Returns when the device has done what `some` enqueues.
  void run(const std::function<void()>& some);

  const std::shared_ptr<const device::backend> where;
  const std::int64_t slot_bytes;  // with what is saved of it
  cache::device_cache tokens;
  saved_states states;
  std::vector<slot_past> pasts;  // [slots]
  const std::unique_ptr<device::stream> work;
  const std::unique_ptr<kv_prefetcher> prefetcher;  // null unless tokens are in host memory

 private:
  device_kv(const device_model& model, const cache::device_options& layout);
};

/// One layer of a cache on a device, for forward() outside of engines. A slot's tokens are its own: what it shares with
/// others, or starts with, is copied. Each call has ended on the device when it returns.
class device_kv_layer final : public cache::layer {
 public:
  device_kv_layer(const cache::kv_cache_spec& shape, const cache::options& options, const cache::slot_table& slots,
                  std::shared_ptr<device_kv> kv);

  device_kv& kv() const noexcept { return *kv_; }

  const void* storage() const noexcept override { return kv_.get(); }
  int max_sequence_length() const noexcept override { return kv_->tokens.max_sequence_length(); }
  int max_rollback_tokens() const noexcept override;
  int max_step_tokens() const noexcept override;

  void reserve(const cache::step& step) override;
  void advance(const cache::step& step) override;
  bool can_truncate(int slot, int length) const override;
  void truncate(int slot, int length) override;
  void clear(int slot) override { truncate(slot, 0); }
  void take_checkpoint(int slot) override;
  void drop_checkpoint(int slot, int length) override;
  void copy(int source, int target, int begin, int end) override;

  std::int64_t exported_bytes(int length) const override;
  bool has_finite_numbers(std::span<const std::byte> exported, int length) const override {
    return kv_->tokens.has_finite_numbers(
        exported.subspan(std::min(exported.size(), static_cast<std::size_t>(mark_bytes()))), length, 0);
  }
  void export_slot(int slot, std::span<std::byte> output, std::vector<cache::byte_copy>& later) const override;
  void import_slot(int slot, int length, std::span<const std::byte> input,
                   std::vector<cache::byte_copy>& later) override;

  slot_footprint footprint_terms() const override { return {.fixed = kv_->slot_bytes}; }
  std::int64_t committed_bytes() const override { return slots().slots() * kv_->slot_bytes; }

  // Both throw std::invalid_argument: only forward() of a model on this device writes and reads tokens.
  void append(const cache::step& step, const cache::head_rows& k, const cache::head_rows& v) override;
  cache::keys_values to_dense(int slot, int length) const override;

 private:
  bool is_ring() const noexcept { return kv_->tokens.ring() > 0; }
  bool overwrites() const noexcept { return is_ring() || kv_->tokens.has_states(); }
  bool still_holds(int slot, int length) const;
  const device_kv::snapshot* needed_snapshot(int slot, int length) const;
  std::int64_t mark_bytes() const noexcept { return is_ring() ? sizeof(int) : 0; }
  device_kv::slot_past& past(int slot) const { return kv_->pasts[static_cast<std::size_t>(slot)]; }

  const std::shared_ptr<device_kv> kv_;
  const int max_step_tokens_;
  const int max_rollback_tokens_;
};

/// Throws std::invalid_argument: only a model on the device of `kv` writes and reads tokens there.
[[noreturn]] void refuse_elsewhere(const device_kv& kv);

/// A cache for forward() of a model on a device. Throws std::invalid_argument for what devices do not keep.
cache::cache make_cache_on(const device_model& model, const cache::options& options, const cache::layer_factory& own);

/// The device's part of a cache. Throws std::invalid_argument if the cache is not on the model's device.
device_kv& kv_on(const device_model& model, cache::cache& cache);

}  // namespace cogen::nn
