#pragma once

#include <cogen/extend/kv_layer.hpp>

#include <vector>

namespace cogen::cache::test {

/// A kind of a user's own, with no more than the interface asks for: every slot is an array that grows by
/// concatenation.
class concat_layer final : public layer {
 public:
  concat_layer(const kv_cache_spec& shape, scalar type, const slot_table& table, int max_sequence_length);

  int max_sequence_length() const noexcept override { return max_sequence_length_; }
  void append(const step& step, const head_rows& k, const head_rows& v) override;
  keys_values to_dense(int slot, int length) const override;
  void truncate(int slot, int length) override;
  void clear(int slot) override;

 private:
  keys_values room_for(int tokens) const;
  keys_values first_tokens(int slot, int length, int more) const;

  int max_sequence_length_;
  std::vector<keys_values> held_;  // [slots]
};

}  // namespace cogen::cache::test
