// What an encoder has read: tokens of cross layers, in a table of their own.
#include "kinds.hpp"
#include "says.hpp"
#include "twin.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace cogen::cache::test {

BOOST_AUTO_TEST_SUITE(encoder_inputs)
namespace {

namespace data = boost::unit_test::data;

constexpr int max_encoder_input = 150;

const std::vector<kv_cache_spec> decoder{{.kv_heads = 2, .head_dim = 8},
                                         {.kind = layer_kind::cross, .kv_heads = 3, .head_dim = 16},
                                         {.kv_heads = 2, .head_dim = 8},
                                         {.kind = layer_kind::cross, .kv_heads = 1, .head_dim = 24}};

cache make_cache(options options, std::span<const kv_cache_spec> shapes = decoder) {
  options.slots = 4;
  if (options.max_sequence_length == 0) options.max_sequence_length = 300;
  options.max_encoder_length = max_encoder_input;
  return cache(shapes, options);
}

struct self_kind {
  std::string name;
  options settings;
};

std::ostream& operator<<(std::ostream& out, const self_kind& kind) { return out << kind.name; }

/// What the decoder's own tokens may be kept in.
const std::vector<self_kind>& self_kinds() {
  static const auto worker = std::make_shared<worker_transfer>();
  static const std::vector<self_kind> result{
      {.name = "static", .settings = {.type = scalar::f32}},
      {.name = "dynamic bf16", .settings = {.kind = cache_kind::dynamic}},
      {.name = "int8", .settings = {.type = scalar::f16, .kv_quantization = int8()}},
      {.name = "sinks", .settings = {.type = scalar::f32, .sinks = sink_window{.sinks = 4, .window = 40}}},
      {.name = "offloaded", .settings = {.type = scalar::f32, .kv_offload = worker}}};
  return result;
}

bool reads_encoder(const cache& cache, int i) { return cache.layer(i).shape().kind == layer_kind::cross; }

/// Writes the same number everywhere to the layers of one side.
void write(cache& cache, const step& step, float value, bool encoder_input) {
  for (int i = 0; i < cache.layers(); ++i) {
    if (reads_encoder(cache, i) != encoder_input) continue;
    const kv_cache_spec& shape = cache.layer(i).shape();
    const at::Tensor k = at::full({step.tokens(), shape.kv_heads, shape.head_dim}, value + static_cast<float>(i));
    append(cache.layer(i), step, k, -k);
  }
}

void read_encoder_input(cache& cache, const std::vector<step_row>& rows, float value) {
  const step step(rows);
  cache.reserve_encoder(step);
  write(cache, step, value, true);
  cache.advance_encoder(step);
}

void append(cache& cache, const std::vector<step_row>& rows, float value) {
  const step step(rows);
  cache.reserve(step);
  write(cache, step, value, false);
  cache.advance(step);
}

void check_encoder_input(const cache& cache, int slot, int length, float value) {
  BOOST_TEST_REQUIRE(cache.encoder_length(slot) == length);
  for (int i = 0; i < cache.layers(); ++i) {
    if (!reads_encoder(cache, i)) continue;
    const auto& layer = cache.layer(i);
    BOOST_TEST(layer.slots().length(slot) == length);
    BOOST_TEST(layer.mask_sizes(slot, 5).kv_length == length);
    BOOST_TEST(layer.mask_sizes(slot, 5).kv_offset == 0);
    const kv_tensors tokens = tensors_of(layer.to_dense(slot, length));
    BOOST_TEST_REQUIRE(tokens.k.size(1) == length);
    BOOST_TEST(tokens.k.eq(value + static_cast<float>(i)).all().item<bool>());
    BOOST_TEST(tokens.v.eq(-value - static_cast<float>(i)).all().item<bool>());
    BOOST_TEST(!layer.view(slot, length)->span.causal);
  }
}

}  // namespace

BOOST_DATA_TEST_CASE(several_slots_read_in_one_step, data::make(self_kinds()), kind) {
  cache cache = make_cache(kind.settings);
  read_encoder_input(cache, {{.slot = 2, .count = 150}, {.slot = 0, .count = 1}}, 3);
  read_encoder_input(cache, {{.slot = 1, .count = 64}}, 8);
  append(cache, {{.slot = 0, .count = 70}, {.slot = 2, .count = 3}, {.slot = 3, .count = 1}}, 20);
  check_encoder_input(cache, 0, 1, 3);
  check_encoder_input(cache, 1, 64, 8);
  check_encoder_input(cache, 2, 150, 3);
  check_encoder_input(cache, 3, 0, 0);
  BOOST_TEST(cache.length(2) == 3);
  BOOST_TEST(cache.length(1) == 0);
}

