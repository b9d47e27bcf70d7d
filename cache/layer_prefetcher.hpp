#pragma once

#include "address_range.hpp"

#include <cogen/cache/memory_terms.hpp>
#include <cogen/cache/step.hpp>
#include <cogen/cache/transfer.hpp>

#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace cogen::cache {

class offloaded_layer;

/// A job of a transfer that somebody waits for.
class awaited_job {
 public:
  /// Starts it. Throws what transfer::start throws.
  awaited_job(transfer& through, std::vector<byte_copy> copies);

  /// Waits for its end. Throws what stopped it.
  void wait() const;

 private:
  struct state;
  std::shared_ptr<state> state_;
};

/// Near memory that a slot needs.
struct device_room {
  int slot = 0;
  int blocks = 0;
};

/// Prefetches one cache's layers from far memory, where all of them stay, and two near buffers, each of which holds
/// one layer at a time: while one computes, the next one comes. In a step each layer's older tokens come up once, those
/// that slots share once for all of them, and its new ones go down once.
///
/// What fails is remembered until the step ends: nobody takes for near what never came, or for far what never went.
class layer_prefetcher {
 public:
  /// `slots` times `blocks` blocks of `block_bytes` (whole pages) in each buffer. Throws like address_range.
  layer_prefetcher(std::shared_ptr<transfer> through, int slots, std::int64_t blocks, std::int64_t block_bytes);

  ~layer_prefetcher();
  layer_prefetcher(const layer_prefetcher&) = delete;
  layer_prefetcher& operator=(const layer_prefetcher&) = delete;

  /// Layers come in the order in which a forward needs them.
  void add(const offloaded_layer& layer);
  bool is_first(const offloaded_layer& layer) const { return layers_.front() == &layer; }

  /// Ends what a step before has begun, and begins one. Throws like address_range; then no memory has changed.
  void begin(const step& step, std::span<const device_room> rooms);

  /// Whether slots' tokens come near: from begin() on, until the step ends or something fails.
  bool in_step(int slot) const noexcept;

  /// The layer's older tokens are near, and the next layer is on its way. Throws what stopped one of the two.
  void wait_layer(const offloaded_layer& layer);

  /// Where the blocks of a slot lie in the layer's buffer, block_bytes() apart.
  std::byte* device(const offloaded_layer& layer, int slot) const;
  std::int64_t block_bytes() const noexcept { return block_bytes_; }

  /// Throws what transfer::start throws.
  void write_back(const offloaded_layer& layer, std::vector<byte_copy> copies);

  /// Whether the layer's new tokens of this step are in far memory, or on their way there.
  bool went(const offloaded_layer& layer) const { return went_[index_of(layer)]; }

  /// Waits for all jobs. Throws what stopped the first of this step's that failed.
  void settle();

  /// Waits for all jobs, whatever becomes of them; no step is under way any more.
  void end() noexcept;

  /// Keeps at most `blocks` near blocks of the slot. No job is under way.
  void shrink(int slot, int blocks) noexcept;

  memory_terms footprint_terms() const { return {.per_block = 2 * block_bytes_}; }
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
  std::vector<int> before_;     // [slots], what a failing begin() goes back to
  std::vector<const offloaded_layer*> layers_;
  std::vector<bool> went_;  // [layers]
  std::vector<step_row> rows_;
  std::array<buffer, 2> buffers_;
  std::vector<awaited_job> going_;
  std::exception_ptr failed_;  // of this step
};

}  // namespace cogen::cache
