#pragma once

#include "address_range.hpp"

#include <cogen/cache/memory_terms.hpp>
#include <cogen/cache/step.hpp>
#include <cogen/cache/transfer.hpp>

#include <array>
#include <memory>
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

/// The road of one cache's layers between far memory, where all of them stay, and two near buffers, each of which holds
/// one layer at a time: while one computes, the next one comes. In a step each layer's older tokens come up once, and
/// its new ones go down once.
class offload {
 public:
  /// `slots` times `blocks` blocks of `block_bytes` (whole pages) in each buffer. Throws like address_range.
  offload(std::shared_ptr<transfer> through, int slots, std::int64_t blocks, std::int64_t block_bytes);

  ~offload();
  offload(const offload&) = delete;
  offload& operator=(const offload&) = delete;

  /// Layers come in the order in which a forward needs them.
  void add(const offloaded_layer& layer);
  bool is_first(const offloaded_layer& layer) const { return layers_.front() == &layer; }

  /// Ends what a step before has begun. Makes near room for the rows' `blocks` each. Throws like address_range.
  void begin(const step& step, std::span<const int> blocks);
  bool in_step() const noexcept { return !rows_.empty(); }
  std::span<const step_row> rows() const noexcept { return rows_; }

  /// The layer's older tokens are near, and the next layer is on its way. Throws what stopped one of the two.
  void need(const offloaded_layer& layer);

  /// Where the blocks of a slot lie in the layer's buffer, block_bytes() apart.
  std::byte* near(const offloaded_layer& layer, int slot) const;
  std::int64_t block_bytes() const noexcept { return block_bytes_; }

  void write_back(const offloaded_layer& layer, std::vector<byte_copy> copies);

  /// Whether the layer's new tokens of this step are in far memory, or on their way there.
  bool went(const offloaded_layer& layer) const { return went_[index_of(layer)]; }

  /// Waits for all jobs. Throws what stopped the first that failed.
  void settle();

  /// Waits for all jobs, whatever becomes of them.
  void drain() noexcept;

  /// No step is under way any more. The jobs have ended.
  void end() noexcept;

  void release(int slot) noexcept;

  memory_terms footprint_terms() const { return {.per_block = 2 * block_bytes_}; }
  std::int64_t committed_bytes() const;

 private:
  struct buffer {
    const offloaded_layer* holds = nullptr;
    std::vector<awaited_job> coming;
  };

  std::size_t index_of(const offloaded_layer& layer) const;
  std::byte* region(int slot, std::size_t buffer) const;
  void fetch(std::size_t index);

  std::shared_ptr<transfer> through_;
  std::int64_t block_bytes_;
  std::int64_t slot_stride_;
  address_range memory_;
  std::vector<int> committed_;  // [slots], blocks in each buffer
  std::vector<const offloaded_layer*> layers_;
  std::vector<bool> went_;  // [layers]
  std::vector<step_row> rows_;
  std::array<buffer, 2> buffers_;
  std::vector<awaited_job> going_;
};

}  // namespace cogen::cache
