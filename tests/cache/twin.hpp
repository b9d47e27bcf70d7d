#pragma once

#include "kinds.hpp"

#include <cogen/cache/cache.hpp>
#include <cogen/extend/tensors.hpp>

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <map>
#include <random>
#include <vector>

namespace cogen::cache::test {

/// The bytes of a tensor in row-major order.
std::vector<std::byte> bytes_in(const at::Tensor& tensor);

/// Where the first number of a position's key, and where its value lies, as the view's contract says.
const std::byte* key_at(const kv_view& view, std::int64_t position, int head);
const std::byte* value_at(const kv_view& view, std::int64_t position, int head);

/// A cache beside the plainest possible copy of it: for each slot and layer of tokens a tensor that was concatenated,
/// for each recurrent layer the state after each step.
class twin {
 public:
  twin(const kind& kind, int slots, int max_sequence_length, unsigned seed = 1);

  cache& tested() { return cache_; }
  int length(int slot) const { return lengths_[static_cast<std::size_t>(slot)]; }

  /// Random keys and values, all between -4 and 4, through reserve, append, advance; in as many steps as rings want.
  void append(const std::vector<step_row>& rows);

  void truncate(int slot, int length);
  void clear(int slot);
  void copy(int source, int target, int begin, int end);
  void share_prefix(int slot, int source, int length);
  void fork(int slot, int source, int shared, int length);

  /// Exports one slot and imports it into another.
  void move(int source, int target);

  /// Every slot of every layer holds what was concatenated, as far as queries see it: lengths, dense tensors,
  /// and views where there are any; every state is the one that its steps made.
  void check() const;

 private:
  /// What one slot remembers of one layer.
  struct memory {
    kv_tensors tokens;
    std::map<int, std::vector<float>> states;  // by length
  };

  memory& held(int slot, int layer) { return held_[static_cast<std::size_t>(slot)][static_cast<std::size_t>(layer)]; }
  const memory& held(int slot, int layer) const {
    return held_[static_cast<std::size_t>(slot)][static_cast<std::size_t>(layer)];
  }
  memory first_tokens(int slot, int layer, int length) const;
  void hold_first(int slot, int source, int length);
  void step_once(const std::vector<step_row>& rows);
  void append_tokens(const step& step, int layer);
  void append_states(const step& step, int layer);
  at::Tensor random(int tokens, const kv_cache_spec& shape);
  kv_tensors seen(int slot, int layer) const;
  void check_layer(int slot, int layer) const;
  void check_view(const kv_view& view, const kv_extent& extent, const kv_tensors& tokens) const;
  void check_quantized(const kv_view& view, int end, int start, const kv_tensors& tokens) const;

  cache cache_;
  std::mt19937 random_;
  std::vector<int> lengths_;               // [slots]
  std::vector<std::vector<memory>> held_;  // [slots][layers]
};

}  // namespace cogen::cache::test
