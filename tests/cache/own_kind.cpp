// Layers that a user brings: alone and beside the built-in kinds.
#include "concat_layer.hpp"
#include "kinds.hpp"
#include "says.hpp"
#include "twin.hpp"

#include <ATen/ops/arange.h>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

namespace cogen::cache::test {

BOOST_AUTO_TEST_SUITE(own_kind)
namespace {

namespace data = boost::unit_test::data;

/// The same number everywhere.
keys_values filled(const kv_cache_spec& shape, int tokens, float number) {
  const keys_values result = make_keys_values(shape.kv_heads, tokens, shape.head_dim);
  std::fill_n(result.memory.get(), 2 * shape.kv_heads * tokens * shape.head_dim, number);
  return result;
}

/// Refuses to grow on request.
class refusing_layer final : public layer {
 public:
  refusing_layer(const kv_cache_spec& shape, const slot_table& table, const bool& refuses)
      : layer(shape, scalar::f32, table), refuses_(refuses) {}

  void reserve(const step&) override {
    if (refuses_) throw std::bad_alloc();
  }
  void append(const step&, const head_rows&, const head_rows&) override {}
  keys_values to_dense(int, int length) const override { return filled(shape(), length, 1); }
  void truncate(int, int length) override {
    if (refuses_ && length % block_tokens != 0) throw std::bad_alloc();
  }
  void clear(int) override {}
  std::int64_t committed_bytes() const override { return 0; }

 private:
  const bool& refuses_;
};

/// Shows no more than its newest token.
class short_span_layer final : public layer {
 public:
  short_span_layer(const kv_cache_spec& shape, const slot_table& table) : layer(shape, scalar::f32, table) {}

  void append(const step&, const head_rows&, const head_rows&) override {}
  keys_values to_dense(int, int) const override { return filled(shape(), 1, 1); }
  void truncate(int, int) override {}
  void clear(int) override {}
};

/// Says what it belongs to.
float number_at(int head, int position, int dim) { return static_cast<float>(1000 * head + 10 * position + dim); }

void write_numbers(const head_rows& rows, int begin, float sign) {
  for (int head = 0; head < rows.heads; ++head)
    for (int token = 0; token < rows.tokens; ++token)
      for (int dim = 0; dim < rows.dims; ++dim) rows.row(head, token)[dim] = sign * number_at(head, begin + token, dim);
}

/// Shows sinks and a window of numbers that are never written.
class sinks_layer final : public layer {
 public:
  sinks_layer(const kv_cache_spec& shape, const slot_table& table, const sink_window& kept)
      : layer(shape, scalar::f32, table, {.window = kept.window, .sinks = kept.sinks}) {}

  void append(const step&, const head_rows&, const head_rows&) override {}
  keys_values to_dense(int slot, int length) const override {
    return read_extent(slot, length, [&](int begin, int end) { return numbers(begin, end); });
  }
  kv_extent mask_sizes(int slot, int q_length) const override { return extent(slots().length(slot), q_length); }
  void truncate(int, int) override {}
  void clear(int) override {}

