// What a cache refuses, and what it says then.
#include "kinds.hpp"
#include "says.hpp"
#include "twin.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <limits>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace cogen::cache::test {

BOOST_AUTO_TEST_SUITE(bounds)
namespace {

namespace data = boost::unit_test::data;

constexpr int longest = 100;
constexpr int most = std::numeric_limits<int>::max();

cache make_cache(std::vector<kv_cache_spec> shapes, const options& options) { return cache(shapes, options); }

cache with_shape(const kv_cache_spec& shape) { return make_cache({shape}, {.slots = 1, .max_sequence_length = 64}); }

cache with_options(const options& options) { return make_cache({{.kv_heads = 1, .head_dim = 8}}, options); }

}  // namespace

BOOST_AUTO_TEST_CASE(options_that_make_no_sense_are_named) {
  BOOST_CHECK_EXCEPTION(make_cache({}, {.max_sequence_length = 64}), std::invalid_argument, says({"0 layers"}));
  BOOST_CHECK_EXCEPTION(with_options({.slots = 0, .max_sequence_length = 64}), std::invalid_argument,
                        says({"0 slots"}));
  BOOST_CHECK_EXCEPTION(with_options({.slots = -1, .max_sequence_length = 64}), std::invalid_argument,
                        says({"-1 slots"}));
  BOOST_CHECK_EXCEPTION(with_options({.max_sequence_length = -1}), std::invalid_argument,
                        says({"max_sequence_length", "-1"}));
  BOOST_CHECK_EXCEPTION(with_options({.max_sequence_length = 0}), std::invalid_argument,
                        says({"max_sequence_length", "static"}));
  BOOST_CHECK_EXCEPTION(with_options({.kind = static_cast<cache_kind>(77), .max_sequence_length = 1}),
                        std::invalid_argument, says({"kind 77"}));
}

BOOST_AUTO_TEST_CASE(more_drafts_than_there_are_states_for_are_refused) {
  const std::vector<kv_cache_spec> shapes{{.kind = layer_kind::recurrent, .state = 5}};
  cache cache(shapes, {.slots = 2, .max_sequence_length = 64, .max_recurrent_drafts = 1});
  const step step({{.slot = 1, .count = 3, .drafts = 2}});
  BOOST_CHECK_EXCEPTION(cache.reserve(step), std::length_error, says({"slot 1", "2 draft tokens", "limit is 1"}));
}

BOOST_AUTO_TEST_CASE(options_of_kinds_that_make_no_sense_are_named) {
  const auto refused = [](const options& options, const std::vector<std::string>& words) {
    BOOST_CHECK_EXCEPTION(with_options(options), std::invalid_argument, says(words));
  };
  refused({.type = scalar::fp8, .max_sequence_length = 64}, {"fp8"});
  refused({.max_sequence_length = 64, .max_step_tokens = 0}, {"max_step_tokens", "0"});
  refused({.max_sequence_length = 64, .max_rollback_tokens = -1}, {"max_rollback_tokens", "-1"});
  refused({.max_sequence_length = 64, .max_recurrent_drafts = -1}, {"max_recurrent_drafts", "-1"});
  refused({.max_sequence_length = 64, .max_encoder_length = -2}, {"max_encoder_length", "-2"});
  refused({.sinks = sink_window{.sinks = 65}}, {"sinks", "65", "64"});
  refused({.sinks = sink_window{.sinks = -1}}, {"sinks", "-1"});
  refused({.sinks = sink_window{.window = 0}}, {"window", "0"});
  refused({.kv_quantization = int8(), .sinks = sink_window{}}, {"sinks", "kv_quantization"});
  refused({.max_sequence_length = 64, .kv_quantization = quantization{}}, {"codec"});
  quantization below = int8();
  below.residual = -1;
  refused({.max_sequence_length = 64, .kv_quantization = below}, {"residual", "-1"});
}

BOOST_AUTO_TEST_CASE(shapes_of_kinds_that_make_no_sense_are_named) {
  BOOST_CHECK_EXCEPTION(with_shape({.kind = layer_kind::sliding, .kv_heads = 1, .head_dim = 8}), std::invalid_argument,
                        says({"window of 0"}));
  BOOST_CHECK_EXCEPTION(with_shape({.kv_heads = 1, .head_dim = 8, .window = 5}), std::invalid_argument,
                        says({"window of 5", "only sliding and chunked"}));
  BOOST_CHECK_EXCEPTION(with_shape({.kind = layer_kind::recurrent}), std::invalid_argument, says({"state of 0"}));
  BOOST_CHECK_EXCEPTION(with_shape({.kind = layer_kind::recurrent, .kv_heads = 1, .state = 5}), std::invalid_argument,
                        says({"1 key heads", "have to be 0"}));
  BOOST_CHECK_EXCEPTION(with_shape({.kv_heads = 1, .head_dim = 8, .state = 5}), std::invalid_argument,
                        says({"state of 5", "only recurrent"}));
}

