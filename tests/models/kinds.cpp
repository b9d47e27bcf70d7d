// Each kind of cache under each family: whatever happens to a slot, its logits are the bits of a sequence that is alone
// and runs at once.
#include "cached_model.hpp"
#include "some_models.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <stdexcept>
#include <vector>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

std::vector<token> sequence_for(const cached_model& params, unsigned seed = 1) {
  return random_tokens(*params.loaded(), params.length(), seed);
}

void check_same(const logit_rows& found, const logit_rows& expected, const char* after) {
  BOOST_TEST((found == expected), after << ": off by " << distance(found, expected));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kinds)

BOOST_DATA_TEST_CASE(pieces_do_not_matter, data::make(cached_models()), each) {
  const auto tokens = sequence_for(each);
  const auto expected = each.alone(tokens);
  for (const int piece : {1, 3, 7, 64}) {
    auto cache = each.make_cache(1);
    check_same(go_on(each, cache, tokens, piece), expected, "in pieces");
  }
  auto roomy = each;
  roomy.options.max_step_tokens = 512;
  check_same(roomy.alone(tokens), expected, "in rings with room for all of it");
}

BOOST_DATA_TEST_CASE(the_rest_of_the_batch_does_not_matter, data::make(cached_models()), each) {
  const std::vector<std::vector<token>> sequences{sequence_for(each), random_tokens(*each.loaded(), 37, 2),
                                                  random_tokens(*each.loaded(), 81, 3)};
  auto cache = each.make_cache(3);
  workspace workspace(3);
  const auto together = run(*each.loaded(), sequences, cache, workspace, random_pieces(20, 4));
  for (std::size_t i = 0; i < sequences.size(); ++i) check_same(together[i], each.alone(sequences[i]), "in a batch");
}

BOOST_DATA_TEST_CASE(a_slot_comes_back_from_its_bytes, data::make(cached_models()), each) {
  const auto tokens = sequence_for(each);
  const auto expected = rest_of(each.alone(tokens), 73);
  auto cache = each.make_cache(2);
  go_on(each, cache, first_of(tokens, 73));
  const int encoder_input = cache.encoder_length(0);
  std::vector<std::byte> bytes(static_cast<std::size_t>(cache.exported_bytes(73, encoder_input)));
  cache.export_slot(0, bytes);
  check_same(go_on(each, cache, rest_of(tokens, 73)), expected, "export");
  cache.clear(0);
  cache.import_slot(0, 73, bytes, encoder_input);
  BOOST_TEST(cache.encoder_length(0) == encoder_input);
  check_same(go_on(each, cache, rest_of(tokens, 73)), expected, "import");
}

BOOST_DATA_TEST_CASE(forks_go_their_own_ways, data::make(cached_models()), each) {
  const auto stem = random_tokens(*each.loaded(), 73, 1);
  const std::vector<std::vector<token>> tails{random_tokens(*each.loaded(), each.length() - 73, 5),
                                              random_tokens(*each.loaded(), each.length() - 73, 6)};
  for (const int shared : {0, 64}) {
    auto cache = each.make_cache(2);
    go_on(each, cache, stem);
    if (each.loaded()->has_encoder()) cache.clear(1);
    cache.fork({.slot = 1, .parent = shared > 0 ? 0 : -1, .shared = shared, .source = 0, .end = 73});
    workspace workspace(2);
    const auto both = run(*each.loaded(), tails, cache, workspace, random_pieces(11, 7));
    for (std::size_t i = 0; i < tails.size(); ++i)
      check_same(both[i], rest_of(each.alone(joined(stem, tails[i])), 73), i == 0 ? "beside a fork" : "in a fork");
  }
}

BOOST_DATA_TEST_CASE(a_cut_within_the_rollback_limit_leaves_no_trace, data::make(cached_models()), each) {
  const auto tokens = sequence_for(each);
  const int held = each.length() - 20;
  const auto other = random_tokens(*each.loaded(), 20, 8);
  for (const int back : {0, 1, 5, small_rollback}) {
    auto cache = each.make_cache(1);
    if (back > cache.max_rollback_tokens()) continue;
    go_on(each, cache, first_of(tokens, held));
    cache.truncate(0, held - back);
    const auto expected = each.alone(joined(first_of(tokens, held - back), other));
    check_same(go_on(each, cache, other, 7), rest_of(expected, held - back), "a cut");
  }
}

BOOST_DATA_TEST_CASE(a_cut_beyond_the_rollback_limit_is_right_or_refused, data::make(cached_models()), each) {
  const auto tokens = sequence_for(each);
  const int held = each.length() - 5;
  auto cache = each.make_cache(1);
  go_on(each, cache, first_of(tokens, held));
  const bool can = cache.can_truncate(0, 10);
  if (cache.max_rollback_tokens() >= held) BOOST_TEST(can);
  if (each.golden == "mamba_tiny" || each.golden == "mistral_window") BOOST_TEST(!can);
  if (!can) BOOST_CHECK_THROW(cache.truncate(0, 10), std::logic_error);
  if (can) cache.truncate(0, 10);
  BOOST_TEST(cache.length(0) == (can ? 10 : held));
  const int length = cache.length(0);
  check_same(go_on(each, cache, rest_of(tokens, length)), rest_of(each.alone(tokens), length), "a far cut");
}

BOOST_DATA_TEST_CASE(a_snapshot_is_a_way_back, data::make(cached_models()), each) {
  const auto tokens = sequence_for(each);
  const auto other = random_tokens(*each.loaded(), 20, 8);
  const auto expected = rest_of(each.alone(joined(first_of(tokens, 30), other)), 30);
  auto cache = each.make_cache(1);
  go_on(each, cache, first_of(tokens, 30));
  cache.take_checkpoint(0);
  go_on(each, cache, rest_of(tokens, 30));
  for (int time = 0; time < 2; ++time) {
    cache.truncate(0, 30);
    check_same(go_on(each, cache, other, 3), expected, "the return");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
