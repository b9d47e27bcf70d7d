#pragma once

#include <cogen/cache/attention_span.hpp>
#include <cogen/cache/compressed_snapshot.hpp>
#include <cogen/cache/kv_cache_spec.hpp>
#include <cogen/cache/mask.hpp>
#include <cogen/cache/memory_terms.hpp>
#include <cogen/cache/slot_table.hpp>
#include <cogen/cache/step.hpp>
#include <cogen/cache/transfer.hpp>
#include <cogen/cache/view.hpp>

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace cogen::cache {

/// Keys and values of one slot in one layer, [kv_heads, length, head_dim]: in the layer's number format, or in float32
/// where some of them are packed.
struct keys_values {
  at::Tensor k;
  at::Tensor v;
};

/// What the keys' side of a mask is made of: column j stands for position j where j < sinks, and for position j - sinks
/// + kv_offset otherwise.
struct kv_extent {
  int kv_length = 0;
  int kv_offset = 0;
  int sinks = 0;
};

/// The state of one slot in a recurrent layer, `shape.state` numbers each: what was before the step (zeros for an empty
/// slot), and where all of what is after it is to be written.
struct state_view {
  const float* before = nullptr;
  float* after = nullptr;
};

/// The tensor type of a number format.
at::ScalarType tensor_type(scalar type);

/// What one layer of a model remembers, for all slots: the interface of every cache kind.
///
/// In a step, `reserve` makes room, a kernel writes through `view` and says so by `written` (or `append` does both, the
/// naive specification), and `advance` makes the new tokens count. A recurrent layer has no tokens: a kernel reads and
/// writes its `state` instead. Positions come from the slot's length in the table and the row's count; during
/// the step the table still holds the lengths before it. A kind of your own overrides `append`, `to_dense`,
/// `truncate` and `clear`; everything else has a default that works through these.
///
/// Not every kind can go back to every length: a ring has overwritten what it no longer needs, a recurrent state is one
/// state. `can_truncate` tells; `take_snapshot` adds the present length to those that a slot can return to.
///
/// Layers that keep their memory together name the same `storage()`. What concerns whole slots (`reserve`, `advance`,
/// `truncate`, `release`, `clear`, `share_prefix`, `copy`, snapshots, export, import, `footprint_terms`,
/// `committed_bytes`) is then called for one of them and acts for all. `cache` calls these members in the right order
/// and checks their arguments; the length in the table changes after the layers have done their part.
///
/// Not thread-safe: readers may share it while nobody changes it. Works on any thread.
class layer {
 public:
  virtual ~layer() = default;
  layer(const layer&) = delete;
  layer& operator=(const layer&) = delete;

  const kv_cache_spec& shape() const noexcept { return shape_; }
  scalar type() const noexcept { return type_; }

  /// Lengths of the slots, of their encoder inputs in a cross layer.
  const slot_table& slots() const noexcept { return slots_; }

  /// Which keys queries see. A kind of your own that follows another rule overrides `rule`.
  const attention_span& span() const noexcept { return span_; }
  virtual mask rule() const { return rule_of(span_); }

  /// The memory this layer keeps its tokens in. Only ever compared.
  virtual const void* storage() const noexcept { return this; }

  /// The most tokens a slot can hold here.
  virtual int max_sequence_length() const noexcept;

  /// How far a slot can go back without a snapshot, from the most it, or what it came from, held. By default any way.
  virtual int max_rollback_tokens() const noexcept;

  /// The most new tokens of a slot in one step that there is always room for. By default any number.
  virtual int longest_step() const noexcept;

  /// Makes room for the step's new keys and values. Throws std::length_error, naming the slot, the wanted length and
  /// the limit, and std::system_error where the machine has no memory left; then nothing has changed.
  virtual void reserve(const step& step);

  /// All that was begun for the step has ended. Throws what went wrong; then the step's tokens must not count.
  virtual void settle();

  /// The step's tokens are written and about to count. Does not throw.
  virtual void advance(const step& step);

  /// Where the first `kv_length` tokens of a slot lie, as far as queries still see them, or nothing for a kind that
  /// cannot be read in place. `kv_length` may include what was reserved and is not advanced yet: only that part may be
  /// written. Throws std::out_of_range beyond the room that was reserved.
  virtual std::optional<kv_view> view(int slot, int kv_length) const;

  /// The state of a slot that has a row in the reserved step; nothing for layers of tokens.
  virtual std::optional<state_view> state(int slot) const;

  /// The step's keys and values were written through views and may be read. Throws what packing or moving them throws.
  virtual void written(const step& step);

  /// Writes the new keys and values of a reserved step: k and v [tokens, kv_heads, head_dim], of any floating type,
  /// rounded to the layer's (to nearest even). Throws std::invalid_argument for other shapes.
  virtual void append(const step& step, const at::Tensor& k, const at::Tensor& v) = 0;

  /// The first `length` tokens of a slot, written but not advanced ones included, or those of them that mask_sizes()
  /// names. A copy.
  virtual keys_values to_dense(int slot, int length) const = 0;

  /// The keys that `q_length` new tokens of a slot are held against. By default all.
  virtual kv_extent mask_sizes(int slot, int q_length) const;

  /// Whether the slot can go back to its first `length` tokens.
  virtual bool can_truncate(int slot, int length) const;

  /// Forgets all tokens from `length` on, and gives back memory that was only reserved. Where that ends within a block
  /// of a base read in place, what is left of the block is copied, so it may throw like `reserve`; at a multiple of 64
  /// it never throws.
  virtual void truncate(int slot, int length) = 0;

  /// The slot has no owner any more: only what other slots read of its first `length` tokens has to stay. By default
  /// truncate.
  virtual void release(int slot, int length);

  /// The slot can return to its present length until it is cut below it or the snapshot is dropped. By default nothing,
  /// as layers that can return to any length need nothing. Throws std::bad_alloc; then nothing has changed.
  virtual void take_snapshot(int slot);
  virtual void drop_snapshot(int slot, int length);

  /// Forgets everything and gives the memory back.
  virtual void clear(int slot) = 0;

  /// The empty slot reads the first `length` tokens of slot `of` from now on. By default it copies them.
  virtual void share_prefix(int slot, int of, int length);

  /// The empty slot begins as `origin` says. By default all of it is copied. Throws like `reserve`.
  virtual void fork(int slot, const fork_spec& origin);

  /// Tokens [begin, end) of slot `from` are copied to slot `to`, which holds `begin` tokens: the same as `from`, where
  /// a kind does not keep single tokens. `from` can be cut to `end`. Throws like `reserve`.
  virtual void copy(int from, int to, int begin, int end);

  /// Bytes that `export_slot` writes for a slot of `length` tokens.
  virtual std::int64_t exported_bytes(int length) const;

  /// Writes all that the slot holds, its base included, in a form that `import_slot` of a layer with the same shape and
  /// type takes back bit by bit. `into` has exported_bytes(length of the slot) bytes. What of this is plain copying may
  /// be added to `later` instead, to be done by anybody before the slot changes.
  virtual void export_slot(int slot, std::span<std::byte> into, std::vector<byte_copy>& later) const;

  /// What the exported_bytes(length) bytes of `export_slot` are, in their order. By default nothing but the layer's
  /// own.
  virtual std::vector<exported_run> exported_runs(int length) const;

  /// The most bytes that compress() makes of them, by the slot's length. By default footprint_terms().
  virtual memory_terms compressed_terms() const;

  /// Fills the empty slot with `length` exported tokens. Throws like `reserve`. Copies added to `later` have to be done
  /// before the slot is used.
  virtual void import_slot(int slot, int length, std::span<const std::byte> from, std::vector<byte_copy>& later);

  /// What a slot takes by its length.
  virtual memory_terms footprint_terms() const;

  /// Bytes taken now, by all slots.
  virtual std::int64_t committed_bytes() const;

 protected:
  /// `slots` outlives the layer. Throws like `check(shape)`.
  layer(const kv_cache_spec& shape, scalar type, const slot_table& slots);
  layer(const kv_cache_spec& shape, scalar type, const slot_table& slots, const attention_span& span);

  /// Throws std::length_error where a slot would hold more than max_sequence_length() tokens after the step.
  void check_room(const step& step) const;

  /// Throws std::invalid_argument, naming both shapes, unless k and v are [tokens, kv_heads, head_dim].
  void check_new(const step& step, const at::Tensor& k, const at::Tensor& v) const;

  /// What queries see of a slot's `length` tokens and `q_length` new ones.
  kv_extent extent(int length, int q_length) const;

  /// The first `length` tokens of a slot as far as mask_sizes() names them, put together by `read(begin, end)`.
  keys_values read_extent(int slot, int length, const std::function<keys_values(int begin, int end)>& read) const;

 private:
  kv_cache_spec shape_;
  scalar type_;
  const slot_table& slots_;
  attention_span span_;
};

}  // namespace cogen::cache
