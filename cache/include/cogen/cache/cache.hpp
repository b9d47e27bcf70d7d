#pragma once

#include <cogen/detail/cache/kv_cache_spec.hpp>
#include <cogen/detail/cache/layer_factory.hpp>
#include <cogen/detail/cache/sink_window.hpp>
#include <cogen/detail/cache/slot_table.hpp>
#include <cogen/detail/cache/snapshot_codec.hpp>
#include <cogen/detail/cache/step.hpp>
#include <cogen/detail/cache/transfer.hpp>
#include <cogen/detail/cache/view.hpp>
#include <cogen/detail/slot_footprint.hpp>
#include <cogen/detail/slot_fork.hpp>
#include <cogen/extend/kv_codec.hpp>
#include <cogen/extend/kv_layer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace cogen::cache {

/// How layers store their tokens.
enum class cache_kind : std::uint8_t {
  dynamic,  ///< grows in place without a declared bound
  static_,  ///< slots of at most max_sequence_length tokens, all layers of a slot in one range
};

/// What a cache stores, and within which limits.
struct options {
  cache_kind kind = cache_kind::static_;
  scalar type = scalar::bf16;  ///< number format of keys and values
  int slots = 1;               ///< sequences cached at the same time

  /// Tokens a slot may hold. Required by the static kind. For the dynamic kind, 0 means as many as address space
  /// allows: 2^20, or fewer if slots * max_sequence_length would take more than 16 TiB of addresses.
  int max_sequence_length = 0;

  /// Quantizes all but the newest tokens of layers of full, sliding and chunked attention: int8(), int4(), … Not
  /// together with sinks. Encoder inputs and states are never quantized.
  std::optional<quantization> kv_quantization = {};

  /// Layers of full attention keep only sinks and a window. Then max_sequence_length bounds nothing and may be 0.
  std::optional<sink_window> sinks = {};

  /// Offloads layers of full attention to the host. While a step computes, they are prefetched through this transfer
  /// one by one, in the order of their numbers; only their quantized tokens go that way if kv_quantization is set.
  /// Rings, states and encoder inputs stay in place. Jobs must end without the help of the thread that uses the cache,
  /// which waits for them; so manual_transfer does not work here.
  std::shared_ptr<transfer> kv_offload = {};

  /// For rings (sliding and chunked layers, sinks, the newest tokens of quantized layers): the most new tokens of a
  /// slot in one step, at least 1. Each ring is larger by that many tokens. Other layers take steps of any length.
  int max_step_tokens = 512;

  /// For the same rings: tokens a slot can go back by without a snapshot, counted from the most it has held. At least
  /// 0. Recurrent layers cannot go back without one, but for drafts.
  int max_rollback_tokens = 64;

  /// For recurrent layers: the most drafts of a row (step_row.drafts). Each takes memory for one more state of a slot,
  /// once rows have them. At least 0.
  int max_recurrent_drafts = 0;

  /// For models with an encoder: the most tokens of an encoder input. 0: as max_sequence_length, if that is declared or
  /// follows from addresses.
  int max_encoder_length = 0;
};

/// The KV cache and recurrent states of a model: its layers, and how many tokens each slot holds.
///
/// Addresses never change. Address space is reserved at construction. Memory is committed as tokens arrive, in blocks
/// of 64 tokens, and returned to the system when slots are cut or cleared. A forward calls reserve(step), writes and
/// reads every layer through layer(i), then calls advance(step). Tokens that are reserved but never advanced do not
/// count.
///
/// Between reserve(step) and advance(step), only the step's layers may be written and read; any other change abandons
/// the step. Every member throws std::out_of_range for a slot that does not exist. Not thread-safe: concurrent reads
/// are safe only while no thread changes the cache.
class cache {
 public:
  /// Throws std::invalid_argument for an invalid shape or option, std::system_error if address space is
  /// refused. Commits no memory for tokens yet.
  cache(std::span<const kv_cache_spec> shapes, const options& options, const layer_factory& own = {});
  ~cache();
  cache(cache&&) noexcept;
  cache& operator=(cache&&) noexcept;

  int slots() const noexcept { return table_->slots(); }

  /// Tokens the slot holds.
  int length(int slot) const { return table_->length(slot); }

