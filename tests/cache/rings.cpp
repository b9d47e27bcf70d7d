// Layers that keep no more than queries still see: what stays where it is, chunk boundaries, and what is gone for good.
#include "kinds.hpp"
#include "says.hpp"
#include "twin.hpp"

#include <ATen/ops/empty.h>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace cogen::cache::test {

BOOST_AUTO_TEST_SUITE(rings_of_blocks)
namespace {

namespace data = boost::unit_test::data;

constexpr int chunk = 70;
constexpr int heads = 2, head_dim = 8;

/// A ring that a long sequence goes round in.
struct ring_kind {
  const char* name;
  layer_kind kind;
  int window;
  std::optional<sink_window> sinks;
};

std::ostream& operator<<(std::ostream& out, const ring_kind& kind) { return out << kind.name; }

const std::vector<ring_kind> rings{{"sliding", layer_kind::sliding, 50, {}},
                                   {"chunked", layer_kind::chunked, chunk, {}},
                                   {"sinks", layer_kind::full, 0, sink_window{.sinks = 4, .window = 50}}};

cache make_cache(const ring_kind& kind, int max_step_tokens = 40, int max_rollback_tokens = 8) {
  const kv_cache_spec shape{.kind = kind.kind, .kv_heads = heads, .head_dim = head_dim, .window = kind.window};
  return cache({&shape, 1}, {.type = scalar::f32,
                             .max_sequence_length = kind.sinks ? 0 : 5000,
                             .sinks = kind.sinks,
                             .max_step_tokens = max_step_tokens,
                             .max_rollback_tokens = max_rollback_tokens});
}

/// Tokens that are all their own position.
at::Tensor positions(int begin, int count) {
  const at::Tensor result = at::empty({count, heads, head_dim}, at::kFloat);
  for (int i = 0; i < count; ++i) result[i].fill_(static_cast<float>(begin + i));
  return result;
}

void write(cache& cache, const step& step) {
  cache.reserve(step);
  const at::Tensor k = positions(cache.length(0), step.tokens());
  append(cache.layer(0), step, k, -k);
}

void append(cache& cache, int count) {
  const step step({{.slot = 0, .count = count}});
  write(cache, step);
  cache.advance(step);
}

void append_up_to(cache& cache, int length) {
  while (cache.length(0) < length) append(cache, std::min(cache.max_step_tokens(), length - cache.length(0)));
}

float key(const kv_view& view, int position) {
  float value = 0;
  std::memcpy(&value, key_at(view, position, heads - 1) + (head_dim - 1) * 64 * sizeof(float), sizeof(value));
  return value;
}

/// All memory that a view may show, place by place.
std::vector<std::byte> all_bytes(const kv_view& view) {
  std::vector<std::byte> bytes;
  for (int i = 0; i < view.ranges; ++i) {
    const kv_range& range = view.range[i];
    const std::int64_t ends = (range.end + 63) / 64 - range.first;
    const std::int64_t blocks = range.ring > 0 ? std::min(range.ring, ends) : 1;
    bytes.insert(bytes.end(), range.data, range.data + blocks * view.block_stride);
  }
  return bytes;
}

/// Bytes of one token, keys and values.
constexpr int token_bytes = 2 * heads * head_dim * 4;

int changed(const std::vector<std::byte>& original, const std::vector<std::byte>& after) {
  int count = 0;
  for (std::size_t i = 0; i < original.size(); ++i) count += original[i] != after[i];
  return count;
}

}  // namespace

BOOST_DATA_TEST_CASE(a_new_token_touches_no_other, data::make(rings), kind) {
  cache cache = make_cache(kind);
  const auto& layer = cache.layer(0);
  append(cache, 40);
  while (cache.length(0) < 600) {
    const int length = cache.length(0);
    const step step({{.slot = 0, .count = 1}});
    cache.reserve(step);
    const kv_view previous = *layer.view(0, length + 1);
    const auto bytes = all_bytes(previous);
    const at::Tensor k = positions(length, 1);
    append(cache.layer(0), step, k, -k);
    cache.advance(step);
    const kv_view after = *layer.view(0, length + 1);
    BOOST_TEST_REQUIRE(changed(bytes, all_bytes(after)) <= token_bytes);
    const int first = first_seen(layer.span(), length);
    for (int position = 0; position <= length; ++position) {
      if (position >= layer.span().sinks && position < first) continue;
      BOOST_TEST_REQUIRE(key_at(after, position, 1) == key_at(previous, position, 1));
      BOOST_TEST_REQUIRE(key(after, position) == static_cast<float>(position));
    }
  }
}

