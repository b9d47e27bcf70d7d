#pragma once

#include "engine/snapshot/swap_store.hpp"

#include <cogen/engine.hpp>
#include <cogen/extend/runner.hpp>

#include <memory>
#include <string>

namespace cogen::detail {

/// Optimizations that can be turned off, to measure their effect.
struct device_switches {
  bool recorded = true;    ///< decode steps replay graphs
  bool overlapped = true;  ///< a step is launched before the previous one has been absorbed
};

/// How engines are made for models on devices.
struct device_engines {
  /// Sets the runner of a model on a device, and the limits that its cache has. All ranks of a split model call it,
  /// whose caches hold as many tokens as that of the rank with the least memory. Throws std::invalid_argument, naming
  /// option, value and limit, for options that the device does not support, or that need more memory than it has.
  void (*put_on_device)(engine_parts& parts, const std::shared_ptr<const model>& model, const engine_options& options,
                        swap_room room, const device_switches& switches);

  /// What has to be the same on all ranks of a split model.
  std::string (*settings)(const model& model, const engine_options& options);
};

/// Called before main() by the library that has devices, cogen::torch, which registers its networks, too.
void register_device_engines(const device_engines& engines) noexcept;

/// A model on a device comes from that library, so it is there.
const device_engines& registered_device_engines() noexcept;

}  // namespace cogen::detail
