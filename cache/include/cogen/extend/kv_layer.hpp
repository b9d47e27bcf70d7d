#pragma once

#include <cogen/detail/cache/attention_span.hpp>
#include <cogen/detail/cache/head_rows.hpp>
#include <cogen/detail/cache/kv_cache_spec.hpp>
#include <cogen/detail/cache/mask.hpp>
#include <cogen/detail/cache/slot_table.hpp>
#include <cogen/detail/cache/snapshot_codec.hpp>
#include <cogen/detail/cache/step.hpp>
#include <cogen/detail/cache/transfer.hpp>
#include <cogen/detail/cache/view.hpp>
#include <cogen/detail/slot_footprint.hpp>
#include <cogen/detail/slot_fork.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace cogen::cache {

/// The key positions of a mask: column j stands for position j if j < sinks, and for position j - sinks + kv_offset
/// otherwise.
struct kv_extent {
  int kv_length = 0;
  int kv_offset = 0;
  int sinks = 0;
};

/// The state of one slot in a recurrent layer, `shape.state` numbers each: the state before some tokens of a step
/// (zeros for an empty slot), and where to write the whole state after them.
struct state_view {
  const float* previous = nullptr;
  float* next = nullptr;
};

/// One layer of a model's cache, for all slots: the interface of every cache kind.
///
/// In a step, `reserve` makes room. A kernel writes through `view` and then calls `written`; or `append` does both, as
/// the plain reference. `advance` makes the new tokens count. A recurrent layer has no tokens: a kernel reads and
/// writes its `state` instead. Positions follow from the slot's length in the table and the row's count; during the
/// step the table still holds the lengths before it. A custom kind overrides `append`, `to_dense`, `truncate` and
/// `clear`; all other members have defaults that use these.
///
/// Not every kind can go back to every length: a ring overwrites what it no longer needs, and a recurrent layer has one
/// state, beside those within the drafts of the slot's last row. `can_truncate` says whether it can; `take_checkpoint`
/// adds the present length to those that a slot can return to.
///
/// Layers that share memory return the same `storage()`. Operations on whole slots (`reserve`, `advance`, `truncate`,
/// `release`, `clear`, `share_prefix`, `copy`, snapshots, export, import, `footprint_terms`, `committed_bytes`) are
/// then called for one of them and act for all. `cache` calls these members in the right order and checks their
/// arguments. The length in the table changes after the layers have changed.
///
/// Not thread-safe: concurrent reads are safe only while no thread changes the layer. Not bound to a thread.
class layer {
 public:
  virtual ~layer() = default;
  layer(const layer&) = delete;
  layer& operator=(const layer&) = delete;

  const kv_cache_spec& shape() const noexcept { return shape_; }
  scalar type() const noexcept { return type_; }

  /// Lengths of the slots; in a cross layer, of their encoder inputs.
  const slot_table& slots() const noexcept { return slots_; }

  /// Which keys queries attend to. A custom kind with another rule overrides `rule`.
  const attention_span& span() const noexcept { return span_; }
  virtual mask rule() const { return rule_of(span_); }

  /// Identifies the memory this layer keeps its tokens in. Only ever compared.
  virtual const void* storage() const noexcept { return this; }

  /// The most tokens a slot can hold in this layer.
  virtual int max_sequence_length() const noexcept;

  /// How far a slot can go back without a snapshot, counted from the most tokens that it, or the slot it was copied
  /// from, has held. Default: any way.
  virtual int max_rollback_tokens() const noexcept;

  /// How many drafts of its last row a slot can drop. Default: max_rollback_tokens().
  virtual int max_dropped_drafts() const noexcept { return max_rollback_tokens(); }

  /// The most new tokens of a slot in one step for which there is always room. Default: any number.
  virtual int max_step_tokens() const noexcept;

  /// Makes room for the step's new keys and values. Throws std::length_error, naming the slot, the wanted length and
  /// the limit, and std::system_error if memory is refused; then nothing has changed.
  virtual void reserve(const step& step);

  /// Waits for all that was started for the step. Throws its error; then the step's tokens must not count.
  virtual void settle();

  /// Called when the step's tokens are written and about to count. Does not throw.
  virtual void advance(const step& step);

  /// Where the first `kv_length` tokens of a slot lie, as far as queries still attend to them; nothing for a kind that
  /// cannot be read in place. `kv_length` may include tokens reserved but not advanced: only those may be written.
  /// Throws std::out_of_range beyond the reserved room.
  virtual std::optional<kv_view> view(int slot, int kv_length) const;

  /// The state of a slot that has a row in the reserved step, before and after the row's tokens up to its drafts; with
  /// `draft` from 1 on, before and after that draft token alone. Nothing for layers of tokens.
  virtual std::optional<state_view> state(int slot, int draft = 0) const;

