#pragma once

#include <cogen/cache/virtual_memory.hpp>
#include <cogen/detail/cache/attention_span.hpp>
#include <cogen/detail/cache/kv_cache_spec.hpp>
#include <cogen/detail/cache/sink_window.hpp>
#include <cogen/detail/cache/slot_table.hpp>
#include <cogen/detail/cache/snapshot_codec.hpp>
#include <cogen/detail/cache/step.hpp>
#include <cogen/extend/kv_codec.hpp>

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cogen::cache {

/// Where numbers lie in the quantized block of one head: in its keys, and in its values behind them.
struct quantized_head {
  std::vector<exported_run> keys = {};
  std::vector<exported_run> values = {};
};

/// How a device quantizes all but the newest tokens of a slot, 64 at a time: see quantized_tokens() in view.hpp. The
/// layout of a block's bytes is up to the device.
struct device_quantization {
  group_format keys = {};
  group_format values = {};
  int residual = 128;           ///< tokens that at least stay in full precision, counted back from each query
  std::int64_t head_bytes = 0;  ///< of the keys and values of one head in 64 tokens
  quantized_head head = {};     ///< of head_bytes; empty: opaque bytes
};

/// Keys and values of one layer, or its states, as views.
struct device_layer {
  at::Tensor keys = {};      ///< [slots, places, kv_heads, head_dim]; none if recurrent. Cross: of encoder inputs
  at::Tensor values = {};    ///< the same; of latent attention the first numbers of keys
  attention_span span = {};  ///< causal
  int ring = 0;              ///< places after those of the sinks that positions use in turn; 0: one for each position

  /// The index of the place that holds the key and the value of a position.
  std::int64_t place_of(std::int64_t position) const {
    return ring == 0 || position < span.sinks ? position : span.sinks + (position - span.sinks) % ring;
  }

  std::optional<device_quantization> quantization = {};
  at::Tensor quantized = {};  ///< [slots, blocks, kv_heads, head_bytes] uint8, if it quantizes

  /// [slots, state] float32, if recurrent: what follows from all tokens of the slot. A step updates it in place. Before
  /// the first token it counts as zeros, whatever it holds.
  at::Tensor states = {};
};

/// The first layer that attends to the slot's tokens, whose heads all of them have on a device; without heads if there
/// is none.
kv_cache_spec first_with_keys(std::span<const kv_cache_spec> shapes);

/// The window of all layers that attend to the slot's tokens, where sinks apply; 0: they attend to everything. None:
/// they differ.
std::optional<int> shared_window(std::span<const kv_cache_spec> shapes, const std::optional<sink_window>& sinks);

class slot_pages;

/// Memory for tokens as they come. A block is a page of each plane, with the same tokens of one slot.
struct device_pages {
  std::int64_t page_bytes = 0;
  std::int64_t limit = 0;  ///< bytes of all pages that exist at a time

  /// Reserves that many bytes of addresses, a multiple of page_bytes.
  std::function<std::unique_ptr<virtual_memory>(std::int64_t bytes)> reserve = {};

  /// Returns when the device has ended all work on the cache; throws its errors.
  std::function<void()> wait = [] {};
};

/// The blocks of slots with pages.
struct block_size {
  std::int64_t bytes = 0;  ///< of all planes
  int tokens = 0;          ///< whole ones in a page
  bool exact = true;       ///< pages end where tokens end. If not, a slot of n blocks' tokens may own one block more
};

/// What a device cache stores, and within which limits.
struct device_options {
  at::Device device = at::kCPU;
  at::ScalarType type = at::kBFloat16;  ///< number format of keys and values
  int slots = 1;
  int max_sequence_length = 0;            ///< tokens that a slot can hold
  int max_encoder_length = 0;             ///< tokens of an encoder input, if there are cross layers
  std::optional<sink_window> sinks = {};  ///< for layers of full attention
  std::optional<device_quantization> quantization = {};

  /// Tokens after the sinks that are kept in full precision: the newest ones, in as many places. At least 16. Has room
  /// for all that one query attends to (the window; or residual + 64, then a multiple of 64), the most tokens of a slot
  /// in one step, and the tokens that a slot can go back by. 0: all.
  int ring = 0;

  /// Host memory, uint8, slot_bytes() for each slot. If given, tokens of all layers stay there, and the device has room
  /// for two layers, used in turn. Not with a ring. None: tokens stay on the device.
  at::Tensor host = {};

  /// If given, keys and values get memory page by page, and slots share pages. Not with a ring or `host`, and only for
  /// tokens of at most a page. None: all memory is allocated at construction.
  std::optional<device_pages> pages = {};
};

/// Some tokens of a slot in one layer, [planes, tokens, …] with tokens contiguous: on the host, and on the device
/// while the layer computes.
struct kv_copy {
  at::Tensor host;
  at::Tensor device;
};

/// The KV cache and the recurrent states of a model in device memory. The keys, or values, of one layer are a plane, in
/// which each slot's tokens are contiguous, and all planes are equally far apart, so a slot is moved as strided copies.
/// Addresses never change, so a step can be captured once as a graph and replayed for any mix of slots. All memory is
/// allocated at construction; with device_options::pages, that of tokens is by reserve(), fill() and copy().
///
/// Encoder inputs, which cross layers read, are in a range of their own, in full precision, and stay until their slot
/// is cleared.
///
/// Every slot holds its own tokens, or shares pages of them until one writes there. Copies are only enqueued here, on
/// the device's current stream, after earlier work of that stream. Lengths include all steps enqueued so far. Not
/// thread-safe.
class device_cache {
 public:
  /// Takes layers of full, sliding, chunked and cross attention, with room for the widest heads in each, and recurrent
  /// ones; with a ring or quantization, those of the slot's tokens have the same span; if quantized, full attention and
  /// the same heads. With tokens on the host there are no recurrent and no cross layers. Throws std::invalid_argument
  /// otherwise, naming layer and kind, and for invalid options. Throws LibTorch's error if the device has
  /// no memory left.
  device_cache(std::span<const kv_cache_spec> shapes, const device_options& options);
  ~device_cache();

  /// Bytes of one slot, on the device or the host.
  static std::int64_t slot_bytes(std::span<const kv_cache_spec> shapes, const device_options& options);

  /// Those of its states.
  static std::int64_t state_bytes(std::span<const kv_cache_spec> shapes);

  /// Those of its encoder input.
  static std::int64_t encoder_bytes(std::span<const kv_cache_spec> shapes, const device_options& options);

  /// Of caches with pages of that many bytes; no tokens if none has keys, or a token is larger.
  static block_size block_of(std::span<const kv_cache_spec> shapes, const device_options& options,
                             std::int64_t page_bytes);

  int slots() const noexcept { return table_.slots(); }
  int layers() const noexcept { return static_cast<int>(layers_.size()); }
  int max_sequence_length() const noexcept { return max_sequence_length_; }
  /// Tokens the slot holds. Throws std::out_of_range for a slot that does not exist.
  int length(int slot) const { return table_.length(slot); }

  /// With tokens on the host, layers index and index + 2 use the same memory.
  const device_layer& layer(int index) const { return layers_[static_cast<std::size_t>(index)]; }

  bool on_host() const noexcept { return device_.defined(); }

  /// Tokens [begin, end) of a slot, if tokens are on the host.
  kv_copy moving(int layer, int slot, int begin, int end) const;

  /// Where the keys of slot `slot` begin in the keys of any layer, in tokens.
  std::int64_t origin(int slot) const { return slot * slot_rows_; }

  /// Before a step: `count` more tokens of the slot have memory that no other slot shares. Throws std::bad_alloc if
  /// there is not enough, or the slot has lost tokens; its length stays.
  void reserve(int slot, int count);

  /// Instead of advance(): the tokens count, but were not run for want of memory.
  void lose(int slot, int count);

  /// How many of the slot's first tokens are there: fewer than length() where some were lost. Those it can be cut to.
  int held(int slot) const;

  /// Bytes of the pages that exist, shared ones once.
  std::int64_t page_bytes() const;

  /// Gives the pages back that no token needs. Throws what the device does.
  void trim();

  /// Counts the tokens of a step. Throws std::length_error, naming the slot, the wanted length and the limit, before
  /// anything changes; std::out_of_range for a slot that does not exist.
  void advance(const step& step);

  /// Whether the slot can go back to its first `length` tokens: a state can only stay, or be dropped.
  bool can_truncate(int slot, int length) const;

  /// Drops tokens from `length` on. Throws std::length_error for a length above the slot's, std::logic_error unless
  /// can_truncate().
  void truncate(int slot, int length);

  /// Drops all tokens and the encoder input.
  void clear(int slot);

  /// Replaces slot `target` by the first `end` tokens of slot `source`. Whole pages are shared. Throws
  /// std::length_error if `source` holds fewer, std::logic_error if it could not be truncated so; std::bad_alloc if
  /// there is not enough memory or `source` has lost them, and then `target` is empty.
  void copy(int source, int target, int end);

  /// All memory of a slot of `length` tokens, each [planes, rows, …] with rows contiguous: keys and values in full
  /// precision, quantized blocks, and states.
  std::vector<at::Tensor> parts_of(int slot, int length) const;

  /// Whether all numbers in bytes, from anywhere, are finite that are to be written to parts_of() a slot of so many
  /// tokens, and then to its encoder_part(). Bytes that end too soon are not looked at. Any thread.
  bool has_finite_numbers(std::span<const std::byte> exported, int length, int encoder_length) const;

  /// Those of them that later tokens overwrite: a ring, and states.
  std::vector<at::Tensor> live_parts_of(int slot, int length) const;

  int max_encoder_length() const noexcept { return max_encoder_length_; }

  /// Tokens of the slot's encoder input.
  int encoder_length(int slot) const { return encoder_inputs_.length(slot); }

  /// The caller writes the tokens of the encoder input before they are read. Throws std::length_error above
  /// max_encoder_length(), std::out_of_range for a slot that does not exist.
  void set_encoder_length(int slot, int length);

  /// Keys and values of the first `length` tokens of a slot's encoder input, [planes, length, width] with rows
  /// contiguous; none without cross layers.
  at::Tensor encoder_part(int slot, int length) const;

  /// Slot `target` gets the encoder input of slot `source`.
  void copy_encoder_input(int source, int target);

  /// Whether a part is keys and values in full precision that are never quantized.
  bool is_exact(const at::Tensor& part) const;

  /// device_options::ring.
  int ring() const noexcept { return ring_; }

  bool has_states() const noexcept { return states_.defined(); }

  /// Of layers with keys and values; 0: there are none.
  int head_dim() const noexcept { return head_dim_; }

  /// Sets the empty slot's length; the caller writes its tokens to parts_of() before they are read. Throws
  /// std::bad_alloc if there is not enough memory; the slot stays empty.
  void fill(int slot, int length);

 private:
  device_layer layer_with_keys(std::int64_t index, const kv_cache_spec& shape, const device_options& options) const;
  device_layer cross_layer(std::int64_t index, const kv_cache_spec& shape) const;
  void check_bound(int slot, std::int64_t length) const;
  void set_length(int slot, int length);
  int pages_of(std::int64_t tokens) const;
  int whole_pages_in(std::int64_t tokens) const;
  void make_writable(int slot, std::int64_t begin, std::int64_t end);
  void copy_bytes(int source, int target, std::int64_t begin, std::int64_t end) const;
  void share_pages(int source, int target, int end);
  void map_ahead(const step& step);
  void check_end(int slot, int end, const std::string& message) const;

  bool blocks_are_finite(std::span<const std::byte> exported, int length) const;
  at::Tensor exact_part_of(int slot, int length) const;
  at::Tensor block_part_of(int slot, int length) const;
  at::Tensor state_part_of(int slot, int length) const;

  int max_sequence_length_;
  int max_encoder_length_;
  int head_dim_;
  std::int64_t planes_;  // of a layer with keys: those and values, or keys alone
  int ring_;
  std::int64_t slot_rows_;
  slot_table table_;
  slot_table encoder_inputs_;
  std::vector<int> held_;              // [slots]
  std::unique_ptr<slot_pages> pages_;  // null: all memory is there
  at::Tensor storage_;                 // [planes * layers with keys, slots, places, kv_heads * head_dim]
  at::Tensor device_;                  // [2, planes, slots, places, kv_heads * head_dim], if tokens are on the host
  at::Tensor quantized_;               // [slots, layers with keys, blocks, kv_heads * head_bytes], if it quantizes
  at::Tensor states_;                  // [slots, 1, numbers of all states] float32, if layers are recurrent
  at::Tensor encoded_;  // [slots, 2 * cross layers, max_encoder_length, kv_heads * head_dim], if there are any
  std::vector<device_layer> layers_;
  std::vector<std::int64_t> token_widths_;    // [planes of tokens], numbers
  std::vector<std::int64_t> encoder_widths_;  // [planes of encoder inputs]
};

/// Bytes in host memory as tensors of the shapes of `parts`, one after the other. Throws std::invalid_argument, naming
/// both numbers, if there are more or fewer.
std::vector<at::Tensor> tensors_of(const std::vector<at::Tensor>& parts, std::span<const std::byte> bytes);

}  // namespace cogen::cache