 private:
  keys_values numbers(int begin, int end) const {
    const keys_values tokens = make_keys_values(shape().kv_heads, end - begin, shape().head_dim, shape().latent_dim);
    write_numbers(tokens.k, begin, 1);
    if (shape().latent_dim == 0) write_numbers(tokens.v, begin, -1);
    return tokens;
  }
};

kind with_one_that_refuses(const bool& refuses, cache_kind which) {
  const auto make = [&refuses, which](std::span<const kv_cache_spec> shapes, int slots, int max_sequence_length) {
    const auto own = [&](int index, const kv_cache_spec& shape, const slot_table& table) -> std::unique_ptr<layer> {
      if (index + 1 < static_cast<int>(shapes.size())) return nullptr;
      return std::make_unique<refusing_layer>(shape, table, refuses);
    };
    return cache(shapes, {.kind = which, .slots = slots, .max_sequence_length = max_sequence_length}, own);
  };
  return {.name = "refusing", .type = scalar::bf16, .keeps_all = false, .in_place = false, .make = make};
}

/// What slot 0 holds in the first layer, and all memory.
struct picture {
  int length;
  std::int64_t committed;
  std::vector<std::byte> keys;
  bool operator==(const picture&) const = default;
};

picture taken(const cache& cache) {
  const int length = cache.length(0);
  return {length, cache.committed_bytes(), bytes_in(tensors_of(cache.layer(0).to_dense(0, length)).k)};
}

void append_ones(cache& cache, const step& step) {
  cache.reserve(step);
  for (int i = 0; i < cache.layers(); ++i) {
    const keys_values ones = filled(cache.layer(i).shape(), step.tokens(), 1);
    cache.layer(i).append(step, ones.k, ones.v);
  }
  cache.advance(step);
}

void check_that_nothing_changes(cache_kind which) {
  bool refuses = false;
  cache cache = with_one_that_refuses(refuses, which).make(mixed_shapes(), 3, 500);
  append_ones(cache, step({{.slot = 0, .count = 100}, {.slot = 2, .count = 130}}));
  const picture original = taken(cache);
  refuses = true;
  BOOST_CHECK_THROW(cache.reserve(step({{.slot = 0, .count = 200}, {.slot = 1, .count = 5}})), std::bad_alloc);
  BOOST_TEST((taken(cache) == original));
  BOOST_CHECK_THROW(cache.share_prefix(1, 0, 64), std::bad_alloc);
  BOOST_TEST((taken(cache) == original));
  BOOST_CHECK_THROW(cache.copy(2, 1, 0, 130), std::bad_alloc);
  BOOST_TEST((taken(cache) == original));
  std::vector<std::byte> bytes(static_cast<std::size_t>(cache.exported_bytes(100)));
  cache.export_slot(0, bytes);
  BOOST_CHECK_THROW(cache.import_slot(1, 100, bytes), std::bad_alloc);
  BOOST_TEST((taken(cache) == original));
  BOOST_TEST(cache.length(1) == 0);
  refuses = false;
  append_ones(cache, step({{.slot = 0, .count = 200}, {.slot = 1, .count = 5}}));
  BOOST_TEST(cache.length(0) == 300);
}

/// A ring and a state, neither of which keeps single tokens, before a layer that refuses.
cache with_a_ring_and_a_state(const bool& refuses) {
  const std::vector<kv_cache_spec> shapes{{.kind = layer_kind::sliding, .kv_heads = 1, .head_dim = 8, .window = 50},
                                          {.kind = layer_kind::recurrent, .state = 30},
                                          {.kv_heads = 1, .head_dim = 8}};
  const auto own = [&](int index, const kv_cache_spec& shape, const slot_table& table) -> std::unique_ptr<layer> {
    return index == 2 ? std::make_unique<refusing_layer>(shape, table, refuses) : nullptr;
  };
  return cache(shapes, {.slots = 3, .max_sequence_length = 1000, .max_step_tokens = 64, .max_rollback_tokens = 16},
               own);
}

void append_numbers(cache& cache, int slot, int count) {
  const step step({{.slot = slot, .count = count}});
  cache.reserve(step);
  const keys_values tokens = filled(cache.layer(0).shape(), count, static_cast<float>(cache.length(slot)));
  cache.layer(0).append(step, tokens.k, tokens.v);
  const state_view state = *cache.layer(1).state(slot);
  for (int i = 0; i < 30; ++i) state.next[i] = state.previous[i] + static_cast<float>(count);
  cache.advance(step);
}

/// Keys and then values, head after head, token after token; copies of them, too.
void check_exports(scalar type, int latent_dim) {
  const auto own = [type](int, const kv_cache_spec& shape, const slot_table& table) {
    return std::make_unique<concat_layer>(shape, type, table, 100);
  };
  const kv_cache_spec shape{.kv_heads = 2, .head_dim = 7, .latent_dim = latent_dim};
  cache cache({&shape, 1}, {.type = type, .slots = 3, .max_sequence_length = 100}, own);
  const at::Tensor k = at::arange(70 * 2 * 7, at::kFloat).sin().view({70, 2, 7});
  const at::Tensor v = k.narrow(2, 0, shape.value_dim()).cos();
  const step step({{.slot = 0, .count = 70}});
  cache.reserve(step);
  append(cache.layer(0), step, k, v);
  cache.advance(step);
  const auto stored = [&](const at::Tensor& tensor) { return bytes_in(tensor.transpose(0, 1).to(tensor_type(type))); };
  std::vector<std::byte> wanted = stored(k);
  if (latent_dim == 0) std::ranges::copy(stored(v), std::back_inserter(wanted));
  std::vector<std::byte> bytes(static_cast<std::size_t>(cache.exported_bytes(70)));
  cache.export_slot(0, bytes);
  BOOST_TEST((bytes == wanted));
  cache.import_slot(1, 70, bytes);
  cache.copy(0, 2, 0, 40);
  cache.copy(1, 2, 40, 70);
  for (const int slot : {1, 2}) {
    std::ranges::fill(bytes, std::byte(0));
    cache.export_slot(slot, bytes);
    BOOST_TEST((bytes == wanted), "slot " << slot);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_kind_that_shows_a_part_of_its_tokens_is_not_exported_for_it) {
  const auto own = [](int, const kv_cache_spec& shape, const slot_table& table) {
    return std::make_unique<short_span_layer>(shape, table);
  };
  const kv_cache_spec shape{.kv_heads = 1, .head_dim = 8};
  cache cache({&shape, 1}, {.slots = 1, .max_sequence_length = 100}, own);
  append_ones(cache, step({{.slot = 0, .count = 20}}));
  std::vector<std::byte> bytes(static_cast<std::size_t>(cache.exported_bytes(20)));
  BOOST_CHECK_EXCEPTION(cache.export_slot(0, bytes), std::logic_error, says({"slot 0", "1 of the 20 tokens"}));
}

BOOST_DATA_TEST_CASE(sinks_and_the_window_are_read_as_one, data::make({0, 2}), latent_dim) {
  const kv_cache_spec shape{.kv_heads = 2, .head_dim = 3, .latent_dim = latent_dim};
  slot_table table(1);
  const sinks_layer layer(shape, table, {.sinks = 2, .window = 5});
  std::vector<keys_values> earlier;  // whose memory is not used again
  for (int length = 0; length < 20; ++length, table.advance(step({{.slot = 0, .count = 1}})))
    for (const int fresh : {0, 1, 4}) {
      const kv_extent extent = layer.mask_sizes(0, fresh);
      const keys_values held = earlier.emplace_back(layer.to_dense(0, length + fresh));
      BOOST_TEST_REQUIRE(held.k.tokens == extent.kv_length);
      BOOST_TEST_REQUIRE(held.v.tokens == extent.kv_length);
      BOOST_TEST(extent.kv_length == std::min(length, 6) + fresh);
      for (int head = 0; head < 2; ++head)
        for (int column = 0; column < extent.kv_length; ++column) {
          const int position = column < extent.sinks ? column : column - extent.sinks + extent.kv_offset;
          for (int dim = 0; dim < held.k.dims; ++dim)
            BOOST_TEST_REQUIRE(held.k.row(head, column)[dim] == number_at(head, position, dim));
          for (int dim = 0; dim < held.v.dims; ++dim)
            BOOST_TEST_REQUIRE(held.v.row(head, column)[dim] ==
                               (latent_dim > 0 ? 1 : -1) * number_at(head, position, dim));
        }
    }
}

BOOST_AUTO_TEST_CASE(what_a_kind_exports_by_default_is_in_its_number_format) {
  for (const scalar type : {scalar::f32, scalar::f16, scalar::bf16})
    for (const int latent_dim : {0, 5}) check_exports(type, latent_dim);
}

BOOST_AUTO_TEST_CASE(what_was_half_copied_or_half_cut_is_never_taken_for_whole) {
  bool refuses = false;
  cache cache = with_a_ring_and_a_state(refuses);
  append_numbers(cache, 0, 60);
  cache.fork({.slot = 1, .source = 0, .end = 60});
  append_numbers(cache, 0, 60);
  refuses = true;
  BOOST_CHECK_THROW(cache.copy(0, 1, 60, 120), std::bad_alloc);
  refuses = false;
  if (cache.length(1) > 0) BOOST_TEST(cache.layer(1).state(1)->previous[0] == 60);
  if (cache.length(1) > 0) BOOST_TEST(cache.layer(0).to_dense(1, 60).k.tokens > 0);
  cache.clear(1);
  for (int i = 0; i < 5; ++i) append_numbers(cache, 2, 50);
  cache.take_checkpoint(2);
  append_numbers(cache, 2, 40);
  refuses = true;
  BOOST_CHECK_THROW(cache.truncate(2, 250), std::bad_alloc);
  refuses = false;
  if (cache.length(2) > 0) BOOST_TEST(cache.can_truncate(2, cache.length(2)));
  if (cache.length(2) > 0) BOOST_TEST(cache.layer(1).state(2)->previous[0] == static_cast<float>(cache.length(2)));
  cache.clear(2);
  append_numbers(cache, 2, 10);
  BOOST_TEST(cache.layer(1).state(2)->previous[0] == 10);
}

BOOST_AUTO_TEST_CASE(one_refusing_layer_leaves_all_as_they_were) {
  check_that_nothing_changes(cache_kind::static_);
  check_that_nothing_changes(cache_kind::dynamic);
}

BOOST_AUTO_TEST_CASE(own_layers_stand_beside_built_in_ones) {
  const auto make = [](std::span<const kv_cache_spec> shapes, int slots, int max_sequence_length) {
    const auto middle = [&](int index, const kv_cache_spec& shape, const slot_table& table) -> std::unique_ptr<layer> {
      if (index != 1) return nullptr;
      return std::make_unique<concat_layer>(shape, scalar::f16, table, 150);
    };
    return cache(shapes, {.slots = slots, .max_sequence_length = max_sequence_length}, middle);
  };
  twin twin({.name = "mixed", .type = scalar::bf16, .keeps_all = false, .in_place = false, .make = make}, 3, 500);
  BOOST_TEST(twin.tested().max_sequence_length() == 150);
  twin.append({{.slot = 0, .count = 130}});
  twin.share_prefix(1, 0, 128);
  twin.append({{.slot = 1, .count = 10}, {.slot = 0, .count = 1}});
  twin.copy(1, 2, 0, 135);
  twin.truncate(1, 100);
  twin.append({{.slot = 1, .count = 3}});
  twin.check();
  BOOST_CHECK_THROW(twin.tested().reserve(step({{.slot = 0, .count = 20}})), std::length_error);
  BOOST_TEST(!twin.tested().layer(1).view(0, 10).has_value());
  BOOST_TEST(twin.tested().layer(2).view(0, 10).has_value());
}

BOOST_AUTO_TEST_CASE(a_cache_is_moved_with_its_addresses) {
  twin twin(kinds().front(), 2, 100);
  twin.append({{.slot = 1, .count = 70}});
  const std::byte* address = twin.tested().layer(0).view(1, 70)->range[0].data;
  const cache moved = std::move(twin.tested());
  BOOST_TEST(moved.length(1) == 70);
  BOOST_TEST(moved.layer(0).view(1, 70)->range[0].data == address);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::cache::test