BOOST_DATA_TEST_CASE(an_encoder_input_that_is_never_advanced_does_not_count, data::make(self_kinds()), kind) {
  cache cache = make_cache(kind.settings);
  const step given_up({{.slot = 1, .count = 90}});
  cache.reserve_encoder(given_up);
  write(cache, given_up, 1, true);
  check_encoder_input(cache, 1, 0, 0);
  read_encoder_input(cache, {{.slot = 1, .count = 20}}, 5);
  check_encoder_input(cache, 1, 20, 5);
}

BOOST_DATA_TEST_CASE(an_encoder_input_stays_until_the_slot_is_cleared, data::make(self_kinds()), kind) {
  cache cache = make_cache(kind.settings);
  read_encoder_input(cache, {{.slot = 1, .count = 100}, {.slot = 2, .count = 64}}, 2);
  append(cache, {{.slot = 1, .count = 30}}, 9);
  cache.truncate(1, 10);
  cache.truncate(1, 0);
  check_encoder_input(cache, 1, 100, 2);
  cache.clear(1);
  check_encoder_input(cache, 1, 0, 0);
  read_encoder_input(cache, {{.slot = 1, .count = 3}}, 4);
  check_encoder_input(cache, 1, 3, 4);
  for (int slot = 0; slot < 4; ++slot) cache.clear(slot);
  BOOST_TEST(cache.committed_bytes() == 0);
}

BOOST_DATA_TEST_CASE(a_fork_takes_its_encoder_input_along, data::make(self_kinds()), kind) {
  cache cache = make_cache(kind.settings);
  read_encoder_input(cache, {{.slot = 0, .count = 130}}, 6);
  append(cache, {{.slot = 0, .count = 70}}, 1);
  cache.fork({.slot = 1, .source = 0, .end = 70});
  cache.fork({.slot = 3, .parent = 0, .shared = 64, .source = 0, .end = 70});
  check_encoder_input(cache, 3, 130, 6);
  cache.clear(3);
  cache.clear(0);
  check_encoder_input(cache, 1, 130, 6);
}

BOOST_DATA_TEST_CASE(a_fork_of_an_encoder_input_alone_takes_it_too, data::make(self_kinds()), kind) {
  cache cache = make_cache(kind.settings);
  read_encoder_input(cache, {{.slot = 0, .count = 70}}, 6);
  cache.fork({.slot = 1, .source = 0, .end = 0});
  check_encoder_input(cache, 1, 70, 6);
}

BOOST_AUTO_TEST_CASE(a_slot_with_an_encoder_input_of_its_own_is_not_empty_for_a_fork) {
  cache cache = make_cache({.type = scalar::f32});
  read_encoder_input(cache, {{.slot = 0, .count = 70}, {.slot = 1, .count = 5}}, 6);
  append(cache, {{.slot = 0, .count = 3}}, 1);
  BOOST_CHECK_EXCEPTION(cache.fork({.slot = 1, .source = 0, .end = 3}), std::logic_error,
                        says({"slot 1", "encoder input of 5"}));
  check_encoder_input(cache, 1, 5, 6);
  BOOST_TEST(cache.length(1) == 0);
}

BOOST_DATA_TEST_CASE(an_encoder_input_is_exported_and_imported, data::make(self_kinds()), kind) {
  cache cache = make_cache(kind.settings);
  for (const int length : {0, 10}) {
    read_encoder_input(cache, {{.slot = 0, .count = 99}}, 7);
    if (length > 0) append(cache, {{.slot = 0, .count = length}}, 1);
    std::vector<std::byte> bytes(static_cast<std::size_t>(cache.exported_bytes(length, 99)));
    cache.export_slot(0, bytes);
    cache.clear(0);
    BOOST_CHECK_THROW(cache.import_slot(2, length, bytes), std::invalid_argument);
    BOOST_CHECK_THROW(cache.import_slot(2, length, bytes, -1), std::invalid_argument);
    cache.import_slot(2, length, bytes, 99);
    check_encoder_input(cache, 2, 99, 7);
    BOOST_TEST(cache.length(2) == length);
    cache.clear(2);
  }
}

