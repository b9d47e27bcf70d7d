// Where the pages of a cache are, and for which numbers of prompts there are plans.
#include "network/backend/cuda/prompt_pages.hpp"

#include <cogen/cache/device_cache.hpp>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <boost/test/unit_test.hpp>

#include <set>
#include <vector>

namespace cogen::test {

namespace {

using device::bucket_of;
using device::page_tokens;
using device::prompt_layout;

constexpr prompt_layout layout_of_8b{.heads = 32,
                                     .kv_heads = 8,
                                     .head_dim = 128,
                                     .slots = 16,
                                     .slot_tokens = 8192,
                                     .token_stride = 1024,
                                     .query_stride = 6144,
                                     .out_stride = 4096};

BOOST_AUTO_TEST_SUITE(device_prompt_pages)

BOOST_AUTO_TEST_CASE(page_i_of_a_slot_holds_its_tokens_from_64_i_on) {
  const cache::kv_cache_spec shape{.kind = cache::layer_kind::full, .kv_heads = 2, .head_dim = 16};
  const std::vector<cache::kv_cache_spec> layers(3, shape);
  const cache::device_cache memory(
      layers, {.type = at::kFloat, .slots = 4, .max_sequence_length = static_cast<int>(3 * page_tokens)});
  for (int index = 0; index < 3; ++index) {
    const auto& layer = memory.layer(index);
    const prompt_layout layout{.kv_heads = 2,
                               .head_dim = 16,
                               .slots = layer.keys.size(0),
                               .slot_tokens = layer.keys.stride(0) / layer.keys.stride(1),
                               .token_stride = layer.keys.stride(1)};
    BOOST_TEST(device::pages_of(layout) == 4 * 3);
    for (const auto& plane : {layer.keys, layer.values}) {
      plane.copy_(at::arange(plane.numel()).view(plane.sizes()));
      const auto pages = plane.as_strided({device::pages_of(layout), page_tokens, 2, 16},
                                          {page_tokens * layout.token_stride, layout.token_stride, 16, 1});
      for (int slot = 0; slot < 4; ++slot)
        for (int page = 0; page < 3; ++page)
          BOOST_TEST(at::equal(pages.select(0, memory.origin(slot) / page_tokens + page),
                               plane.select(0, slot).narrow(0, page * page_tokens, page_tokens)));
    }
  }
}

BOOST_AUTO_TEST_CASE(slots_that_begin_within_a_page_are_not_read_in_pages) {
  BOOST_TEST(device::lies_in_pages(layout_of_8b));
  auto odd = layout_of_8b;
  odd.slot_tokens = 8193;
  BOOST_TEST(!device::lies_in_pages(odd));
}

// Memory comes in parts of 2 MiB: of three heads of 64, the end of a page may have none.
BOOST_AUTO_TEST_CASE(pages_that_may_be_partly_without_memory_are_not_read) {
  auto narrow = layout_of_8b;
  narrow.token_stride = 3 * 64;
  BOOST_TEST(!device::lies_in_pages(narrow));
  narrow.token_stride = 4 * 64;
  BOOST_TEST(device::lies_in_pages(narrow));
  narrow.token_stride = 2 * device::page_unit_bytes;
  BOOST_TEST(!device::lies_in_pages(narrow));
}

BOOST_AUTO_TEST_CASE(a_bucket_has_room_for_its_prompts) {
  for (const std::int64_t prompts : {1, 2, 3, 4, 5, 16, 17, 256})
    for (const std::int64_t longest : {2, 127, 128, 129, 600, 2048, 2049})
      for (const std::int64_t held : {0, 1, 1000, 1024, 30000, 131072}) {
        const auto bucket = bucket_of(prompts, longest, held + longest);
        BOOST_TEST((prompts <= bucket.prompts && bucket.prompts < 4 * prompts));
        BOOST_TEST((longest <= bucket.longest && bucket.longest <= std::max<std::int64_t>(128, 4 * longest - 1)));
        BOOST_TEST(held + longest <= bucket.reach);
        BOOST_TEST(bucket.longest <= bucket.reach);
        BOOST_TEST(bucket.reach % (2 * page_tokens) == 0);
        BOOST_TEST(bucket.table_pages() * page_tokens == bucket.reach);
        BOOST_TEST((bucket == bucket_of(bucket.prompts, bucket.longest, bucket.reach)));
      }
}

BOOST_AUTO_TEST_CASE(there_are_few_buckets) {
  std::set<device::prompt_bucket> buckets;
  for (int prompts = 1; prompts <= 16; ++prompts)
    for (int longest = 2; longest <= 2048; ++longest)
      for (int reach = longest; reach <= 16384; reach += 251) buckets.insert(bucket_of(prompts, longest, reach));
  BOOST_TEST(buckets.size() <= 27u);
}

BOOST_AUTO_TEST_CASE(tables_of_very_many_pages_are_not_made) {
  BOOST_TEST(device::fits_tables(bucket_of(256, 2048, 131072)));
  BOOST_TEST(!device::fits_tables(bucket_of(256, 2048, 1048576)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