BOOST_DATA_TEST_CASE(every_query_of_a_step_finds_what_it_sees, data::make(rings) * data::make({1, 7, 39, 40}), kind,
                     count) {
  cache cache = make_cache(kind);
  const auto& layer = cache.layer(0);
  while (cache.length(0) < 500) {
    const int length = cache.length(0);
    const step step({{.slot = 0, .count = count}});
    write(cache, step);
    const kv_extent extent = layer.mask_sizes(0, count);
    BOOST_TEST_REQUIRE(extent.kv_length - extent.sinks + extent.kv_offset == length + count);
    const keys_values held = layer.to_dense(0, length + count);
    BOOST_TEST_REQUIRE(held.k.tokens == extent.kv_length);
    const kv_view view = *layer.view(0, length + count);
    for (int query = length; query < length + count; ++query)
      for (int position = 0; position <= query; ++position) {
        if (!layer.rule()(query, position)) continue;
        BOOST_TEST_REQUIRE(key(view, position) == static_cast<float>(position));
        const int column = position < extent.sinks ? position : position - extent.kv_offset + extent.sinks;
        BOOST_TEST_REQUIRE(held.k.row(1, column)[3] == static_cast<float>(position));
      }
    cache.advance(step);
  }
}

BOOST_AUTO_TEST_CASE(a_chunk_begins_with_no_history) {
  cache cache = make_cache(rings[1]);
  const auto& layer = cache.layer(0);
  for (int length = 1; length < 4 * chunk; ++length) {
    append(cache, 1);
    BOOST_TEST_REQUIRE(layer.mask_sizes(0, 0).kv_length == length % chunk);
    BOOST_TEST_REQUIRE(layer.mask_sizes(0, 0).kv_offset == length / chunk * chunk);
    BOOST_TEST_REQUIRE(layer.to_dense(0, length).k.tokens == length % chunk);
  }
}

BOOST_AUTO_TEST_CASE(a_slot_returns_to_any_boundary_of_its_chunks) {
  for (const int length : {0, chunk, 2 * chunk, 9 * chunk, 14 * chunk}) {
    cache cache = make_cache(rings[1]);
    append_up_to(cache, 1000);
    BOOST_TEST(!cache.can_truncate(0, 2 * chunk + 20));
    BOOST_TEST_REQUIRE(cache.can_truncate(0, length));
    cache.truncate(0, length);
    append(cache, 40);
    append(cache, 40);
    const kv_view view = *cache.layer(0).view(0, length + 80);
    for (int position = length + chunk; position < length + 80; ++position)
      BOOST_TEST(key(view, position) == static_cast<float>(position));
    cache.truncate(0, length + 75);
    append(cache, 3);
    BOOST_TEST(key(*cache.layer(0).view(0, length + 78), length + 71) == static_cast<float>(length + 71));
  }
}

BOOST_AUTO_TEST_CASE(a_step_longer_than_rings_leave_room_for_is_named) {
  cache cache = make_cache(rings[0]);
  append_up_to(cache, 300);
  BOOST_CHECK_EXCEPTION(cache.reserve(step({{.slot = 0, .count = 200}})), std::length_error,
                        says({"slot 0", "200 tokens", "room for 40"}));
  append(cache, 40);
  BOOST_TEST(key(*cache.layer(0).view(0, 340), 339) == 339);
}

BOOST_AUTO_TEST_CASE(a_released_slot_shares_no_rings_and_states) {
  const std::vector<kv_cache_spec> partners{{.kind = layer_kind::sliding, .kv_heads = 1, .head_dim = 8, .window = 50},
                                            {.kind = layer_kind::recurrent, .state = 30},
                                            {.kind = layer_kind::chunked, .kv_heads = 1, .head_dim = 8, .window = 100}};
  for (const kv_cache_spec& other : partners) {
    const kv_cache_spec full{.kv_heads = 1, .head_dim = 8};
    const auto make = [&](std::span<const kv_cache_spec>, int slots, int max_sequence_length) {
      return cache(std::vector{full, other},
                   {.type = scalar::f32, .slots = slots, .max_sequence_length = max_sequence_length});
    };
    twin twin({.name = "hybrid", .type = scalar::f32, .keeps_all = false, .in_place = false, .make = make}, 4, 1000);
    twin.append({{.slot = 0, .count = 128}});
    twin.share_prefix(1, 0, 128);
    twin.tested().release(0, 128);
    const auto named = says({"slot 0", "layer 1"});
    BOOST_CHECK_EXCEPTION(twin.tested().share_prefix(2, 0, 128), std::logic_error, named);
    BOOST_CHECK_EXCEPTION(twin.tested().fork({.slot = 2, .parent = 0, .shared = 128, .source = 0, .end = 128}),
                          std::logic_error, named);
    BOOST_CHECK_EXCEPTION(twin.tested().copy(0, 2, 0, 128), std::logic_error, named);
    twin.fork(2, 1, 128, 128);
    twin.append({{.slot = 1, .count = 3}, {.slot = 2, .count = 9}});
    twin.clear(1);
    twin.clear(2);
    twin.clear(0);
    twin.append({{.slot = 0, .count = 128}});
    twin.share_prefix(1, 0, 128);
    twin.check();
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::cache::test
