#pragma once

#include "device/operators.hpp"
#include "device/stream.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cogen::device {

/// A device, its memory, and what computes there. Immutable; any thread may call.
class backend {
 public:
  virtual ~backend() = default;

  virtual at::Device device() const = 0;

  /// "NVIDIA H100 80GB HBM3", say.
  virtual std::string description() const = 0;

  virtual std::unique_ptr<stream> make_stream() const = 0;
  virtual std::unique_ptr<operators> make_operators() const = 0;

  /// Memory of the host that copies to and from the device go on with while the host does something else; uint8.
  virtual at::Tensor make_host(std::int64_t bytes) const = 0;

  /// Bytes of the device that nobody has taken.
  virtual std::int64_t free_bytes() const = 0;
};

/// "cuda", which is "cuda:0", or "cuda:N". Throws std::invalid_argument, saying why, for another name, where this build
/// knows no such device, and where the machine has none.
std::shared_ptr<const backend> backend_named(std::string_view name);

}  // namespace cogen::device
