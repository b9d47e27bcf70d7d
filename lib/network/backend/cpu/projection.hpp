#pragma once

#include "network/backend/cpu/forward_context.hpp"
#include "network/kernels/prologue.hpp"
#include "network/kernels/tiled_matrix.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cogen::cpu {

/// A projection's left side: stored rows, or rows that a prologue computes as they are read.
struct input {
  input() = default;
  input(const activations& x, const kernels::prologue* computed_by = nullptr) : rows(x), maker(computed_by) {}

  activations rows;
  const kernels::prologue* maker = nullptr;
};

/// Columns of a product from `first` on are added up(down(x)).
struct adapter {
  std::shared_ptr<const kernels::tiled_matrix> down;
  std::shared_ptr<const kernels::tiled_matrix> up;
  std::int64_t first = 0;
};

/// One matrix, or several that read the same input and lie below one another (q|k|v, gate|up), with or without biases
/// and adapters. Immutable.
struct projection {
  std::shared_ptr<const kernels::tiled_matrix> weights;
  std::vector<float> bias = {};  ///< [outputs], or none
  std::vector<adapter> adapters = {};
  bool is_shard = false;  ///< its results are added to those of other ranks

  /// y = W x + b. x [rows, inputs], y [rows, outputs]; they do not overlap.
  void operator()(const forward_context& context, const input& x, const activations& y) const;

  /// y += W x + b.
  void add(const forward_context& context, const input& x, const activations& y) const;

  std::int64_t bytes() const;

  explicit operator bool() const { return weights != nullptr; }
};

/// One of several products.
struct projected_rows {
  const projection* linear = nullptr;
  input x;
  activations y;
};

/// y = linear(x) of each product. Threads wait for each other as if a few were one. No product writes what another one
/// reads.
void project(const forward_context& context, std::span<const projected_rows> products);

/// Columns of each head, where heads lie side by side.
struct head_columns {
  activations rows;
  std::int64_t stride;  // of heads
  std::int64_t first;   // of a head
  std::int64_t count;

  activations columns_of(std::int64_t head) const { return rows.columns_from(head * stride + first, count); }
};

/// y of each head = that head's product of its x, without adapters.
void project_heads(const forward_context& context, std::span<const projection> projections, const head_columns& x,
                   const head_columns& y);

}  // namespace cogen::cpu
