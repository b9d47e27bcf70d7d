#pragma once

#include <cogen/cache/view.hpp>

#include <cstddef>
#include <cstdint>

namespace cogen::kernels {

/// Where one position's key and value of head 0 lie.
struct token_place {
  std::byte* key;
  std::byte* value;
};

inline token_place place_of(const cache::kv_view& view, std::int64_t position) {
  std::byte* key = view.block(position / cache::block_tokens) +
                   position % cache::block_tokens * view.head_dim * cache::bytes_of(view.type);
  return {key, key + view.value_offset};
}

}  // namespace cogen::kernels