  /// The most tokens a slot can hold: the smallest bound of its layers.
  int max_sequence_length() const noexcept { return max_sequence_length_; }

  int layers() const noexcept { return static_cast<int>(layers_.size()); }

  /// Throws std::out_of_range for a layer that does not exist.
  cogen::cache::layer& layer(int index);
  const cogen::cache::layer& layer(int index) const;

  /// Lengths and parents of all slots, as the layers see them.
  const slot_table& table() const noexcept { return *table_; }

  /// The same for their encoder inputs, as cross layers see them.
  const slot_table& encoder_inputs() const noexcept { return *encoder_inputs_; }

  /// The most new tokens of a slot in one step for which every ring has room; INT_MAX if there are no rings.
  int max_step_tokens() const noexcept { return max_step_tokens_; }

  /// How far a slot can go back without a snapshot, counted from the most tokens it has held: any way (INT_MAX), a
  /// ring's rollback limit, or 0 if a layer is recurrent.
  int max_rollback_tokens() const noexcept { return max_rollback_tokens_; }

  /// How many drafts of its last row a slot can drop: as many as that, or, if a layer is recurrent, as many as it keeps
  /// states for.
  int max_dropped_drafts() const noexcept { return max_dropped_drafts_; }

  /// Makes room for the step in every layer. Throws std::length_error, naming the slot, the wanted length and the
  /// limit, or std::system_error if memory is refused; then no length, content or memory has changed. From here on the
  /// drafts of earlier rows of the step's slots stay: a recurrent layer may overwrite the states before them.
  void reserve(const step& step);

  /// Call when every layer has written the step's tokens: now they count. Throws the error of a transfer that failed
  /// (offloaded layers); then they do not count.
  void advance(const step& step);

  /// The same for tokens of the slots' encoder inputs, in the cross layers. An encoder input comes in one step, before
  /// the slot's first token. Throws std::logic_error otherwise, or if no layer is a cross layer.
  void reserve_encoder(const step& step);
  void advance_encoder(const step& step);
  int encoder_length(int slot) const { return encoder_inputs_->length(slot); }

  /// Whether every layer can go back to the slot's first `length` tokens, and no other slot reads those after them.
  bool can_truncate(int slot, int length) const;

  /// Drops the slot's tokens from `length` on, and room that was reserved but not advanced. Whole blocks are returned
  /// to the system. If `length` lies within a shared prefix, the started block is copied from it. If memory for the
  /// copy is refused, the slot ends at the block's start, or is empty if a layer cannot return there. Throws
  /// std::length_error for a length above the slot's, std::logic_error if other slots read the dropped tokens or a
  /// layer cannot return to `length`.
  void truncate(int slot, int length);

  /// Empties the slot, shared prefix and encoder input included. Throws std::logic_error while other slots read its
  /// tokens.
  void clear(int slot);

  /// Lets the slot return to its present length until it is cut below it. The copies of rings and states that this
  /// needs (other layers need none) count in committed_bytes() but not in footprint(). Returns whether there was no
  /// snapshot of that length.
  bool take_checkpoint(int slot);
  void drop_checkpoint(int slot, int length);

  /// Releases a slot that has no owner any more: keeps its first `length` tokens as far as other slots read them, and
  /// its encoder input, but no rings or states. The slot takes no more tokens, and no slot can share its prefix if a
  /// layer needs rings or states. Throws std::logic_error if other slots read more.
  void release(int slot, int length);

  /// The empty slot `slot` reads its first `length` tokens in slot `source` from now on; new tokens go to its own
  /// memory. `length` is a multiple of 64, 0 < length <= length(source). Until `slot` is cleared or cut, `source` can
  /// be neither cleared nor cut below `length`.
  ///
  /// A slot has one parent. If `source` itself reads `length` tokens or more in a parent, `slot` gets the same parent.
  /// Throws std::logic_error if `source` reads fewer, or `slot` is not empty; std::invalid_argument for a wrong length.
  void share_prefix(int slot, int source, int length);

  /// The empty slot `fork.slot` begins as `fork` says, with the rings and states needed to go on from there. `shared`
  /// is a multiple of 64; where `parent` itself reads that many tokens in a parent, the slot gets the same one. The
  /// slot must not have an encoder input. Throws like share_prefix and copy; then the slot stays empty.
  void fork(const slot_fork& fork);

