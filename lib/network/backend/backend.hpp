#pragma once

#include "network/backend/collectives.hpp"
#include "network/backend/operators.hpp"
#include "network/backend/stream.hpp"

#include <cogen/cache/virtual_memory.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cogen::device {

/// How layers have attended to the prompts of steps on a GPU, and what of it cuDNN had no plan for: each shape once,
/// with the reason.
struct prompt_attention_counts {
  std::int64_t by_cudnn = 0;  ///< layers, counted in each step
  std::int64_t by_flash_attention = 0;
  std::vector<std::string> refusals = {};
};

/// A device: its memory and its operators. Immutable and thread-safe.
class backend {
 public:
  virtual ~backend() = default;

  virtual at::Device device() const = 0;

  /// As load_options::device says it: "cuda:0", "reference".
  virtual std::string name() const { return device().str(); }

  /// Such as "NVIDIA H100 80GB HBM3".
  virtual std::string description() const = 0;

  virtual std::unique_ptr<stream> make_stream() const = 0;
  virtual std::unique_ptr<operators> make_operators() const = 0;

  /// Throws std::invalid_argument if batch-invariant operators cannot compute `part`, the first of a model that has no
  /// kernel for it (models::batch_variant_part()). Default: they compute any.
  virtual void check_batch_invariance(std::optional<std::string_view> /*part*/) const {}

  /// Operators by which each row's results depend on that row and its slot alone, to the bit, called as
  /// operators::runs_single_tokens() says. They throw std::invalid_argument for sizes that they cannot compute so.
  /// Throws it where a device has none.
  virtual std::unique_ptr<operators> make_batch_invariant_operators() const {
    throw std::invalid_argument("batch_invariant is set; " + name() + " has no such operators");
  }

  /// All tensor ranks of a model call it, each for a device of its own. By default through the memory of the host.
  /// Throws parallel::rank_error, and std::runtime_error where devices cannot reach each other.
  virtual std::unique_ptr<collectives> make_collectives(std::shared_ptr<parallel::rank_group> ranks) const {
    return make_host_collectives(std::move(ranks));
  }

  /// Pinned host memory, uint8: copies between it and the device are asynchronous. Allocating it may take long, and so
  /// may its end, which must not be in a callback of stream::then(). Throws std::bad_alloc where it is refused.
  virtual at::Tensor make_host(std::int64_t bytes) const = 0;

  /// Unallocated bytes of the device, without those that were promised to virtual memory.
  virtual std::int64_t free_bytes() const = 0;

  /// Bytes of a page of virtual memory; 0: the device has none.
  virtual std::int64_t page_bytes() const { return 0; }

  /// Reserves `bytes` of addresses without memory, a multiple of page_bytes(). At most `limit` bytes of pages will be
  /// allocated for them. Throws std::runtime_error, with the reason, if that is refused.
  virtual std::unique_ptr<cache::virtual_memory> reserve(std::int64_t /*bytes*/, std::int64_t /*limit*/) const {
    throw std::logic_error(name() + " has no virtual memory");
  }

  /// Runs `work`, which allocates by what free_bytes() says: meanwhile no other thread of this process does, nor
  /// records a graph. `work` records none.
  virtual void allocate(const std::function<void()>& work) const { work(); }

  /// Waits for what was begun outside of streams, such as the copies of weights and the zeros of new tensors: streams
  /// do not wait for it. Throws its errors.
  virtual void synchronize() const {}

  /// The most tokens of rows in recorded steps, each of which is a row of its own there: more where a recorded step
  /// saves more time than attention loses.
  virtual int max_recorded_row() const { return 1; }

  /// Whether its operators read caches of any number format; otherwise of the weights', or of fp8.
  virtual bool reads_any_cache_type() const { return false; }

  /// By all of its operators so far.
  virtual prompt_attention_counts prompt_attention() const { return {}; }

  /// Tokens that its operators sample from, at most.
  virtual std::int64_t max_vocabulary() const { return std::numeric_limits<std::int32_t>::max(); }

  /// Of weights and activations, for a model that is mostly stored in `stored`.
  virtual at::ScalarType number_format(at::ScalarType stored) const { return stored; }
};

/// What is turned off to see what it is worth.
struct backend_switches {
  bool cudnn = true;  ///< attends to prompts on a GPU where it can; without it FlashAttention-2 does
};

/// "reference", "cuda", which is "cuda:0", or "cuda:N". Throws std::invalid_argument, with the reason, for another
/// name, or if this build or machine has no such device.
std::shared_ptr<const backend> backend_named(std::string_view name, const backend_switches& switches = {});

}  // namespace cogen::device