BOOST_AUTO_TEST_CASE(an_encoder_input_longer_than_its_limit_is_refused) {
  cache cache = make_cache({.type = scalar::f32});
  const step too_long({{.slot = 0, .count = 3}, {.slot = 1, .count = max_encoder_input + 1}});
  const auto named = says({"slot 1", "151", "limit is 150"});
  BOOST_CHECK_EXCEPTION(cache.reserve_encoder(too_long), std::length_error, named);
  BOOST_TEST(cache.committed_bytes() == 0);
  std::vector<std::byte> bytes(static_cast<std::size_t>(cache.exported_bytes(0, max_encoder_input + 1)));
  BOOST_CHECK_EXCEPTION(cache.import_slot(1, 0, bytes, max_encoder_input + 1), std::length_error, named);
  BOOST_TEST(cache.committed_bytes() == 0);
}

BOOST_AUTO_TEST_CASE(what_is_no_encoder_input_is_refused) {
  cache cache = make_cache({.type = scalar::f32});
  read_encoder_input(cache, {{.slot = 1, .count = 5}}, 1);
  append(cache, {{.slot = 0, .count = 2}}, 1);
  const auto reserve = [&](int slot) { cache.reserve_encoder(step({{.slot = slot, .count = 1}})); };
  BOOST_CHECK_EXCEPTION(reserve(1), std::logic_error, says({"slot 1", "encoder input of 5"}));
  BOOST_CHECK_EXCEPTION(reserve(0), std::logic_error, says({"slot 0", "2 tokens"}));
  BOOST_CHECK_EXCEPTION(reserve(7), std::out_of_range, says({"slot 7"}));
  BOOST_CHECK_THROW(cache.encoder_length(4), std::out_of_range);
  const kv_cache_spec alone{.kv_heads = 1, .head_dim = 8};
  class cache none = make_cache({.type = scalar::f32}, {&alone, 1});
  BOOST_CHECK_EXCEPTION(none.reserve_encoder(step({{.slot = 0, .count = 1}})), std::logic_error,
                        says({"encoder input"}));
}

BOOST_AUTO_TEST_CASE(an_encoder_input_is_in_the_footprint) {
  cache cache = make_cache({.type = scalar::f32});
  read_encoder_input(cache, {{.slot = 0, .count = max_encoder_input}}, 1);
  append(cache, {{.slot = 0, .count = 100}}, 1);
  BOOST_TEST(cache.committed_bytes() <= cache.footprint(100));
  cache.release(0, 0);
  BOOST_TEST(cache.committed_bytes() == 0);
  BOOST_TEST(cache.encoder_length(0) == 0);
}

BOOST_AUTO_TEST_CASE(an_encoder_input_stays_while_others_read_the_slot) {
  cache cache = make_cache({.type = scalar::f32});
  read_encoder_input(cache, {{.slot = 0, .count = 70}}, 4);
  append(cache, {{.slot = 0, .count = 130}}, 1);
  cache.fork({.slot = 1, .parent = 0, .shared = 128, .source = 0, .end = 130});
  cache.release(0, 128);
  check_encoder_input(cache, 0, 70, 4);
  cache.fork({.slot = 2, .parent = 0, .shared = 64, .source = 0, .end = 64});
  check_encoder_input(cache, 2, 70, 4);
  append(cache, {{.slot = 2, .count = 3}}, 2);
  check_encoder_input(cache, 1, 70, 4);
}

BOOST_AUTO_TEST_CASE(an_encoder_input_needs_a_bound) {
  const std::vector<kv_cache_spec> shapes{{.kind = layer_kind::sliding, .kv_heads = 1, .head_dim = 8, .window = 9},
                                          {.kind = layer_kind::cross, .kv_heads = 1, .head_dim = 8}};
  BOOST_CHECK_EXCEPTION(cache(shapes, {}), std::invalid_argument, says({"max_encoder_length", "0"}));
  const cache endless(shapes, {.max_encoder_length = 70});
  BOOST_TEST(endless.layer(1).max_sequence_length() == 70);
  const cache bounded(shapes, {.max_sequence_length = 80});
  BOOST_TEST(bounded.layer(1).max_sequence_length() == 80);
  const cache with_sinks(decoder, {.max_sequence_length = 90, .sinks = sink_window{}});
  BOOST_TEST(with_sinks.layer(1).max_sequence_length() == 90);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::cache::test
