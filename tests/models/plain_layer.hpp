#pragma once

#include <cogen/cache/cache.hpp>
#include <cogen/extend/kv_layer.hpp>

#include <vector>

namespace cogen::test {

/// A cache layer such as a user may write: its own copy of each slot, joined anew at each step, never read in place.
class plain_layer final : public cache::layer {
 public:
  plain_layer(const cache::kv_cache_spec& shape, cache::scalar type, const cache::slot_table& slots);

  void append(const cache::step& step, const cache::head_rows& k, const cache::head_rows& v) override;
  cache::keys_values to_dense(int slot, int length) const override;
  void truncate(int slot, int length) override;
  void clear(int slot) override;

 private:
  cache::keys_values first_of(const cache::keys_values& tokens, int count, int room) const;

  std::vector<cache::keys_values> held_;  // [slots], each [kv_heads, length, head_dim]
};

/// A cache whose layers are all of that kind.
cache::cache make_plain_cache(const std::vector<cache::kv_cache_spec>& shapes, int slots, cache::scalar type);

}  // namespace cogen::test