  /// Called when the step's keys and values are written through views and may be read. Throws errors of quantizing or
  /// moving them.
  virtual void written(const step& step);

  /// Writes the new keys and values of a reserved step: k [kv_heads, tokens, head_dim] and v [kv_heads, tokens,
  /// value_dim()], rounded to the layer's number format (to nearest even); of latent attention only k. Throws
  /// std::invalid_argument for other shapes.
  virtual void append(const step& step, const head_rows& k, const head_rows& v) = 0;

  /// Copies the first `length` tokens of a slot, including those written but not advanced, or those of them that
  /// mask_sizes() names.
  virtual keys_values to_dense(int slot, int length) const = 0;

  /// The keys that `q_length` new tokens of a slot attend to. Default: all.
  virtual kv_extent mask_sizes(int slot, int q_length) const;

  /// Whether the slot can go back to its first `length` tokens.
  virtual bool can_truncate(int slot, int length) const;

  /// Drops all tokens from `length` on, and memory that was only reserved. If `length` lies within a block of a shared
  /// prefix, the rest of that block is copied, so it may throw like `reserve`. At a multiple of 64 it never throws.
  virtual void truncate(int slot, int length) = 0;

  /// The slot has no owner any more: keeps only those of its first `length` tokens that other slots read. Default:
  /// truncate.
  virtual void release(int slot, int length);

  /// Lets the slot return to its present length until it is cut below it or the snapshot is dropped. Default: nothing,
  /// as layers that can return to any length need nothing. Throws std::bad_alloc; then nothing has changed.
  virtual void take_checkpoint(int slot);
  virtual void drop_checkpoint(int slot, int length);

  /// Empties the slot and returns its memory.
  virtual void clear(int slot) = 0;

  /// The empty slot reads the first `length` tokens of slot `source` from now on. Default: copies them.
  virtual void share_prefix(int slot, int source, int length);

  /// The empty slot `fork.slot` begins as `fork` says. Default: copies all of it. Throws like `reserve`.
  virtual void fork(const slot_fork& fork);

  /// Copies tokens [begin, end) of slot `source` to slot `target`, which holds `begin` tokens; they equal those of
  /// `source` if a kind does not keep single tokens. `source` can be cut to `end`. Throws like `reserve`.
  virtual void copy(int source, int target, int begin, int end);

  /// Bytes that `export_slot` writes for a slot of `length` tokens.
  virtual std::int64_t exported_bytes(int length) const;

  /// Writes all that the slot holds, with its shared prefix, so that `import_slot` of a layer of the same shape and
  /// type restores it bit for bit. `output` has exported_bytes(length of the slot) bytes. Plain copies may be added to
  /// `later` instead, to be carried out on any thread before the slot changes.
  virtual void export_slot(int slot, std::span<std::byte> output, std::vector<byte_copy>& later) const;

  /// Describes the exported_bytes(length) bytes of `export_slot`, in their order. Default: opaque bytes.
  virtual std::vector<exported_run> exported_runs(int length) const;

  /// Whether the numbers in exported bytes, from anywhere, are finite, quantized ones and states among them. Any
  /// thread. Default: of bytes as export_slot() writes them by default, numbers of type(). A kind that writes others
  /// says what those hold.
  virtual bool has_finite_numbers(std::span<const std::byte> exported, int length) const;

  /// The most bytes that compress() makes of them, by the slot's length. Default: footprint_terms().
  virtual slot_footprint compressed_terms() const;

  /// Fills the empty slot with `length` exported tokens. Throws like `reserve`. Copies added to `later` must be carried
  /// out before the slot is used.
  virtual void import_slot(int slot, int length, std::span<const std::byte> input, std::vector<byte_copy>& later);

  /// Memory of a slot by its length.
  virtual slot_footprint footprint_terms() const;

  /// Bytes taken now by all slots.
  virtual std::int64_t committed_bytes() const;

 protected:
  /// `slots` must outlive the layer. Throws like `check(shape)`.
  layer(const kv_cache_spec& shape, scalar type, const slot_table& slots);
  layer(const kv_cache_spec& shape, scalar type, const slot_table& slots, const attention_span& span);

  /// Throws std::length_error if a slot would hold more than max_sequence_length() tokens after the step.
  void check_room(const step& step) const;

  /// Throws std::invalid_argument, naming both shapes, unless k and v are what append() takes.
  void check_new(const step& step, const head_rows& k, const head_rows& v) const;

  /// The keys that a slot's `length` tokens and `q_length` new ones offer to queries.
  kv_extent extent(int length, int q_length) const;

  /// The first `length` tokens of a slot, as far as mask_sizes() names them, assembled from `read(begin, end)`.
  keys_values read_extent(int slot, int length, const std::function<keys_values(int begin, int end)>& read) const;

 private:
  kv_cache_spec shape_;
  scalar type_;
  const slot_table& slots_;
  attention_span span_;
};

}  // namespace cogen::cache
