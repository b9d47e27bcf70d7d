// A sequence's logits are the same bits in any batch, in any chunks, on any number of threads.
#include "histories.hpp"
#include "network/kernels/instruction_set.hpp"
#include "some_models.hpp"

#include <boost/test/unit_test.hpp>

#include <vector>

namespace cogen::test {
BOOST_AUTO_TEST_SUITE(company)

BOOST_AUTO_TEST_CASE(random_batches_of_a_tiny_model) {
  const auto model = tiny_model();
  for (const auto type : {cache::scalar::f32, cache::scalar::f16, cache::scalar::bf16}) {
    check_company(*model, {1, 5, 63, 64, 65, 130, 17, 256}, 40, type);
  }
}

BOOST_AUTO_TEST_CASE(random_batches_with_int8_products) {
  for (const auto set : kernels::available_instruction_sets()) {
    const environment_setting forced("COGEN_INSTRUCTION_SET", std::string(kernels::name_of(set)));
    for (const std::string golden : {"llama_gguf", "jamba_tiny"}) {
      BOOST_TEST_CONTEXT(golden << ", " << kernels::name_of(set)) {
        const auto model = load_model(golden_folder(golden), {.threads = 1});
        check_company(*model, {1, 5, 63, 130, 17}, 40, cache::scalar::f32, compute_type::int8);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(each_compute_type_keeps_to_itself) {
  const auto model = load_model(golden_folder("llama_gguf"), {.threads = 1});
  const auto tokens = random_tokens(*model, 30, 9);
  workspace exact(1), fast(1, compute_type::int8);
  BOOST_CHECK(exact.compute_type() == compute_type::float32);
  BOOST_CHECK(fast.compute_type() == compute_type::int8);
  const auto expected = run_alone(*model, tokens, exact);
  const auto rounded = run_alone(*model, tokens, fast);
  BOOST_TEST(distance(rounded, expected) > 0.0F);
  BOOST_TEST(distance(rounded, expected) < 0.5F);
  BOOST_TEST((run_alone(*model, tokens, exact) == expected));
}

BOOST_AUTO_TEST_CASE(every_size_of_pieces_of_a_tiny_model) {
  const auto model = tiny_model();
  const auto sequence = random_tokens(*model, 150, 7);
  workspace workspace(2);
  const auto at_once = run_alone(*model, sequence, workspace);
  for (int size = 1; size < 150; ++size) {
    auto cache = cache_for(*model, {sequence});
    const auto in_pieces = run(*model, {sequence}, cache, workspace, pieces_of(size)).front();
    BOOST_TEST((in_pieces == at_once), "pieces of " << size << ": " << distance(in_pieces, at_once));
  }
}

BOOST_AUTO_TEST_CASE(a_slot_that_was_used_before_leaves_no_trace) {
  const auto model = tiny_model();
  const auto first = random_tokens(*model, 100, 1);
  const auto second = random_tokens(*model, 80, 2);
  workspace workspace(2);
  auto cache = cache_for(*model, {first});
  run(*model, {first}, cache, workspace, whole());
  cache.truncate(0, 70);
  cache.truncate(0, 0);
  const auto after = run(*model, {second}, cache, workspace, pieces_of(9)).front();
  BOOST_TEST((after == run_alone(*model, second, workspace)));
}

BOOST_AUTO_TEST_CASE(a_base_and_a_tail_give_the_bits_of_a_slot_of_its_own) {
  const auto model = tiny_model();
  const auto shared = random_tokens(*model, 130, 3);
  workspace workspace(2);
  for (const int base : {64, 128}) {
    auto branch = shared;
    branch.resize(static_cast<std::size_t>(base));
    const auto tail = random_tokens(*model, 90, 4);
    branch.insert(branch.end(), tail.begin(), tail.end());
    const auto alone = run_alone(*model, branch, workspace);

    auto cache = model->make_cache({.slots = 2, .max_sequence_length = 256});
    run(*model, {shared}, cache, workspace, whole());
    cache.share_prefix(1, 0, base);
    const auto after = run(*model, {{}, tail}, cache, workspace, random_pieces(20, 5))[1];
    BOOST_TEST((after == logit_rows(alone.begin() + base, alone.end())), "base of " << base);
  }
}

BOOST_AUTO_TEST_CASE(wanting_fewer_logits_changes_none) {
  const auto model = tiny_model();
  const auto tokens = random_tokens(*model, 50, 6);
  workspace workspace(2);
  const auto expected = run_alone(*model, tokens, workspace);
  auto cache = cache_for(*model, {tokens});
  const std::vector<int> outputs{0, 17, 18, 49};
  const auto some = model->forward(
      {.step = cache::step({{.slot = 0, .count = 50}}), .tokens = tokens, .outputs = outputs}, cache, workspace);
  BOOST_REQUIRE_EQUAL(some.rows, 4);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto row = some[static_cast<std::int64_t>(i)];
    BOOST_TEST((std::vector<float>(row.begin(), row.end()) == expected[static_cast<std::size_t>(outputs[i])]));
  }
}

BOOST_AUTO_TEST_CASE(a_forward_without_outputs_still_remembers) {
  const auto model = tiny_model();
  const auto tokens = random_tokens(*model, 20, 8);
  workspace workspace(1);
  auto cache = cache_for(*model, {tokens});
  const auto none = model->forward(
      {.step = cache::step({{.slot = 0, .count = 19}}), .tokens = std::span(tokens).first(19), .outputs = {}}, cache,
      workspace);
  BOOST_TEST(none.rows == 0);
  const auto last = model->forward(std::span(tokens).last(1), cache);
  BOOST_TEST((last == run_alone(*model, tokens, workspace).back()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
