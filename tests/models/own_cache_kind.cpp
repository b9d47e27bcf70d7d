// A cache kind that kernels cannot read in place goes through the generic path.
#include "histories.hpp"
#include "plain_layer.hpp"
#include "some_models.hpp"

#include <boost/test/unit_test.hpp>

namespace cogen::test {

BOOST_AUTO_TEST_SUITE(own_cache_kind)

BOOST_AUTO_TEST_CASE(gives_the_logits_of_the_kernels_up_to_rounding) {
  const auto model = tiny_model();
  const std::vector<std::vector<token>> sequences{random_tokens(*model, 90, 1), random_tokens(*model, 7, 2),
                                                  random_tokens(*model, 70, 3)};
  workspace workspace(2);
  auto plain = make_plain_cache(model->kv_cache_specs(), 3, cache::scalar::f32);
  const auto generic = run(*model, sequences, plain, workspace, random_pieces(30, 1));
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const float off = distance(generic[i], run_alone(*model, sequences[i], workspace, cache::scalar::f32));
    BOOST_TEST(off < 1e-4F, "sequence " << i << " is off by " << off);
  }
}

BOOST_AUTO_TEST_CASE(keeps_the_bits_in_any_batch) {
  const auto model = tiny_model();
  const std::vector<std::vector<token>> sequences{random_tokens(*model, 40, 4), random_tokens(*model, 67, 5)};
  workspace single(1);
  workspace three(3);
  auto together = make_plain_cache(model->kv_cache_specs(), 2, cache::scalar::bf16);
  const auto mixed = run(*model, sequences, together, three, random_pieces(11, 2));
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    auto alone = make_plain_cache(model->kv_cache_specs(), 1, cache::scalar::bf16);
    BOOST_TEST((mixed[i] == run(*model, {sequences[i]}, alone, single, whole()).front()), "sequence " << i);
  }
}

BOOST_AUTO_TEST_CASE(can_be_cut_and_go_on) {
  const auto model = tiny_model();
  const auto tokens = random_tokens(*model, 30, 6);
  workspace workspace(1);
  auto cache = make_plain_cache(model->kv_cache_specs(), 1, cache::scalar::f32);
  const auto expected = run(*model, {tokens}, cache, workspace, whole()).front();
  cache.truncate(0, 12);
  const std::vector<token> rest(tokens.begin() + 12, tokens.end());
  BOOST_TEST(
      (run(*model, {rest}, cache, workspace, whole()).front() == logit_rows(expected.begin() + 12, expected.end())));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
