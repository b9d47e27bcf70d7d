#pragma once

#include "engine/snapshot/cache_slots.hpp"

#include <cogen/cache/cache.hpp>

#include <new>
#include <utility>

namespace cogen::detail {

/// The slots of a cache on the CPU, whose bytes a transfer copies.
class cpu_slots final : public cache_slots {
 public:
  explicit cpu_slots(cache::cache slots) : kv(std::move(slots)) {}

  int count() const noexcept override { return kv.slots(); }
  void clear(int slot) override { kv.clear(slot); }
  void truncate(int slot, int length) override { length == 0 ? kv.clear(slot) : kv.truncate(slot, length); }
  void release(int slot, int length) override { kv.release(slot, length); }
  void fork(const slot_fork& fork) override { kv.fork(fork); }

  bool take_checkpoint(int slot) override try {
    kv.take_checkpoint(slot);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
  void drop_checkpoint(int slot, int length) override { kv.drop_checkpoint(slot, length); }

  int encoder_input(int slot) const override { return kv.encoder_length(slot); }
  std::vector<cache::exported_run> runs(int slot, int length) const override {
    return kv.exported_runs(length, kv.encoder_length(slot));
  }
  bool is_finite(std::span<const std::byte> exported, int length, int source) const override {
    return kv.has_finite_numbers(exported, length, source);
  }
  host_bytes allocate(std::size_t bytes) const override { return std::make_shared_for_overwrite<std::byte[]>(bytes); }
  host_bytes try_allocate(std::size_t bytes) const override { return allocate(bytes); }
  void copy_out(int slot, int /*length*/, std::span<std::byte> target, cache::transfer& transfer,
                cache::transfer::callback done) override {
    transfer.start(kv.begin_export(slot, target), std::move(done));
  }
  void copy_in(int slot, int length, std::span<const std::byte> source, int encoder_input, cache::transfer& transfer,
               cache::transfer::callback done) override {
    transfer.start(kv.begin_import(slot, length, source, encoder_input), std::move(done));
  }

  cache::cache kv;
};

}  // namespace cogen::detail
