// Where sequences end, and where they need not.
#include "cached_model.hpp"
#include "some_models.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

const std::vector<std::string> endless_kinds{"four_sinks", "no_sinks"};

bool finite(const logit_rows& rows) { return distance(rows, rows) == 0; }

}  // namespace

BOOST_AUTO_TEST_SUITE(kind_bounds)

BOOST_DATA_TEST_CASE(sinks_go_on_beyond_the_positions_in_constant_memory, data::make(endless_kinds), kind) {
  for (const std::string golden : {"llama_default", "gemma3_text", "jamba_tiny"}) {
    const cached_model params{.golden = golden, .kind = kind, .options = kind_named(kind)};
    BOOST_TEST(params.loaded()->config().max_positions == 256);
    const auto tokens = random_tokens(*params.loaded(), 600, 3);
    auto cache = params.make_cache(1);
    auto in_pieces = go_on(params, cache, first_of(tokens, 200), 7);
    const auto full = cache.committed_bytes();
    BOOST_TEST(full > 0);
    for (int begin = 200; begin < 600; begin += 50) {
      const auto more = go_on(params, cache, rest_of(first_of(tokens, begin + 50), begin), 7);
      in_pieces.insert(in_pieces.end(), more.begin(), more.end());
      BOOST_TEST(cache.committed_bytes() == full, golden << " at " << begin);
    }
    BOOST_TEST(cache.footprint(600) >= full);
    BOOST_TEST(cache.footprint(600) == cache.footprint(100'000));
    BOOST_TEST(finite(in_pieces));
    BOOST_TEST((in_pieces == params.alone(tokens)), golden);
  }
}

BOOST_AUTO_TEST_CASE(windows_in_every_layer_need_no_end_either) {
  auto options = kind_named("dynamic");
  options.max_sequence_length = 0;
  const cached_model params{.golden = "mistral_window", .kind = "dynamic", .options = options};
  auto cache = params.make_cache(1);
  BOOST_TEST(finite(go_on(params, cache, random_tokens(*params.loaded(), 600, 3), 50)));
  BOOST_TEST(cache.length(0) == 600);
}

BOOST_AUTO_TEST_CASE(one_layer_that_sees_all_ends_with_the_positions) {
  for (const std::string golden : {"llama_default", "gemma3_text"}) {
    auto options = kind_named("dynamic");
    options.max_sequence_length = 0;
    const cached_model params{.golden = golden, .kind = "dynamic", .options = options};
    auto cache = params.make_cache(1);
    const auto tokens = random_tokens(*params.loaded(), 257, 3);
    BOOST_CHECK_THROW(go_on(params, cache, tokens, 257), std::length_error);
    BOOST_TEST(cache.length(0) == 0);
    go_on(params, cache, first_of(tokens, 256));
    BOOST_CHECK_THROW(go_on(params, cache, {1}), std::length_error);
    BOOST_TEST(cache.length(0) == 256);
  }
}

BOOST_AUTO_TEST_CASE(a_table_of_positions_ends_whatever_the_cache_forgets) {
  const cached_model params{.golden = "bart_tiny", .kind = "four_sinks", .options = kind_named("four_sinks")};
  auto cache = params.make_cache(1);
  const auto tokens = random_tokens(*params.loaded(), 97, 3);
  go_on(params, cache, first_of(tokens, 96));
  BOOST_CHECK_THROW(go_on(params, cache, {1}), std::length_error);
  BOOST_TEST(cache.length(0) == 96);
}

BOOST_DATA_TEST_CASE(a_forward_beyond_the_bound_changes_nothing, data::make(cached_models()), each) {
  if (each.options.sinks || each.loaded()->has_encoder()) return;
  const auto tokens = random_tokens(*each.loaded(), 201, 3);
  auto cache = each.make_cache(2);
  go_on(each, cache, first_of(tokens, 190));
  const auto previous = cache.committed_bytes();
  BOOST_CHECK_THROW(go_on(each, cache, rest_of(tokens, 190)), std::length_error);
  BOOST_TEST(cache.length(0) == 190);
  BOOST_TEST(cache.committed_bytes() == previous);
  const auto last = rest_of(first_of(tokens, 200), 190);
  BOOST_TEST((go_on(each, cache, last) == rest_of(each.alone(first_of(tokens, 200)), 190)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
