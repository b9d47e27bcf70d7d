#pragma once

#include <cogen/cache/attention_span.hpp>
#include <cogen/cache/codec.hpp>
#include <cogen/cache/kv_cache_spec.hpp>
#include <cogen/cache/sink_window.hpp>
#include <cogen/cache/slot_table.hpp>
#include <cogen/cache/step.hpp>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cogen::cache {

/// How a device packs all but the newest tokens of a slot, 64 at a time: see view.hpp's quantized_tokens(). How the
/// bytes of a block lie is the device's own.
struct device_quantization {
  group_format keys;
  group_format values;
  int residual = 128;           ///< tokens that stay in full precision at least, counted back from each query
  std::int64_t head_bytes = 0;  ///< of the keys and values of one head in 64 tokens
};

/// Keys and values of one layer. Views.
struct device_layer {
  at::Tensor keys;      ///< [slots, places, kv_heads, head_dim]
  at::Tensor values;    ///< the same
  attention_span span;  ///< causal, and no chunks
  int ring = 0;         ///< places behind those of the sinks that positions take in turn; 0: one for each position

  /// Where the key and the value of a position lie.
  std::int64_t place_of(std::int64_t position) const {
    return ring == 0 || position < span.sinks ? position : span.sinks + (position - span.sinks) % ring;
  }

  std::optional<device_quantization> quantization = {};
  at::Tensor quantized = {};  ///< [slots, blocks, kv_heads, head_bytes] uint8, where it packs
};

struct device_options {
  at::Device device = at::kCPU;
  at::ScalarType type = at::kBFloat16;  ///< number format of keys and values
  int slots = 1;
  int max_sequence_length = 0;            ///< tokens that a slot may hold
  std::optional<sink_window> sinks = {};  ///< of layers that would see every token
  std::optional<device_quantization> quantization = {};

  /// Tokens behind the sinks that are kept in full precision: the newest ones, in as many places. At least 16, all that
  /// one query sees so (the window; or residual + 64, and then a multiple of 64), the most tokens of a slot in one
  /// step, and those that a slot can go back by. 0: all.
  int ring = 0;

  /// Memory of the host, uint8, slot_bytes() for each slot: tokens of all layers stay there, and the device has room
  /// for two layers, which take turns. Not with a ring. None: tokens stay on the device.
  at::Tensor host = {};
};

/// Some tokens of a slot in one layer, [planes, tokens, …] with tokens side by side: where they stay, and where they
/// come to while the layer computes.
struct kv_copy {
  at::Tensor host;
  at::Tensor device;
};

/// What a model remembers in the memory of a device: for each slot all layers in one range, or in two where it packs,
/// so that a slot's tokens leave and come as strided copies. Memory is taken whole at the start, and addresses never
/// change, so that a step can be recorded once and played for any mix of slots.
///
/// Every slot holds its tokens itself. Copies are only begun here, on the device's current queue, and come after what
/// that queue was given before. Lengths are those that the steps begun so far lead to. Not thread-safe.
class device_cache {
 public:
  /// Layers of full and sliding attention, all with the same heads; where there is a ring or tokens are packed, all
  /// that see the same, which is everything where they are packed: std::invalid_argument otherwise, naming layer and
  /// kind, or for options that make no sense. Throws what LibTorch throws where the device has no memory left.
  device_cache(std::span<const kv_cache_spec> shapes, const device_options& options);

  /// Bytes of one slot, wherever it stays.
  static std::int64_t slot_bytes(std::span<const kv_cache_spec> shapes, const device_options& options);

  int slots() const noexcept { return table_.slots(); }
  int layers() const noexcept { return static_cast<int>(layers_.size()); }
  int max_sequence_length() const noexcept { return max_sequence_length_; }
  int length(int slot) const { return table_.length(slot); }

  /// Where tokens stay far, the layer after next is in the same place.
  const device_layer& layer(int index) const { return layers_[static_cast<std::size_t>(index)]; }

  bool on_host() const noexcept { return device_.defined(); }

  /// Tokens [begin, end) of a slot, where tokens stay far.
  kv_copy moving(int layer, int slot, int begin, int end) const;

  /// Where the keys of slot `slot` begin in the keys of any layer, in tokens.
  std::int64_t origin(int slot) const { return slot * slot_rows_; }

  /// The tokens of a step count from now on. Throws std::length_error, naming the slot, the wanted length and the
  /// limit, before anything changes; std::out_of_range for a slot that does not exist.
  void advance(const step& step);

  /// Forgets tokens from `length` on. Throws std::length_error for a length above the slot's.
  void truncate(int slot, int length);
  void clear(int slot) { truncate(slot, 0); }

  /// Slot `to` holds the first `end` tokens of slot `from` afterwards, whatever it held before. Throws
  /// std::length_error where `from` holds fewer.
  void copy(int from, int to, int end);

  /// All that a slot of `length` tokens takes, each [planes, rows, …] with rows side by side: keys and values in full
  /// precision, and what is packed.
  std::vector<at::Tensor> parts_of(int slot, int length) const;

  /// The empty slot holds `length` tokens, which somebody writes to parts_of() before they are read.
  void fill(int slot, int length);

 private:
  void check_bound(int slot, std::int64_t length) const;

  int max_sequence_length_;
  std::int64_t slot_rows_;
  slot_table table_;
  at::Tensor storage_;    // [slots, 2 * layers, places, kv_heads * head_dim]
  at::Tensor device_;     // [2, slots, 2, places, kv_heads * head_dim], where that is far
  at::Tensor quantized_;  // [slots, layers, blocks, kv_heads * head_bytes], where it packs
  std::vector<device_layer> layers_;
};

}  // namespace cogen::cache
