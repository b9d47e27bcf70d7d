#pragma once

#include "kinds.hpp"

#include <cogen/cache/cache.hpp>

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <random>
#include <vector>

namespace cogen::cache::test {

/// What a kernel would read through a view, element by element, as the view's contract says where each lies.
/// Bytes of [kv_heads, length, head_dim].
struct bytes_read {
  std::vector<std::byte> k;
  std::vector<std::byte> v;
};
bytes_read read_through(const kv_view& view);

/// The bytes of a tensor in row-major order.
std::vector<std::byte> bytes_in(const at::Tensor& tensor);

/// A cache beside the plainest possible copy of it: for each slot and layer a tensor that was concatenated.
class twin {
 public:
  twin(const kind& kind, int slots, int max_length, unsigned seed = 1);

  cache& tested() { return cache_; }
  int length(int slot) const;

  /// Random keys and values, all between -4 and 4, through reserve, append, advance.
  void append(const std::vector<step_row>& rows);

  void truncate(int slot, int length);
  void clear(int slot);
  void copy(int from, int to, int begin, int end);
  void adopt(int slot, int of, int length);

  /// Exports one slot and imports it into another.
  void move(int from, int to);

  /// Every slot of every layer holds what was concatenated: lengths, materialised tensors, and views where there are
  /// any.
  void check() const;

 private:
  std::vector<keys_values>& held(int slot) { return held_[static_cast<std::size_t>(slot)]; }
  const std::vector<keys_values>& held(int slot) const { return held_[static_cast<std::size_t>(slot)]; }
  std::vector<keys_values> first_tokens(int slot, int length) const;
  at::Tensor random(int tokens, const layer_shape& shape);
  void check_layer(int slot, int layer) const;

  cache cache_;
  std::mt19937 random_;
  std::vector<std::vector<keys_values>> held_;  // [slots][layers]
};

}  // namespace cogen::cache::test
