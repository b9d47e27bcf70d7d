#pragma once

#include "engine/snapshot/swap_store.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cogen::detail {

/// A runner over the slots of a cache: applies steps to them, swaps them out and in, and provides their snapshots.
class caching_runner : public runner {
 public:
  std::string snapshot_format() const override { return snapshot_format_; }
  std::shared_ptr<const kv_snapshot> snapshot(scheduler::swap_id name) const override {
    return swapped_.snapshot(name);
  }
  void keep(scheduler::swap_id name, std::shared_ptr<const kv_snapshot> snapshot) override {
    swapped_.keep(name, std::move(snapshot));
  }
  std::shared_ptr<const kv_snapshot> make_snapshot(std::vector<std::byte> bytes, int encoder_input) const override {
    return swapped_.make_snapshot(std::move(bytes), encoder_input);
  }
  finite_check check_of_numbers() const override {
    return [weak = std::weak_ptr<const cache_slots>(slots_)](std::span<const std::byte> bytes, int length, int source) {
      const auto slots = weak.lock();
      return !slots || slots->is_finite(bytes, length, source);
    };
  }

 protected:
  caching_runner(std::shared_ptr<cache_slots> slots, std::string snapshot_format, swap_room room);

  /// Does what a step asks for besides its rows.
  void prepare_slots(step& step);

 private:
  const std::shared_ptr<cache_slots> slots_;
  const std::string snapshot_format_;
  swap_store swapped_;
};

}  // namespace cogen::detail