BOOST_DATA_TEST_CASE(what_a_slot_cannot_return_to_is_named, data::make(kinds()), kind) {
  twin twin(kind, 2, 600);
  twin.append({{.slot = 0, .count = 590}});
  if (twin.tested().can_truncate(0, 100)) return;
  BOOST_CHECK_EXCEPTION(twin.tested().truncate(0, 100), std::logic_error,
                        says({"slot 0", "100 tokens", "590", "layer", "no snapshot"}));
  BOOST_CHECK_EXCEPTION(twin.tested().fork({.slot = 1, .source = 0, .end = 100}), std::logic_error,
                        says({"slot 0", "layer"}));
  BOOST_CHECK_EXCEPTION(twin.tested().copy(0, 1, 0, 100), std::logic_error, says({"slot 0", "layer"}));
  twin.check();
}

BOOST_DATA_TEST_CASE(what_cannot_be_forked_is_refused, data::make(kinds()), kind) {
  twin twin(kind, 3, longest);
  twin.append({{.slot = 0, .count = 70}, {.slot = 2, .count = 1}});
  cache& cache = twin.tested();
  BOOST_CHECK_EXCEPTION(cache.fork({.slot = 2, .source = 0, .end = 70}), std::logic_error, says({"slot 2", "empty"}));
  BOOST_CHECK_THROW(cache.fork({.slot = 1, .source = 0, .end = 71}), std::invalid_argument);
  BOOST_CHECK_THROW(cache.fork({.slot = 1, .parent = 0, .shared = 63, .source = 0, .end = 70}), std::invalid_argument);
  BOOST_CHECK_THROW(cache.fork({.slot = 1, .parent = 0, .shared = 64, .source = 0, .end = 60}), std::invalid_argument);
  BOOST_CHECK_THROW(cache.fork({.slot = 1, .parent = 2, .shared = 64, .source = 0, .end = 70}), std::invalid_argument);
  BOOST_CHECK_THROW(cache.fork({.slot = 1, .source = 3, .end = 1}), std::out_of_range);
  twin.check();
}

BOOST_AUTO_TEST_CASE(shapes_that_make_no_sense_are_named) {
  BOOST_CHECK_EXCEPTION(with_shape({.kv_heads = 0, .head_dim = 8}), std::invalid_argument, says({"0 key heads of 8"}));
  BOOST_CHECK_EXCEPTION(with_shape({.kv_heads = 2, .head_dim = -8}), std::invalid_argument,
                        says({"2 key heads of -8"}));
  BOOST_CHECK_EXCEPTION(with_shape({.kv_heads = most, .head_dim = most}), std::invalid_argument,
                        says({"2147483647 key heads", "16777216"}));
  for (const int latent_dim : {-1, 9})
    BOOST_CHECK_EXCEPTION(with_shape({.kv_heads = 1, .head_dim = 8, .latent_dim = latent_dim}), std::invalid_argument,
                          says({"first " + std::to_string(latent_dim) + " numbers", "keys of 8"}));
  BOOST_CHECK_EXCEPTION(with_shape({.kind = layer_kind::recurrent, .state = 5, .latent_dim = 2}), std::invalid_argument,
                        says({"recurrent", "values of 2"}));
}

BOOST_AUTO_TEST_CASE(more_addresses_than_there_are_is_a_clear_error) {
  const std::vector<kv_cache_spec> wide(4, {.kv_heads = 1 << 12, .head_dim = 1 << 12});
  BOOST_CHECK_EXCEPTION(make_cache(wide, {.slots = 1 << 16, .max_sequence_length = most}), std::length_error,
                        says({"exceed"}));
  BOOST_CHECK_EXCEPTION(make_cache(wide, {.slots = 64, .max_sequence_length = 1 << 24}), std::system_error,
                        says({"refuses", "bytes of address space"}));
}

BOOST_AUTO_TEST_CASE(a_dynamic_cache_needs_no_bound) {
  const cache narrow = with_options({.kind = cache_kind::dynamic});
  BOOST_TEST(narrow.max_sequence_length() == 1 << 20);
  const cache bounded = with_options({.kind = cache_kind::dynamic, .max_sequence_length = 77});
  BOOST_TEST(bounded.max_sequence_length() == 77);
}

#if !defined(COGEN_FEW_ADDRESSES)
BOOST_AUTO_TEST_CASE(a_dynamic_cache_shares_addresses_among_slots_and_layers) {
  const std::vector<kv_cache_spec> wide(4, {.kv_heads = 64, .head_dim = 256});
  const cache cache = make_cache(wide, {.kind = cache_kind::dynamic, .type = scalar::f32, .slots = 64});
  const std::int64_t token = cache.footprint(64) / 64;
  BOOST_TEST(cache.max_sequence_length() < 1 << 20);
  BOOST_TEST(cache.max_sequence_length() * token * 64 <= std::int64_t{1} << 44);
  BOOST_TEST((cache.max_sequence_length() + 64) * token * 64 > std::int64_t{1} << 44);
}
#endif

