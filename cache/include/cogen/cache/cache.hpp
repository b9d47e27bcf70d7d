#pragma once

#include <cogen/cache/codec.hpp>
#include <cogen/cache/compressed_snapshot.hpp>
#include <cogen/cache/kv_cache_spec.hpp>
#include <cogen/cache/layer.hpp>
#include <cogen/cache/layer_factory.hpp>
#include <cogen/cache/memory_terms.hpp>
#include <cogen/cache/sink_window.hpp>
#include <cogen/cache/slot_table.hpp>
#include <cogen/cache/step.hpp>
#include <cogen/cache/transfer.hpp>
#include <cogen/cache/view.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace cogen::cache {

/// How layers keep their tokens.
enum class cache_kind : std::uint8_t {
  dynamic,  ///< grows in place without a declared bound
  static_,  ///< slots of at most max_sequence_length tokens, all layers of a slot in one range
};

struct options {
  cache_kind kind = cache_kind::static_;
  scalar type = scalar::bf16;  ///< number format of keys and values
  int slots = 1;               ///< sequences remembered at the same time

  /// Tokens a slot may hold. The static kind needs it. For the dynamic kind 0 means as many as address space allows:
  /// 2^20, or what fits where slots * max_sequence_length would take more than 16 TiB of addresses.
  int max_sequence_length = 0;

  /// Layers of full, sliding and chunked attention keep all but their newest tokens packed: int8(), int4(), … Not
  /// together with sinks. Encoder inputs and states are never packed.
  std::optional<quantization> kv_quantization = {};

  /// Layers of full attention keep only sinks and a window. max_sequence_length bounds nothing then, and may be 0.
  std::optional<sink_window> sinks = {};

  /// Layers of full attention live behind this, and come near one after the other while a step computes, in the order
  /// of their numbers. What of them is packed goes that way; rings, states and encoder inputs stay near. Its jobs have
  /// to end without the help of the thread that uses the cache, which waits for them (manual_transfer does not do).
  std::shared_ptr<transfer> kv_offload = {};

  /// Of rings (sliding and chunked layers, sinks, the newest tokens of quantized ones): the most new tokens of a slot
  /// in one step, at least 1. Each ring is larger by so much. Layers that keep everything take steps of any length.
  int longest_step = 512;

  /// Of the same: tokens a slot can go back by, counted from the most it has held, without a snapshot. At least 0.
  /// Recurrent layers have none, whatever this says.
  int max_rollback_tokens = 64;

  /// Of models that read an encoder input: its most tokens. 0: as max_sequence_length, where that is declared or
  /// follows from addresses.
  int max_encoder_length = 0;
};

/// What a model remembers: its layers, and how many tokens each slot holds.
///
/// Addresses never move. Address space is reserved at the start; memory follows use, in blocks of 64 tokens, and goes
/// back to the system when slots are cut or cleared. A forward reads: reserve(step), every layer written and read
/// through layer(i), advance(step). What is reserved and never advanced does not count.
///
/// Between reserve(step) and advance(step) only the step's layers are written and read; any other change gives the step
/// up. A slot that does not exist is std::out_of_range everywhere. Not thread-safe: one thread changes it, readers may
/// share it meanwhile only where nobody changes it.
class cache {
 public:
  /// Throws std::invalid_argument where a shape or an option makes no sense, std::system_error where address space is
  /// refused. Takes no memory for tokens yet.
  cache(std::span<const kv_cache_spec> shapes, const options& options, const layer_factory& own = {});
  ~cache();
  cache(cache&&) noexcept;
  cache& operator=(cache&&) noexcept;

  int slots() const noexcept { return table_->slots(); }
  int length(int slot) const { return table_->length(slot); }

  /// The most tokens a slot can hold: the least that one of the layers can.
  int max_sequence_length() const noexcept { return max_sequence_length_; }

  int layers() const noexcept { return static_cast<int>(layers_.size()); }

  /// Throws std::out_of_range for a layer that does not exist.
  cogen::cache::layer& layer(int index);
  const cogen::cache::layer& layer(int index) const;

  /// Lengths and bases of all slots, as the layers see them.
  const slot_table& table() const noexcept { return *table_; }

  /// The same of their encoder inputs, as cross layers see them.
  const slot_table& encoder_inputs() const noexcept { return *encoder_inputs_; }

  /// The most new tokens that every ring leaves room for in one step of a slot; INT_MAX where there are none.
  int longest_step() const noexcept { return longest_step_; }

  /// How far a slot can go back without a snapshot, counted from the most tokens that it has held: everything
  /// (INT_MAX), a ring's rollback limit, or 0 where a layer is recurrent.
  int max_rollback_tokens() const noexcept { return max_rollback_tokens_; }

  /// Makes room for the step in every layer. Throws std::length_error, naming the slot, the wanted length and the
  /// limit, or std::system_error where memory is refused: then no length, no content and no memory has changed.
  void reserve(const step& step);

  /// Every layer has written the step's tokens: now they count. Throws what went wrong with those that were still on
  /// their way (offloaded layers); then they do not.
  void advance(const step& step);

  /// The same for tokens of the slots' encoder inputs: room and length in the cross layers. An encoder input comes in
  /// one step, before the slot's first token: std::logic_error otherwise, or where no layer is a cross layer.
  void reserve_encoder(const step& step);
  void advance_encoder(const step& step);
  int encoder_length(int slot) const { return encoder_inputs_->length(slot); }

