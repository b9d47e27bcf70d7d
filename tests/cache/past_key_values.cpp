// Tuples of past keys and values, taken from caches and put into them.
#include "past_key_values.hpp"

#include "says.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <utility>
#include <vector>

namespace cogen::cache::test {
namespace {

using example::from_legacy, example::legacy_layer, example::to_legacy;

const std::vector<kv_cache_spec> two_layers{{.kv_heads = 2, .head_dim = 8}, {.kv_heads = 3, .head_dim = 5}};
constexpr int both[] = {2, 0};
constexpr int first[] = {0};

cache make_cache(options options, std::span<const kv_cache_spec> shapes = two_layers) {
  options.slots = 3;
  options.max_sequence_length = 700;
  return cache(shapes, options);
}

/// [batch, heads, length, dim], every element its own number, exact in every format.
at::Tensor counted(std::int64_t batch, const kv_cache_spec& shape, std::int64_t length, int seed) {
  const at::Tensor result = at::empty({batch, shape.kv_heads, length, shape.head_dim}, at::kFloat);
  for (std::int64_t i = 0; i < result.numel(); ++i) result.data_ptr<float>()[i] = static_cast<float>((i + seed) % 199);
  return result;
}

std::vector<legacy_layer> tuple(std::int64_t batch, int length, std::span<const kv_cache_spec> shapes = two_layers) {
  std::vector<legacy_layer> layers;
  for (const kv_cache_spec& shape : shapes)
    layers.push_back({.k = counted(batch, shape, length, 1), .v = counted(batch, shape, length, 50)});
  return layers;
}

void check_equal(const std::vector<legacy_layer>& got, const std::vector<legacy_layer>& wanted) {
  BOOST_TEST_REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    BOOST_TEST(at::equal(got[i].k.to(at::kFloat), wanted[i].k));
    BOOST_TEST(at::equal(got[i].v.to(at::kFloat), wanted[i].v));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(past_key_values)

BOOST_AUTO_TEST_CASE(what_is_put_in_comes_out) {
  for (const int length : {0, 1, 64, 70, 600}) {
    cache cache = make_cache({.type = scalar::f32});
    from_legacy(cache, both, tuple(2, length));
    BOOST_TEST(cache.length(0) == length);
    BOOST_TEST(cache.length(1) == 0);
    check_equal(to_legacy(cache, both), tuple(2, length));
    const auto alone = to_legacy(cache, first);
    BOOST_TEST(at::equal(alone[1].k, tuple(2, length)[1].k.narrow(0, 1, 1)));
  }
}

BOOST_AUTO_TEST_CASE(one_kind_gives_to_another) {
  cache dynamic = make_cache({.kind = cache_kind::dynamic, .type = scalar::f32});
  from_legacy(dynamic, both, tuple(2, 100));
  cache quantized = make_cache({.type = scalar::bf16, .kv_quantization = int8()});
  from_legacy(quantized, both, to_legacy(dynamic, both));
  BOOST_TEST((to_legacy(quantized, both)[0].k.scalar_type() == at::kFloat));
  check_equal(to_legacy(quantized, both), tuple(2, 100));  // of which none is quantized yet
  cache fixed = make_cache({.type = scalar::bf16});
  from_legacy(fixed, both, to_legacy(dynamic, both));
  BOOST_TEST((to_legacy(fixed, both)[0].k.scalar_type() == at::kBFloat16));
  check_equal(to_legacy(fixed, both), tuple(2, 100));
  cache offloaded = make_cache({.type = scalar::f16, .kv_offload = std::make_shared<worker_transfer>()});
  from_legacy(offloaded, both, to_legacy(fixed, both));
  check_equal(to_legacy(offloaded, both), tuple(2, 100));
}

BOOST_AUTO_TEST_CASE(a_fork_gives_its_base_too) {
  cache cache = make_cache({.type = scalar::f32});
  from_legacy(cache, first, tuple(1, 130));
  cache.fork({.slot = 1, .parent = 0, .shared = 128, .source = 0, .end = 130});
  constexpr int forked[] = {1};
  check_equal(to_legacy(cache, forked), tuple(1, 130));
}

BOOST_AUTO_TEST_CASE(encoder_inputs_are_layers_too) {
  const std::vector<kv_cache_spec> shapes{{.kv_heads = 2, .head_dim = 8},
                                          {.kind = layer_kind::cross, .kv_heads = 1, .head_dim = 6}};
  std::vector<legacy_layer> layers = tuple(2, 10, shapes);
  layers[1] = tuple(2, 90, shapes)[1];
  cache cache = make_cache({.type = scalar::f32}, shapes);
  from_legacy(cache, both, layers);
  BOOST_TEST(cache.length(2) == 10);
  BOOST_TEST(cache.encoder_length(2) == 90);
  check_equal(to_legacy(cache, both), layers);
}

BOOST_AUTO_TEST_CASE(a_ring_gives_what_it_has_not_forgotten) {
  const kv_cache_spec shape{.kind = layer_kind::sliding, .kv_heads = 2, .head_dim = 8, .window = 50};
  for (const options& options :
       {cogen::cache::options{.type = scalar::f32}, cogen::cache::options{.type = scalar::f32, .max_step_tokens = 7}}) {
    cache cache = make_cache(options, {&shape, 1});
    from_legacy(cache, first, tuple(1, 49, {&shape, 1}));
    check_equal(to_legacy(cache, first), tuple(1, 49, {&shape, 1}));
    cache.clear(0);
    from_legacy(cache, first, tuple(1, 300, {&shape, 1}));
    BOOST_TEST(cache.length(0) == 300);
    BOOST_CHECK_EXCEPTION(to_legacy(cache, first), std::logic_error, says({"layer 0", "300 tokens", "forgotten"}));
  }
  cache endless = make_cache({.type = scalar::f32, .sinks = sink_window{.sinks = 4, .window = 50}});
  from_legacy(endless, first, tuple(1, 100));
  BOOST_CHECK_EXCEPTION(to_legacy(endless, first), std::logic_error, says({"layer 0", "forgotten"}));
}

BOOST_AUTO_TEST_CASE(states_are_no_keys_and_values) {
  const std::vector<kv_cache_spec> shapes{{.kv_heads = 2, .head_dim = 8}, {.kind = layer_kind::recurrent, .state = 9}};
  cache cache = make_cache({.type = scalar::f32}, shapes);
  BOOST_CHECK_EXCEPTION(to_legacy(cache, first), std::logic_error, says({"layer 1", "recurrent"}));
  BOOST_CHECK_EXCEPTION(from_legacy(cache, first, {}), std::logic_error, says({"layer 1", "recurrent"}));
}

BOOST_AUTO_TEST_CASE(slots_that_make_no_batch_are_named) {
  cache cache = make_cache({.type = scalar::f32});
  from_legacy(cache, first, tuple(1, 5));
  BOOST_CHECK_EXCEPTION(to_legacy(cache, both), std::invalid_argument, says({"same length", "slot 2", "slot 0", "5"}));
  BOOST_CHECK_EXCEPTION(to_legacy(cache, {}), std::invalid_argument, says({"0 slots"}));
  constexpr int beyond[] = {3};
  BOOST_CHECK_EXCEPTION(to_legacy(cache, beyond), std::out_of_range, says({"slot 3"}));
  BOOST_CHECK_EXCEPTION(from_legacy(cache, both, tuple(2, 5)), std::logic_error, says({"slot 0", "not empty", "5"}));
  constexpr int twice[] = {1, 1};
  BOOST_CHECK_EXCEPTION(from_legacy(cache, twice, tuple(2, 5)), std::invalid_argument, says({"slot 1", "two rows"}));
  BOOST_CHECK_EXCEPTION(from_legacy(cache, {}, tuple(0, 5)), std::invalid_argument, says({"0 slots"}));
}

BOOST_AUTO_TEST_CASE(tensors_of_another_shape_are_named) {
  cache cache = make_cache({.type = scalar::f32});
  const auto refused = [&](std::vector<legacy_layer> layers, const std::vector<std::string>& words) {
    BOOST_CHECK_EXCEPTION(from_legacy(cache, both, layers), std::invalid_argument, says(words));
    for (const int slot : both) BOOST_TEST(cache.length(slot) == 0);
    BOOST_TEST(cache.committed_bytes() == 0);
  };
  const auto with = [](std::size_t layer, at::Tensor legacy_layer::*which, const at::Tensor& tensor) {
    std::vector<legacy_layer> layers = tuple(2, 5);
    layers[layer].*which = tensor;
    return layers;
  };
  refused({}, {"0 layers", "2 are needed"});
  refused(tuple(3, 5), {"layer 0", "k", "[2, 2, length, 8]", "[3, 2, 5, 8]"});
  refused(with(1, &legacy_layer::v, at::Tensor()), {"layer 1", "v", "[2, 3, length, 5]"});
  refused(with(1, &legacy_layer::k, at::zeros({2, 3, 5})), {"layer 1", "k", "[2, 3, 5]"});
  refused(with(1, &legacy_layer::k, at::zeros({2, 2, 5, 5})), {"layer 1", "k", "[2, 2, 5, 5]"});
  refused(with(0, &legacy_layer::v, at::zeros({2, 2, 5, 9})), {"layer 0", "v", "[2, 2, 5, 9]"});
  refused(with(0, &legacy_layer::v, at::zeros({2, 2, 6, 8})), {"layer 0", "v", "as long as k"});
  refused(with(0, &legacy_layer::k, at::zeros({2, 2, 5, 8}, at::kLong)), {"layer 0", "k", "Long"});
  std::vector<legacy_layer> uneven = tuple(2, 5);
  uneven[1] = tuple(2, 6)[1];
  refused(uneven, {"layer 1", "5 tokens long"});
  BOOST_CHECK_EXCEPTION(from_legacy(cache, both, tuple(2, 701)), std::length_error, says({"slot 2", "701", "700"}));
  BOOST_TEST(cache.committed_bytes() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::cache::test