  /// Copies tokens [begin, end) of slot `source` to the same positions of slot `target`, which then ends at `end`.
  /// Layers that do not keep single tokens assume that the first `begin` tokens of both are the same. Throws
  /// std::length_error unless `begin` is at most length(target) and `end` at most length(source). Throws
  /// std::logic_error if it would overwrite what `target` shares with other slots, or a layer of `source` cannot return
  /// to `end`. Throws std::system_error if memory is refused: then `target` ends at `begin`. If layers do not keep
  /// single tokens, it then holds only what other slots read of it, as after release(), and must be cleared.
  void copy(int source, int target, int begin, int end);

  /// Bytes of an exported slot of `length` tokens, with an encoder input of `encoder_length`.
  std::int64_t exported_bytes(int length, int encoder_length = 0) const;

  /// Writes all that the slot holds, with its shared prefix and encoder input but without snapshots, to `output`. That
  /// has exported_bytes(length(slot), encoder_length(slot)) bytes; otherwise throws std::invalid_argument. Only a cache
  /// of the same shapes and options can import the bytes.
  void export_slot(int slot, std::span<std::byte> output) const;

  /// Describes the exported bytes in their order. Tokens of full, sliding and chunked attention are numbers if they are
  /// in full precision and never quantized. States, encoder inputs, quantized tokens (or tokens to be quantized) and
  /// what custom layers write are opaque bytes.
  std::vector<exported_run> exported_runs(int length, int encoder_length = 0) const;

  /// Whether all numbers in bytes, from anywhere, that import_slot() would take are finite. Bytes that end too soon are
  /// not looked at. Any thread.
  bool has_finite_numbers(std::span<const std::byte> exported, int length, int encoder_length = 0) const;

  /// The most bytes that compress() makes of an exported slot, by its length, with the encoder input at its longest.
  slot_footprint compressed_terms() const;

  /// Fills the empty slot with `length` exported tokens, bit for bit. Throws std::logic_error if it is not empty,
  /// std::invalid_argument for a wrong number of bytes, and like reserve(); then it stays empty.
  void import_slot(int slot, int length, std::span<const std::byte> input, int encoder_length = 0);

  /// The same, but returns the plain copies for the caller to carry out on any thread. Until that is done, the slot,
  /// and what `output` or `input` points to, must neither change nor go away, and an imported slot must not be read;
  /// other slots may be. If a copy fails, an imported slot must be cleared.
  std::vector<byte_copy> begin_export(int slot, std::span<std::byte> output) const;
  std::vector<byte_copy> begin_import(int slot, int length, std::span<const std::byte> input, int encoder_length = 0);

  /// Memory of a slot by the tokens it holds itself; those of a shared prefix do not count twice. An encoder input
  /// counts at its longest.
  slot_footprint footprint_terms() const;

  /// footprint_terms()(length).
  std::int64_t footprint(int length) const { return footprint_terms()(length); }

  /// Bytes of memory that all slots take now.
  std::int64_t committed_bytes() const;

 private:
  void check_bound(int slot, std::int64_t wanted) const;
  void check_empty(int slot) const;
  void check_not_shared(int slot, int length) const;
  void check_can_return(int slot, int length) const;
  void check_exported(int slot, int length, int encoder_length, std::size_t bytes) const;
  void check_fork(const slot_fork& fork) const;
  slot_parent parent_for(int slot, int length) const;
  void drop(int slot, int length);
  void forget_checkpoints(int slot, int beyond);
  void give_up_copy(int slot, int begin);
  template <class Fill>
  void fill(int slot, Fill fill_it);

  std::unique_ptr<slot_table> table_;
  std::unique_ptr<slot_table> encoder_inputs_;
  std::vector<std::unique_ptr<cogen::cache::layer>> layers_;
  std::vector<cogen::cache::layer*> storages_;  // one layer for each storage of tokens and states
  std::vector<cogen::cache::layer*> readers_;   // one for each storage of encoder inputs
  std::vector<std::vector<int>> snapshots_;     // [slots], lengths
  int max_sequence_length_ = 0;
  int max_step_tokens_ = 0;
  int max_rollback_tokens_ = 0;
  int max_dropped_drafts_ = 0;
};

}  // namespace cogen::cache
