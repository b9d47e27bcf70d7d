#pragma once

#include "network/parallel/place.hpp"
#include "network/parallel/rank_group.hpp"

#include <ATen/core/Tensor.h>

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::device {

/// What the ranks that split the layers of a model do together, each on a device of its own. Calls enqueue work on the
/// device's current stream, and are recorded with it; tensors are contiguous and on the device. All ranks make the same
/// calls in the same order. Members throw parallel::rank_error. Used by one thread at a time.
class collectives {
 public:
  virtual ~collectives() = default;

  virtual parallel::place place() const = 0;

  /// Numbers become the sums of those of all ranks, added in the order of ranks: the same bits everywhere, also among
  /// other numbers. float32
  virtual void sum(const at::Tensor& numbers) = 0;

  /// parts = what each rank has passed as `part`. Whoever does not gather passes none. float32
  virtual void gather(const at::Tensor& part, const std::vector<at::Tensor>& parts) = 0;
  virtual bool gathers() const = 0;

  /// Numbers of any type become those of rank 0.
  virtual void broadcast(const at::Tensor& numbers) = 0;

  /// What this rank has enqueued has failed: others need not wait for it. From any thread, also a device's own.
  virtual void fail(std::string_view why) noexcept = 0;

  /// Null, or why work that was enqueued has ended without the numbers of other ranks. From any thread.
  virtual std::exception_ptr failure() const noexcept { return nullptr; }
};

/// For a device whose memory is that of the host, and whose work has ended when it is enqueued.
std::unique_ptr<collectives> make_host_collectives(std::shared_ptr<parallel::rank_group> ranks);

}  // namespace cogen::device