  /// Whether every layer can go back to the slot's first `length` tokens, and nobody reads what would go.
  bool can_truncate(int slot, int length) const;

  /// Forgets the slot's tokens from `length` on, and room that was reserved and not advanced. Whole blocks go back to
  /// the system. Where this ends within a base, the part of a block that is left is copied from it (should memory for
  /// that be refused, the slot ends at the block's start, or is empty where a layer cannot return there). Throws
  /// std::length_error for a length above the slot's, std::logic_error where other slots read what would go, or a layer
  /// cannot return to `length`.
  void truncate(int slot, int length);

  /// Forgets everything, the base and the encoder input included. Throws std::logic_error while other slots read its
  /// tokens.
  void clear(int slot);

  /// The slot can return to its present length from now on, until it is cut below it. What that takes (copies of rings
  /// and states; nothing for layers that can return anyway) counts in committed_bytes() and not in footprint().
  /// Returns whether there was none of that length before.
  bool take_snapshot(int slot);
  void drop_snapshot(int slot, int length);

  /// The slot has no owner any more: of its first `length` tokens stays what other slots read in place, its encoder
  /// input with it, and nothing of rings and states. It goes on with nothing, and none can begin with it where a layer
  /// needs those. Throws std::logic_error where others read more.
  void release(int slot, int length);

  /// The empty slot `slot` reads its first `length` tokens in slot `of` from now on; new tokens go to memory of its
  /// own. `length` is a multiple of 64, 0 < length <= length(of). Until `slot` is cleared or cut, `of` can be neither
  /// cleared nor cut below `length`.
  /// A slot has one base: where `of` itself reads `length` tokens or more in a base, that one is taken; where it reads
  /// fewer, std::logic_error. Also where `slot` is not empty; std::invalid_argument for a wrong length.
  void share_prefix(int slot, int of, int length);

  /// The empty slot begins as `origin` says: the first `origin.shared` tokens are shared, those up to `origin.end` are
  /// copied, with what rings and states need to go on from there, and the encoder input, of which `slot` has none yet.
  /// Throws like share_prefix and copy; then `slot` stays empty.
  void fork(int slot, const fork_spec& origin);

  /// Tokens [begin, end) of slot `from` are copied to the same positions of slot `to`, which ends at `end` afterwards.
  /// Its first `begin` tokens are taken to be the same as those of `from` by layers that do not keep single tokens.
  /// `begin` is at most length(to), `end` at most length(from): otherwise std::length_error. Throws std::logic_error
  /// where it would overwrite what `to` shares with other slots, or a layer of `from` cannot return to `end`;
  /// std::system_error where memory is refused: then `to` ends at `begin`; where layers do not keep single tokens it
  /// holds only what other slots read of it, like after release(), and has to be cleared.
  void copy(int from, int to, int begin, int end);

  /// Bytes of a slot exported at `length` tokens, with an encoder input of `encoder_length`.
  std::int64_t exported_bytes(int length, int encoder_length = 0) const;

  /// Writes all that the slot holds, its base and encoder input included (snapshots are not), to `into`, which has
  /// exported_bytes(length(slot), encoder_length(slot)) bytes (std::invalid_argument otherwise). The bytes mean
  /// something only to a cache of the same shapes and options.
  void export_slot(int slot, std::span<std::byte> into) const;

  /// What these bytes are, in their order: the tokens of full, sliding and chunked attention are numbers where they are
  /// in full precision and are not to be packed; states, encoder inputs, what is packed or will be, and what own layers
  /// write are bytes that stay as they are.
  std::vector<exported_run> exported_runs(int length, int encoder_length = 0) const;

  /// The most bytes that compress() makes of a slot's export, by its length. An encoder input is counted at its
  /// longest.
  memory_terms compressed_terms() const;

  /// Fills the empty slot with `length` exported tokens, bit by bit as they were. Throws std::logic_error where it is
  /// not empty, std::invalid_argument where the number of bytes is wrong, and like `reserve`: then it stays empty.
  void import_slot(int slot, int length, std::span<const std::byte> from, int encoder_length = 0);

  /// The same without the plain copying: that is what they return, to be done by anybody. Until it is, the slot (and
  /// what `into` or `from` points to) neither changes nor goes away, and an imported slot is not read; others may be.
  /// Should it fail, an imported slot has to be cleared.
  std::vector<byte_copy> begin_export(int slot, std::span<std::byte> into) const;
  std::vector<byte_copy> begin_import(int slot, int length, std::span<const std::byte> from, int encoder_length = 0);

  /// What a slot takes by the tokens it holds itself: those in a base are not counted twice.
  /// An encoder input is counted at its longest.
  memory_terms footprint_terms() const;

  /// footprint_terms()(length).
  std::int64_t footprint(int length) const { return footprint_terms()(length); }

  /// Bytes of memory that all slots take now.
  std::int64_t committed_bytes() const;

 private:
  void check_bound(int slot, std::int64_t wanted) const;
  void check_empty(int slot) const;
  void check_not_shared(int slot, int from) const;
  void check_can_return(int slot, int length) const;
  void check_exported(int slot, int length, int encoder_length, std::size_t bytes) const;
  void check_origin(int slot, const fork_spec& origin) const;
  slot_parent parent_for(int of, int length) const;
  void drop(int slot, int length);
  void forget_snapshots(int slot, int beyond);
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
  int longest_step_ = 0;
  int max_rollback_tokens_ = 0;
};

}  // namespace cogen::cache
