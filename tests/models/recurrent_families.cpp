// Models that keep a state instead of every token: the same bits in any batch, and what they refuse.
#include "histories.hpp"
#include "plain_layer.hpp"
#include "some_models.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace cogen::test {
namespace {

const std::shared_ptr<const model>& recurrent_model(const std::string& golden) {
  static std::map<std::string, std::shared_ptr<const model>> loaded;
  auto& found = loaded[golden];
  if (!found) found = load_model(golden_folder(golden), {.threads = 1});
  return found;
}

const std::vector<std::string> goldens{"mamba_tiny",       "jamba_tiny",         "lfm2_published",   "qwen3_5_interval",
                                       "mamba2_published", "granite4_published", "falcon_h1_scaled", "zamba2_published",
                                       "rwkv_published",   "rwkv_wide"};

bool is_recurrent(const cache::kv_cache_spec& shape) { return shape.kind == cache::layer_kind::recurrent; }

}  // namespace

BOOST_AUTO_TEST_SUITE(recurrent_families)

BOOST_AUTO_TEST_CASE(random_batches) {
  for (const auto& golden : goldens) {
    BOOST_TEST_CONTEXT(golden) {
      check_company(*recurrent_model(golden), {1, 2, 3, 5, 64, 65, 130, 17}, 20, cache::scalar::f32);
    }
  }
}

BOOST_AUTO_TEST_CASE(every_size_of_pieces) {
  for (const auto& golden : goldens) {
    const auto& model = recurrent_model(golden);
    const auto sequence = random_tokens(*model, 40, 7);
    workspace workspace(2);
    const auto at_once = run_alone(*model, sequence, workspace);
    for (int size = 1; size < 40; ++size) {
      auto cache = cache_for(*model, {sequence});
      const auto in_pieces = run(*model, {sequence}, cache, workspace, pieces_of(size)).front();
      BOOST_TEST((in_pieces == at_once), golden << " in pieces of " << size << ": " << distance(in_pieces, at_once));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_slot_that_was_used_before_leaves_no_trace) {
  for (const auto& golden : goldens) {
    const auto& model = recurrent_model(golden);
    const auto first = random_tokens(*model, 30, 1), second = random_tokens(*model, 20, 2);
    workspace workspace(2);
    auto cache = cache_for(*model, {first});
    run(*model, {first}, cache, workspace, whole());
    cache.clear(0);
    const auto after = run(*model, {second}, cache, workspace, pieces_of(9)).front();
    BOOST_TEST((after == run_alone(*model, second, workspace)), golden);
  }
}

BOOST_AUTO_TEST_CASE(wanting_fewer_logits_changes_none) {
  for (const auto& golden : goldens) {
    const auto& model = recurrent_model(golden);
    const auto tokens = random_tokens(*model, 50, 6);
    workspace workspace(2);
    const auto expected = run_alone(*model, tokens, workspace);
    auto cache = cache_for(*model, {tokens});
    const std::vector<int> outputs{0, 17, 18, 49};
    const auto some = model->forward(
        {.step = cache::step({{.slot = 0, .count = 50}}), .tokens = tokens, .outputs = outputs}, cache, workspace);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto row = some[static_cast<std::int64_t>(i)];
      BOOST_TEST((std::vector<float>(row.begin(), row.end()) == expected[static_cast<std::size_t>(outputs[i])]),
                 golden);
    }
  }
}

BOOST_AUTO_TEST_CASE(layers_remember_what_the_configuration_says) {
  const auto& mamba = recurrent_model("mamba_tiny")->kv_cache_specs();
  BOOST_TEST(std::ranges::all_of(mamba, is_recurrent));
  const auto& jamba = recurrent_model("jamba_tiny")->kv_cache_specs();
  BOOST_TEST(std::ranges::any_of(jamba, is_recurrent));
  BOOST_TEST(!std::ranges::all_of(jamba, is_recurrent));
  const auto& lfm2 = recurrent_model("lfm2_published")->kv_cache_specs();
  BOOST_TEST(std::ranges::count_if(lfm2, is_recurrent) == 3);
  BOOST_TEST(lfm2.front().state == 24 * 2);
  const auto& net = recurrent_model("qwen3_5_interval")->kv_cache_specs();
  BOOST_TEST(net.front().state == (2 * 10 + 42) * 3 + 6 * 5 * 7);
  BOOST_TEST(!is_recurrent(net.back()));
  const auto& mamba2 = recurrent_model("mamba2_published")->kv_cache_specs();
  BOOST_TEST(std::ranges::all_of(mamba2, is_recurrent));
  BOOST_TEST(mamba2.front().state == (52 + 2 * 10) * 3 + 52 * 5);
  const auto& rwkv = recurrent_model("rwkv_wide")->kv_cache_specs();
  BOOST_TEST(std::ranges::all_of(rwkv, is_recurrent));
  BOOST_TEST(rwkv.at(0).state == 22 + 3 * 35);
  BOOST_TEST(rwkv.at(1).state == 22);
  for (const auto& shape : jamba) BOOST_TEST((is_recurrent(shape) ? shape.state : shape.kv_heads) > 0);
}

BOOST_AUTO_TEST_CASE(a_cache_of_layers_without_states_is_refused) {
  const auto& model = recurrent_model("mamba_tiny");
  auto cache = make_plain_cache(model->kv_cache_specs(), 1, cache::scalar::f32);
  BOOST_CHECK_THROW(model->forward(std::vector<token>{3, 4}, cache), std::logic_error);
  BOOST_TEST(cache.length(0) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