BOOST_DATA_TEST_CASE(slots_and_layers_that_do_not_exist_are_named, data::make(kinds()), kind) {
  twin twin(kind, 2, longest);
  twin.append({{.slot = 0, .count = 3}});
  cache& cache = twin.tested();
  std::vector<std::byte> bytes(1 << 16);
  for (const int slot : {-1, 2, most}) {
    const auto named = says({"slot " + std::to_string(slot), "does not exist"});
    BOOST_CHECK_EXCEPTION(cache.length(slot), std::out_of_range, named);
    BOOST_CHECK_EXCEPTION(cache.truncate(slot, 0), std::out_of_range, named);
    BOOST_CHECK_EXCEPTION(cache.can_truncate(slot, 0), std::out_of_range, named);
    BOOST_CHECK_EXCEPTION(cache.clear(slot), std::out_of_range, named);
    BOOST_CHECK_EXCEPTION(cache.copy(0, slot, 0, 1), std::out_of_range, named);
    BOOST_CHECK_EXCEPTION(cache.copy(slot, 0, 0, 1), std::out_of_range, named);
    BOOST_CHECK_EXCEPTION(cache.export_slot(slot, bytes), std::out_of_range, named);
    BOOST_CHECK_EXCEPTION(cache.import_slot(slot, 1, bytes), std::out_of_range, named);
    for (int layer = 0; layer < cache.layers(); ++layer) {
      const bool built_in = cache.layer(layer).view(0, 0) || cache.layer(layer).state(0);
      if (!built_in) continue;
      const auto look = [&] { return cache.layer(layer).view(slot, 0) || cache.layer(layer).state(slot); };
      BOOST_CHECK_EXCEPTION(look(), std::out_of_range, named);
    }
  }
  const step step({{.slot = 0, .count = 1}, {.slot = 2, .count = 1}});
  BOOST_CHECK_EXCEPTION(cache.reserve(step), std::out_of_range, says({"slot 2"}));
  BOOST_CHECK_EXCEPTION(cache.advance(step), std::out_of_range, says({"slot 2"}));
  BOOST_CHECK_EXCEPTION(cache.layer(4), std::out_of_range, says({"layer 4", "there are 4"}));
  BOOST_CHECK_EXCEPTION(cache.layer(-1), std::out_of_range, says({"layer -1"}));
  twin.check();
}

BOOST_DATA_TEST_CASE(lengths_beyond_a_slot_are_named, data::make(kinds()), kind) {
  twin twin(kind, 2, longest);
  twin.append({{.slot = 0, .count = 30}, {.slot = 1, .count = 10}});
  cache& cache = twin.tested();
  BOOST_CHECK_EXCEPTION(cache.truncate(0, 31), std::length_error, says({"slot 0", "31 tokens", "holds 30"}));
  BOOST_CHECK_EXCEPTION(cache.truncate(0, -1), std::length_error, says({"slot 0", "-1 tokens"}));
  BOOST_TEST(!cache.can_truncate(0, 31));
  BOOST_TEST(!cache.can_truncate(0, -1));
  BOOST_CHECK_EXCEPTION(cache.copy(0, 1, 11, 20), std::length_error, says({"11 to 20", "slot 1", "holds 10"}));
  BOOST_CHECK_EXCEPTION(cache.copy(0, 1, 0, 31), std::length_error, says({"0 to 31", "slot 0", "holds 30"}));
  BOOST_CHECK_THROW(cache.copy(0, 1, -1, 5), std::length_error);
  BOOST_CHECK_THROW(cache.copy(0, 1, 6, 5), std::length_error);
  BOOST_CHECK_EXCEPTION(cache.copy(0, 0, 0, 5), std::invalid_argument, says({"slot 0", "itself"}));
  twin.check();
}

BOOST_DATA_TEST_CASE(a_limit_near_the_largest_int_does_not_wrap, data::make(kinds()), kind) {
  twin twin(kind, 1, longest);
  twin.append({{.slot = 0, .count = 2}});
  BOOST_CHECK_EXCEPTION(twin.tested().reserve(step({{.slot = 0, .count = most}})), std::length_error,
                        says({"2147483649 tokens", "limit is " + std::to_string(twin.tested().max_sequence_length())}));
  twin.check();
}

BOOST_DATA_TEST_CASE(wrong_exports_are_refused, data::make(kinds()), kind) {
  twin twin(kind, 2, longest);
  twin.append({{.slot = 0, .count = 30}});
  cache& cache = twin.tested();
  std::vector<std::byte> bytes(static_cast<std::size_t>(cache.exported_bytes(30)));
  const std::span<std::byte> short_of_one(bytes.data(), bytes.size() - 1);
  BOOST_CHECK_EXCEPTION(cache.export_slot(0, short_of_one), std::invalid_argument,
                        says({"slot 0", "30 tokens", std::to_string(bytes.size() - 1)}));
  BOOST_CHECK_THROW(cache.import_slot(1, 30, short_of_one), std::invalid_argument);
  BOOST_CHECK_THROW(cache.import_slot(1, -1, bytes), std::invalid_argument);
  if (cache.max_sequence_length() == longest)
    BOOST_CHECK_EXCEPTION(cache.import_slot(1, 101, bytes), std::length_error, says({"101 tokens", "limit is 100"}));
  BOOST_CHECK_EXCEPTION(cache.import_slot(0, 30, bytes), std::logic_error, says({"slot 0", "empty"}));
  twin.check();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::cache::test
