#include "network/kernels/rope.hpp"

#include "kv_storage.hpp"
#include "variants.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace cogen::kernels {
namespace {

std::vector<double> frequencies(int pairs) {
  std::vector<double> values;
  for (int pair = 0; pair < pairs; ++pair) values.push_back(std::pow(10000.0, -2.0 * pair / (2.0 * pairs)));
  return values;
}

// Dimension `dim` of a vector turned by the position, as Hugging Face defines it.
double rotated(const float* vector, int dim, int pairs, std::int64_t position, double scaling) {
  if (dim >= 2 * pairs) return vector[dim];
  const int pair = dim % pairs;
  const double angle = static_cast<double>(position) * frequencies(pairs)[static_cast<std::size_t>(pair)];
  const double a = vector[pair], b = vector[pair + pairs];
  return scaling *
         (dim < pairs ? a * std::cos(angle) - b * std::sin(angle) : b * std::cos(angle) + a * std::sin(angle));
}

double relative_precision(cache::scalar type) {
  return type == cache::scalar::f32 ? 1e-6 : type == cache::scalar::f16 ? 0x1p-11 : 0x1p-8;
}

BOOST_AUTO_TEST_SUITE(rope_test)

BOOST_AUTO_TEST_CASE(the_table_is_exact_to_float_at_every_position) {
  const rope_table table(frequencies(32), 1.5, 8192);
  float spare[64];
  for (std::int64_t position = 0; position < 80000; position += 61)
    for (int pair = 0; pair < 32; ++pair) {
      const double angle = static_cast<double>(position) * frequencies(32)[static_cast<std::size_t>(pair)];
      const float* turn = table.angles(position, spare);
      BOOST_REQUIRE(std::abs(turn[pair] - 1.5 * std::cos(angle)) < 1e-7);
      BOOST_REQUIRE(std::abs(turn[32 + pair] - 1.5 * std::sin(angle)) < 1e-7);
    }
}

BOOST_AUTO_TEST_CASE(an_empty_table_is_refused) {
  BOOST_CHECK_THROW(rope_table({}, 1.0, 10), std::invalid_argument);
  BOOST_CHECK_THROW(rope_table(frequencies(4), 1.0, 0), std::invalid_argument);
}

struct shape {
  int heads;
  int kv_heads;
  int head_dim;
  int pairs;
};

constexpr shape shapes[] = {{9, 3, 64, 32}, {6, 2, 24, 12}, {4, 4, 20, 5}, {2, 1, 128, 16}, {1, 1, 6, 0}};

void check_shape(const execution& run, const shape& form, cache::scalar type) {
  const auto [heads, kv_heads, head_dim, pairs] = form;
  // Two sequences in one step: three tokens across a block's boundary at a base's end, and one token.
  kv_storage long_one(type, kv_heads, head_dim, 66, 64), short_one(type, kv_heads, head_dim, 8);
  const token_rows rows[] = {{long_one.view(), 1, 2, 64}, {short_one.view(), 0, 1, 7}};
  const std::int64_t stride = (heads + 2 * kv_heads) * head_dim + 3;
  const std::vector<float> input = random_floats(static_cast<std::size_t>(3 * stride), 3);
  std::vector<float> qkv = input;
  const rope_table table(frequencies(pairs ? pairs : 1), 1.25, 100);
  const std::int64_t k = heads * head_dim, v = k + kv_heads * head_dim;
  rope_append(
      run, pairs ? &table : nullptr, rows,
      {.q = {qkv.data(), stride}, .k = {qkv.data() + k, stride}, .v = {qkv.data() + v, stride}, .heads = heads});
  const auto check_token = [&](std::int64_t token, std::int64_t position, const kv_storage& storage) {
    const float* source = input.data() + token * stride;
    const float* now = qkv.data() + token * stride;
    for (int head = 0; head < heads; ++head)
      for (int dim = 0; dim < head_dim; ++dim)
        BOOST_REQUIRE(std::abs(now[head * head_dim + dim] -
                               rotated(source + head * head_dim, dim, pairs, position, 1.25)) < 3e-6);
    for (int head = 0; head < kv_heads; ++head)
      for (int dim = 0; dim < head_dim; ++dim) {
        const double key = rotated(source + k + head * head_dim, dim, pairs, position, 1.25);
        BOOST_REQUIRE(std::abs(storage.get(false, position, head, dim) - key) <
                      (std::abs(key) + 0.1) * relative_precision(type) + 1e-6);
        const float value = source[v + head * head_dim + dim];
        kv_storage rounded(type, 1, 1, 1);
        rounded.set(true, 0, 0, 0, value);
        BOOST_REQUIRE(storage.get(true, position, head, dim) == rounded.get(true, 0, 0, 0));
      }
  };
  check_token(0, 7, short_one);
  check_token(1, 64, long_one);
  check_token(2, 65, long_one);
  BOOST_TEST(std::isnan(short_one.get(false, 6, 0, 0)));
}

BOOST_AUTO_TEST_CASE(queries_turn_in_place_and_keys_and_values_reach_the_cache) {
  worker_pool workers(2);
  for (const shape& each : shapes)
    for (const cache::scalar type : all_scalars)
      for_each_set(workers, [&](const execution& run) { check_shape(run, each, type); });
}

// Queries for sinks turn by their place inside the cache, everything else by the place in the sequence.
BOOST_AUTO_TEST_CASE(queries_for_sinks_turn_no_further_than_the_cache_is_long) {
  worker_pool workers(2);
  constexpr int heads = 4, head_dim = 20, pairs = 7, tokens = 150;
  constexpr cache::attention_span span{.window = 30, .sinks = 4};
  const std::vector<float> q = random_floats(tokens * heads * head_dim, 1), kv = random_floats(tokens * head_dim, 2);
  const rope_table table(frequencies(pairs), 1.25, 100);  // later positions are computed when asked for
  for (const rope_table* each : {&table, static_cast<const rope_table*>(nullptr)})
    for_each_set(workers, [&](const execution& run) {
      kv_storage storage(cache::scalar::f32, 1, head_dim, tokens);
      token_rows row;
      row.cache = storage.view();
      row.cache.span = span;
      row.count = tokens;
      std::vector<float> turned = q, inside(q.size() + tokens, -7.0F);
      constexpr int width = heads * head_dim;
      rope_append(run, each, {&row, 1},
                  {.q = {turned.data(), width},
                   .k = {kv.data(), head_dim},
                   .v = {kv.data(), head_dim},
                   .heads = heads,
                   .sink_q = {inside.data(), width + 1}});
      for (int token = 0; token < tokens; ++token) {
        const float* key = kv.data() + token * head_dim;
        for (int dim = 0; dim < head_dim; ++dim) {
          const double expected = each ? rotated(key, dim, pairs, token, 1.25) : key[dim];
          BOOST_REQUIRE(std::abs(storage.get(false, token, 0, dim) - expected) < 3e-6);
          BOOST_REQUIRE(storage.get(true, token, 0, dim) == key[dim]);
        }
        for (int i = 0; i < width; ++i) {
          const float* source = q.data() + token * width + i / head_dim * head_dim;
          const int dim = i % head_dim;
          const double far = each ? rotated(source, dim, pairs, token, 1.25) : source[dim];
          const double near = each ? rotated(source, dim, pairs, std::min(token, 33), 1.25) : source[dim];
          BOOST_REQUIRE(std::abs(turned[static_cast<std::size_t>(token * width + i)] - far) < 3e-6);
          BOOST_REQUIRE(std::abs(inside[static_cast<std::size_t>(token * (width + 1) + i)] - near) < 3e-6);
        }
        BOOST_REQUIRE(inside[static_cast<std::size_t>(token * (width + 1) + width)] == -7.0F);
      }
    });
}

BOOST_AUTO_TEST_CASE(emulations_compute_the_same_bits) {
  worker_pool workers(1);
  const rope_table table(frequencies(10), 1.25, 100);
  for (const cache::scalar type : all_scalars)
    check_emulations(workers, [&](const execution& run) {
      kv_storage storage(type, 2, 24, 5);
      const token_rows row{storage.view(), 0, 5, 0};
      std::vector<float> qkv = random_floats(5 * 8 * 24, 6);
      rope_append(run, &table, {&row, 1},
                  {.q = {qkv.data(), 8 * 24},
                   .k = {qkv.data() + 4 * 24, 8 * 24},
                   .v = {qkv.data() + 6 * 24, 8 * 24},
                   .heads = 4});
      for (const bool value : {false, true})
        for (int head = 0; head < 2; ++head)
          for (int dim = 0; dim < 24; ++dim) qkv.push_back(storage.get(value, 4, head, dim));
      return qkv;
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels
