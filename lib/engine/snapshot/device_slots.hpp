#pragma once

#include "engine/snapshot/cache_slots.hpp"
#include "engine/snapshot/host_memory_pool.hpp"
#include "network/backend/backend.hpp"

#include <cogen/cache/device_cache.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace cogen::detail {

/// Keys and values in full precision, as snapshots have them.
cache::exported_run run_of(std::int64_t bytes, at::ScalarType type, int head_dim);

/// The slots of a cache on a device, and the stream of the steps that use it. A second stream copies, after all earlier
/// work of the first. The host memory of snapshots is pinned, and is kept for later ones within `swap_bytes`.
class device_slots final : public cache_slots {
 public:
  device_slots(std::shared_ptr<const device::backend> where, std::span<const cache::kv_cache_spec> shapes,
               const cache::device_options& options, std::int64_t swap_bytes);

  int count() const noexcept override { return kv.slots(); }
  void clear(int slot) override { kv.clear(slot); }
  void truncate(int slot, int length) override { length == 0 ? kv.clear(slot) : kv.truncate(slot, length); }
  void release(int slot, int length) override { truncate(slot, kv.can_truncate(slot, length) ? length : 0); }
  /// Where memory is refused, the slot has lost its tokens: see device_cache::held().
  void fork(const slot_fork& fork) override;

  int encoder_input(int slot) const override { return kv.encoder_length(slot); }
  std::vector<cache::exported_run> runs(int slot, int length) const override;
  bool is_finite(std::span<const std::byte> exported, int length, int source) const override {
    return kv.has_finite_numbers(exported, length, source);
  }
  host_bytes allocate(std::size_t bytes) const override { return memory_.allocate(bytes); }
  host_bytes try_allocate(std::size_t bytes) const override { return memory_.take(bytes); }
  void copy_out(int slot, int length, std::span<std::byte> target, cache::transfer& transfer,
                cache::transfer::callback done) override;
  void copy_in(int slot, int length, std::span<const std::byte> source, int encoder_input, cache::transfer& transfer,
               cache::transfer::callback done) override;

  const std::shared_ptr<const device::backend> where;
  cache::device_cache kv;
  const std::unique_ptr<device::stream> work;

 private:
  cache::device_options with_wait(cache::device_options options) const;
  std::vector<at::Tensor> parts_of(int slot, int length) const;
  void end_with(cache::transfer& transfer, cache::transfer::callback done);

  const host_memory_pool memory_;  // ends after the callbacks of the copies, which must free none of it
  const std::unique_ptr<device::stream> copies_;
};

}  // namespace cogen::detail
