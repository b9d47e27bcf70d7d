#pragma once

#include <cogen/cache/layer_shape.hpp>
#include <cogen/cache/memory_terms.hpp>
#include <cogen/cache/slot_table.hpp>
#include <cogen/cache/step.hpp>
#include <cogen/cache/view.hpp>

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace cogen::cache {

/// Keys and values of one slot in one layer, in the layer's number format. Both [kv_heads, length, head_dim].
struct keys_values {
  at::Tensor k;
  at::Tensor v;
};

/// What the keys' side of a mask is made of: column j stands for position j + kv_offset.
struct kv_extent {
  int kv_length = 0;
  int kv_offset = 0;
};

/// The tensor type of a number format.
at::ScalarType tensor_type(scalar type);

/// What one layer of a model remembers, for all slots: the interface of every cache kind.
///
/// In a step, `reserve` makes room, a kernel writes through `view` (or `append` does, the naive specification), and
/// `advance` makes the new tokens count. Positions come from the slot's length in the table and the row's count; during
/// the step the table still holds the lengths before it. A kind of your own overrides `append`, `materialise`,
/// `truncate` and `clear`; everything else has a default that works through these.
///
/// Layers that keep their memory together name the same `storage()`. What concerns whole slots (`reserve`, `advance`,
/// `truncate`, `clear`, `adopt`, `copy`, export, import, `footprint_terms`, `committed_bytes`) is then called for one
/// of them and acts for all. `cache` calls these members in the right order and checks their arguments; the length in
/// the table changes after the layers have done their part.
///
/// Not thread-safe: readers may share it while nobody changes it. Works on any thread.
class layer {
 public:
  virtual ~layer() = default;
  layer(const layer&) = delete;
  layer& operator=(const layer&) = delete;

  const layer_shape& shape() const noexcept { return shape_; }
  scalar type() const noexcept { return type_; }
  const slot_table& slots() const noexcept { return slots_; }

  /// The memory this layer keeps its tokens in. Only ever compared.
  virtual const void* storage() const noexcept { return this; }

  /// The most tokens a slot can hold here.
  virtual int max_length() const noexcept;

  /// Makes room for the step's new keys and values. Throws std::length_error, naming the slot, the wanted length and
  /// the limit, and std::system_error where the machine has no memory left; then nothing has changed.
  virtual void reserve(const step& step);

  /// The step's tokens are written and about to count.
  virtual void advance(const step& step);

  /// Where the first `kv_length` tokens of a slot lie, or nothing for a kind that cannot be read in place. `kv_length`
  /// may include what was reserved and is not advanced yet: that part is always in the last range, and is the only part
  /// that may be written. Throws std::out_of_range beyond the room that was reserved.
  virtual std::optional<kv_view> view(int slot, int kv_length) const;

  /// Writes the new keys and values of a reserved step: k and v [tokens, kv_heads, head_dim], of any floating type,
  /// rounded to the layer's (to nearest even). Throws std::invalid_argument for other shapes.
  virtual void append(const step& step, const at::Tensor& k, const at::Tensor& v) = 0;

  /// The first `length` tokens of a slot, written but not advanced ones included. A copy.
  virtual keys_values materialise(int slot, int length) const = 0;

  /// The keys that `q_length` new tokens of a slot are held against.
  virtual kv_extent mask_sizes(int slot, int q_length) const;

  /// Whether the slot can go back to its first `length` tokens.
  virtual bool can_truncate(int slot, int length) const;

  /// Forgets all tokens from `length` on, and gives back memory that was only reserved. Where that ends within a block
  /// of a base read in place, what is left of the block is copied, so it may throw like `reserve`; at a multiple of 64
  /// it never throws.
  virtual void truncate(int slot, int length) = 0;

  /// Forgets everything and gives the memory back.
  virtual void clear(int slot) = 0;

  /// The empty slot reads the first `length` tokens of slot `of` from now on. By default it copies them.
  virtual void adopt(int slot, int of, int length);

  /// Tokens [begin, end) of slot `from` are copied to slot `to`, which holds `begin` tokens. Throws like `reserve`.
  virtual void copy(int from, int to, int begin, int end);

  /// Bytes that `export_slot` writes for a slot of `length` tokens.
  virtual std::int64_t exported_bytes(int length) const;

  /// Writes all that the slot holds, its base included, in a form that `import_slot` of a layer with the same shape and
  /// type takes back bit by bit. `into` has exported_bytes(length of the slot) bytes.
  virtual void export_slot(int slot, std::span<std::byte> into) const;

  /// Fills the empty slot with `length` exported tokens. Throws like `reserve`.
  virtual void import_slot(int slot, int length, std::span<const std::byte> from);

  /// What a slot takes by its length.
  virtual memory_terms footprint_terms() const;

  /// Bytes taken now, by all slots.
  virtual std::int64_t committed_bytes() const;

 protected:
  /// `slots` outlives the layer. Throws like `check(shape)`.
  layer(const layer_shape& shape, scalar type, const slot_table& slots);

  /// Throws std::length_error where a slot would hold more than max_length() tokens after the step.
  void check_room(const step& step) const;

  /// Throws std::invalid_argument, naming both shapes, unless k and v are [tokens, kv_heads, head_dim].
  void check_new(const step& step, const at::Tensor& k, const at::Tensor& v) const;

 private:
  layer_shape shape_;
  scalar type_;
  const slot_table& slots_;
};

}  // namespace cogen::cache
