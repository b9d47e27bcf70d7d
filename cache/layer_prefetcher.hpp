#pragma once

#include "address_range.hpp"

#include <cogen/detail/cache/step.hpp>
#include <cogen/detail/cache/transfer.hpp>
#include <cogen/detail/slot_footprint.hpp>

#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace cogen::cache {

class offloaded_layer;

/// A transfer job to wait for.
class awaited_job {
 public:
  /// Starts it. Throws what transfer::start throws.
  awaited_job(transfer& through, std::vector<byte_copy> copies);

  /// Waits for its end. Throws its error.
  void wait() const;

 private:
  struct state;
  std::shared_ptr<state> state_;
};

/// Device memory that a slot needs.
struct device_room {
  int slot = 0;
  int blocks = 0;
};

/// Prefetches one cache's layers from host memory, where all of them stay, into two device buffers, each of which holds
/// one layer: while one layer computes, the next one is copied. In a step, each layer's older tokens are copied in once
/// (those that slots share once for all of them), and its new tokens are copied out once.
///
/// An error is kept until the step ends, so no layer is used whose copy in or out has failed.
class layer_prefetcher {
 public:
  /// `slots` times `blocks` blocks of `block_bytes` (whole pages) in each buffer. Throws like address_range.
  layer_prefetcher(std::shared_ptr<transfer> through, int slots, std::int64_t blocks, std::int64_t block_bytes);

  ~layer_prefetcher();
  layer_prefetcher(const layer_prefetcher&) = delete;
  layer_prefetcher& operator=(const layer_prefetcher&) = delete;

  /// Call in the order in which a forward needs the layers.
  void add(const offloaded_layer& layer);
  bool is_first(const offloaded_layer& layer) const { return layers_.front() == &layer; }

  /// Ends the step before, and begins one. Throws like address_range; then no memory has changed.
  void begin(const step& step, std::span<const device_room> rooms);

  /// Whether slots' tokens are read in device buffers: from begin() until the step ends or an error.
  bool in_step(int slot) const noexcept;

  /// Waits until the layer's older tokens are in the buffer, and starts to copy the next layer. Throws the error of
  /// either.
  void wait_layer(const offloaded_layer& layer);

  /// Where the blocks of a slot lie in the layer's buffer, block_bytes() apart.
  std::byte* device(const offloaded_layer& layer, int slot) const;
  std::int64_t block_bytes() const noexcept { return block_bytes_; }

  /// Throws what transfer::start throws.
  void write_back(const offloaded_layer& layer, std::vector<byte_copy> copies);

  /// Whether the layer's new tokens of this step are in host memory, or being copied there.
  bool went(const offloaded_layer& layer) const { return went_[index_of(layer)]; }

  /// Waits for all jobs. Throws the first error of this step's.
  void settle();

  /// Waits for all jobs and ignores errors; the step is over.
  void end() noexcept;

  /// Keeps at most `blocks` device blocks of the slot. No job may be running.
  void shrink(int slot, int blocks) noexcept;

  slot_footprint footprint_terms() const { return {.per_block = 2 * block_bytes_}; }
  std::int64_t committed_bytes() const;

 private:
  struct buffer {
    const offloaded_layer* holds = nullptr;
    std::optional<awaited_job> coming;
  };

  std::size_t index_of(const offloaded_layer& layer) const;
  std::byte* region(int slot, std::size_t buffer) const;
  void grow(const device_room& room);
  void fetch(std::size_t index);
  void drain() noexcept;
  void fail(std::exception_ptr error) noexcept;

  template <class Act>
  void remembering_failure(Act act);

  std::shared_ptr<transfer> through_;
  std::int64_t block_bytes_;
  std::int64_t slot_stride_;
  address_range memory_;
  std::vector<int> committed_;  // [slots], blocks in each buffer
  std::vector<int> previous_;   // [slots], what a failing begin() restores
  std::vector<const offloaded_layer*> layers_;
  std::vector<bool> went_;  // [layers]
  std::vector<step_row> rows_;
  std::array<buffer, 2> buffers_;
  std::vector<awaited_job> going_;
  std::exception_ptr failed_;  // of this step
};

}  // namespace cogen::cache
