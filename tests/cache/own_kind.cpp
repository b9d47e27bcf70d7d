// Layers that a user brings: alone and beside the built-in kinds.
#include "concat_layer.hpp"
#include "kinds.hpp"
#include "twin.hpp"

#include <ATen/ops/ones.h>
#include <boost/test/unit_test.hpp>

#include <memory>
#include <new>
#include <vector>

namespace cogen::cache::test {
namespace {

/// Refuses to grow while it is told to.
class refusing_layer final : public layer {
 public:
  refusing_layer(const layer_shape& shape, const slot_table& table, const bool& refuses)
      : layer(shape, scalar::f32, table), refuses_(refuses) {}

  void reserve(const step&) override {
    if (refuses_) throw std::bad_alloc();
  }
  void append(const step&, const at::Tensor&, const at::Tensor&) override {}
  keys_values materialise(int, int length) const override {
    const at::Tensor ones = at::ones({shape().kv_heads, length, shape().head_dim});
    return {.k = ones, .v = ones};
  }
  void truncate(int, int) override {}
  void clear(int) override {}
  std::int64_t committed_bytes() const override { return 0; }

 private:
  const bool& refuses_;
};

kind with_one_that_refuses(const bool& refuses, cache_kind which) {
  const auto make = [&refuses, which](std::span<const layer_shape> shapes, int slots, int max_length) {
    const auto own = [&](int index, const layer_shape& shape, const slot_table& table) -> std::unique_ptr<layer> {
      if (index + 1 < static_cast<int>(shapes.size())) return nullptr;
      return std::make_unique<refusing_layer>(shape, table, refuses);
    };
    return cache(shapes, {.kind = which, .slots = slots, .max_length = max_length}, own);
  };
  return {.name = "refusing", .type = scalar::bf16, .in_place = false, .make = make};
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
  return {length, cache.committed_bytes(), bytes_in(cache.layer(0).materialise(0, length).k)};
}

void append_ones(cache& cache, const step& step) {
  cache.reserve(step);
  for (int i = 0; i < cache.layers(); ++i) {
    const layer_shape& shape = cache.layer(i).shape();
    const at::Tensor ones = at::ones({step.tokens(), shape.kv_heads, shape.head_dim});
    cache.layer(i).append(step, ones, ones);
  }
  cache.advance(step);
}

void check_that_nothing_changes(cache_kind which) {
  bool refuses = false;
  cache cache = with_one_that_refuses(refuses, which).make(mixed_shapes(), 3, 500);
  append_ones(cache, step({{.slot = 0, .count = 100}, {.slot = 2, .count = 130}}));
  const picture before = taken(cache);
  refuses = true;
  BOOST_CHECK_THROW(cache.reserve(step({{.slot = 0, .count = 200}, {.slot = 1, .count = 5}})), std::bad_alloc);
  BOOST_TEST((taken(cache) == before));
  BOOST_CHECK_THROW(cache.adopt(1, 0, 64), std::bad_alloc);
  BOOST_TEST((taken(cache) == before));
  BOOST_CHECK_THROW(cache.copy(2, 1, 0, 130), std::bad_alloc);
  BOOST_TEST((taken(cache) == before));
  std::vector<std::byte> bytes(static_cast<std::size_t>(cache.exported_bytes(100)));
  cache.export_slot(0, bytes);
  BOOST_CHECK_THROW(cache.import_slot(1, 100, bytes), std::bad_alloc);
  BOOST_TEST((taken(cache) == before));
  BOOST_TEST(cache.length(1) == 0);
  refuses = false;
  append_ones(cache, step({{.slot = 0, .count = 200}, {.slot = 1, .count = 5}}));
  BOOST_TEST(cache.length(0) == 300);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(own_kind)

BOOST_AUTO_TEST_CASE(one_refusing_layer_leaves_all_as_they_were) {
  check_that_nothing_changes(cache_kind::static_);
  check_that_nothing_changes(cache_kind::dynamic);
}

BOOST_AUTO_TEST_CASE(own_layers_stand_beside_built_in_ones) {
  const auto make = [](std::span<const layer_shape> shapes, int slots, int max_length) {
    const auto middle = [&](int index, const layer_shape& shape, const slot_table& table) -> std::unique_ptr<layer> {
      if (index != 1) return nullptr;
      return std::make_unique<concat_layer>(shape, scalar::f16, table, 150);
    };
    return cache(shapes, {.slots = slots, .max_length = max_length}, middle);
  };
  twin twin({.name = "mixed", .type = scalar::bf16, .in_place = false, .make = make}, 3, 500);
  BOOST_TEST(twin.tested().max_length() == 150);
  twin.append({{.slot = 0, .count = 130}});
  twin.adopt(1, 0, 128);
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
