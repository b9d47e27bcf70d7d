#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

namespace cogen::device {

/// Tokens of a page. Attention reads the keys and values of a slot in pages that a table names (Kwon et al.,
/// arXiv:2309.06180), here where they lie in the cache: page i of a slot is page `origin / page_tokens + i` of its
/// plane.
inline constexpr std::int64_t page_tokens = 64;

/// Bytes of which a page is a whole part: no page is partly in memory that was not allocated.
inline constexpr std::int64_t page_unit_bytes = std::int64_t{2} << 20;

/// How the tokens of a layer and of a step lie. Strides are in numbers; those of values are the keys'.
struct prompt_layout {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t slots = 0;
  std::int64_t slot_tokens = 0;  ///< from the first token of a slot to that of the next one
  std::int64_t token_stride = 0;
  std::int64_t query_stride = 0;
  std::int64_t out_stride = 0;
  int number_bytes = 2;

  auto operator<=>(const prompt_layout&) const = default;
};

/// Whether slots are runs of pages.
constexpr bool lies_in_pages(const prompt_layout& layout) {
  const auto page_bytes = page_tokens * layout.token_stride * layout.number_bytes;
  return layout.slot_tokens % page_tokens == 0 && page_bytes > 0 && page_unit_bytes % page_bytes == 0;
}

/// Of a plane.
constexpr std::int64_t pages_of(const prompt_layout& layout) { return layout.slots * layout.slot_tokens / page_tokens; }

/// The numbers for which a plan is made: any with as many or fewer of each run by it.
struct prompt_bucket {
  std::int64_t prompts = 0;
  std::int64_t longest = 0;  ///< new tokens of a prompt
  std::int64_t reach = 0;    ///< tokens that a prompt's slot holds with them; at least as many

  /// Entries of the page table of each prompt.
  constexpr std::int64_t table_pages() const { return reach / page_tokens; }

  auto operator<=>(const prompt_bucket&) const = default;
};

/// Page tables take at most 8 MiB; prompts that need more are not read in pages.
inline constexpr std::int64_t max_table_pages = std::int64_t{2} << 20;

/// The least of `smallest` times powers of 4 that is at least `number`.
constexpr std::int64_t rounded_to_bucket(std::int64_t number, std::int64_t smallest) {
  while (smallest < number) smallest *= 4;
  return smallest;
}

/// Few buckets, as each is a plan that takes time to make; what a bucket has beyond the prompts ends at once.
constexpr prompt_bucket bucket_of(std::int64_t prompts, std::int64_t longest, std::int64_t reach) {
  const auto rounded = rounded_to_bucket(longest, 128);
  return {rounded_to_bucket(prompts, 1), rounded, rounded_to_bucket(std::max(reach, rounded), 1024)};
}

constexpr bool fits_tables(const prompt_bucket& bucket) {
  return bucket.prompts * bucket.table_pages() <= max_table_pages;
}

/// What a plan of attention is made for.
struct prompt_plan_shape {
  prompt_layout layout;
  prompt_bucket bucket;
  int window = 0;  ///< keys that a query attends to, with its own; 0: all
  float scale = 1;
  bool is_bfloat16 = true;  ///< otherwise float16

  auto operator<=>(const prompt_plan_shape&) const = default;
};

}  // namespace cogen::device
