#pragma once

#include <cogen/cache/layer_shape.hpp>
#include <cogen/cache/slot_table.hpp>
#include <cogen/cache/step.hpp>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

namespace cogen::cache {

/// Keys and values of one layer, one token after the other: [slots, max_length, kv_heads, head_dim]. Views.
struct device_layer {
  at::Tensor keys;
  at::Tensor values;
  int window = 0;  ///< tokens that a query sees, its own included; 0: all
};

struct device_options {
  at::Device device = at::kCPU;
  at::ScalarType type = at::kBFloat16;  ///< number format of keys and values
  int slots = 1;
  int max_length = 0;  ///< tokens that a slot may hold
};

/// What a model remembers in the memory of a device: for each slot all layers in one range, so that a slot's tokens
/// leave and come as one strided copy. Memory is taken whole at the start, and addresses never change, so that a step
/// can be recorded once and played for any mix of slots.
///
/// Every slot holds its tokens itself. Copies are only begun here, on the device's current queue, and come after what
/// that queue was given before. Lengths are those that the steps begun so far lead to. Not thread-safe.
class device_cache {
 public:
  /// Layers of full and sliding attention, all with the same heads: std::invalid_argument otherwise, naming layer and
  /// kind, or for options that make no sense. Throws what LibTorch throws where the device has no memory left.
  device_cache(std::span<const layer_shape> shapes, const device_options& options);

  /// Bytes of one slot.
  static std::int64_t slot_bytes(std::span<const layer_shape> shapes, const device_options& options);

  int slots() const noexcept { return table_.slots(); }
  int layers() const noexcept { return static_cast<int>(layers_.size()); }
  int max_length() const noexcept { return max_length_; }
  int length(int slot) const { return table_.length(slot); }

  const device_layer& layer(int index) const { return layers_[static_cast<std::size_t>(index)]; }

  /// Where the keys of slot `slot` begin in the keys of any layer, in tokens.
  std::int64_t origin(int slot) const { return slot * slot_rows_; }

  /// The tokens of a step count from now on. Throws std::length_error, naming the slot, the wanted length and the
  /// limit, before anything changes; std::out_of_range for a slot that does not exist.
  void advance(const step& step);

  /// Forgets tokens from `length` on. Throws std::length_error for a length above the slot's.
  void truncate(int slot, int length);
  void clear(int slot) { truncate(slot, 0); }

  /// Tokens [begin, end) of slot `from` are copied to the same positions of `to`, which ends at `end` afterwards.
  /// `begin` is at most length(to), `end` at most length(from): std::length_error otherwise.
  void copy(int from, int to, int begin, int end);

  /// The first `length` tokens of a slot, keys and values of all layers: [2 * layers, length, kv_heads * head_dim].
  at::Tensor tokens_of(int slot, int length) const;

  /// The empty slot holds `length` tokens, which somebody writes to tokens_of() before they are read.
  void fill(int slot, int length);

 private:
  void check_bound(int slot, std::int64_t length) const;

  int max_length_;
  std::int64_t slot_rows_;
  slot_table table_;
  at::Tensor storage_;  // [slots, 2 * layers, max_length, kv_heads * head_dim]
  std::vector<device_layer> layers_;
};

}  // namespace cogen::cache
