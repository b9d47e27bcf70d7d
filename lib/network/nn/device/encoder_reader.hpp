#pragma once

#include "network/nn/device/device_network.hpp"
#include "network/nn/device/step_block.hpp"

#include <cogen/cache/device_cache.hpp>
#include <cogen/token.hpp>

#include <ATen/core/Tensor.h>

#include <span>

namespace cogen::nn {

/// Reads encoder inputs into slots of a cache on a device, one at a time, so that each is the same bits in any batch.
class encoder_reader {
 public:
  /// For inputs as long as the cache keeps. All must outlive it.
  encoder_reader(const device::backend& where, const device_network& network, cache::device_cache& kv);

  /// The slot is empty. Has ended when it returns.
  void read(device::operators& ops, device::stream& work, int slot, std::span<const token> input);

  /// On the device.
  std::int64_t bytes() const noexcept { return block_.bytes() + scratch_.bytes(); }

 private:
  const device_network& network_;
  cache::device_cache& kv_;
  step_block block_;
  const device_scratch scratch_;
  const at::Tensor last_;  // [1] int32, read by no encoder: each token is given
};

}  // namespace cogen::nn
