#pragma once

#include <cogen/cache/device_cache.hpp>

#include <ATen/core/Tensor.h>

#include <vector>

namespace cogen::nn {

/// The states of slots on a device as they were before a step, which updates them in place: a failing one is undone.
/// Copies are enqueued on the device's current stream.
class saved_states {
 public:
  /// `cache` must outlive it.
  explicit saved_states(const cache::device_cache& cache);

  /// Saves the slot's state, before a step. Nothing changes if it throws.
  void save(int slot);

  /// Puts the saved state back unless it was dropped: the step has failed.
  void restore(int slot);

  /// The step's state counts, or the slot has got another one.
  void drop(int slot) { saved_[static_cast<std::size_t>(slot)] = false; }

 private:
  at::Tensor state(int slot) const { return cache_.live_parts_of(slot, 1).back(); }
  at::Tensor copy(int slot) const { return copies_.narrow(0, slot, 1); }

  const cache::device_cache& cache_;
  at::Tensor copies_;        // [slots, 1, numbers of all states], or none
  std::vector<bool> saved_;  // [slots]
};

}  // namespace cogen::nn
