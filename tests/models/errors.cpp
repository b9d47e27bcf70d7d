// What a forward refuses, and that it changes nothing then.
#include "histories.hpp"
#include "some_models.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>

namespace cogen::test {
namespace {

/// A tiny model with a cache that holds `first` in slot 0.
struct running_model {
  std::shared_ptr<const cogen::model> model = tiny_model();
  std::vector<token> first = random_tokens(*model, 10, 1);
  cache::cache cache = model->make_cache({.slots = 2, .max_sequence_length = 16});
  workspace own{1};

  running_model() { run(*model, {first}, cache, own, whole()); }

  void forward(std::vector<cache::step_row> rows, const std::vector<token>& tokens, const std::vector<int>& outputs) {
    model->forward({.step = cache::step(std::move(rows)), .tokens = tokens, .outputs = outputs}, cache, own);
  }

  /// Checks that slots hold what they held, by their lengths and the logits that follow.
  void check_untouched() {
    BOOST_TEST(cache.length(0) == 10);
    BOOST_TEST(cache.length(1) == 0);
    const auto more = random_tokens(*model, 3, 2);
    const auto after = run(*model, {more}, cache, own, whole()).front();
    auto tokens = first;
    tokens.insert(tokens.end(), more.begin(), more.end());
    const auto expected = run_alone(*model, tokens, own);
    BOOST_TEST((after == logit_rows(expected.begin() + 10, expected.end())));
  }
};

auto says_all(std::vector<std::string> parts) {
  return [parts](const std::exception& error) {
    for (const auto& part : parts) {
      if (std::string(error.what()).find(part) == std::string::npos) {
        BOOST_TEST_MESSAGE("\"" << error.what() << "\" does not say " << part);
        return false;
      }
    }
    return true;
  };
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(forward_errors, running_model)

BOOST_AUTO_TEST_CASE(token_outside_the_vocabulary) {
  const auto limit = static_cast<token>(model->config().vocabulary);
  for (const token id : {limit, -1, limit + 1'000'000}) {
    BOOST_CHECK_EXCEPTION(forward({{.slot = 0, .count = 2}}, {1, id}, {1}), std::out_of_range,
                          says_all({std::to_string(id), std::to_string(limit)}));
  }
  check_untouched();
}

BOOST_AUTO_TEST_CASE(other_number_of_tokens_than_the_step) {
  BOOST_CHECK_EXCEPTION(forward({{.slot = 0, .count = 3}}, {1, 2}, {1}), std::invalid_argument, says_all({"2", "3"}));
  check_untouched();
}

BOOST_AUTO_TEST_CASE(outputs_that_are_no_tokens) {
  BOOST_CHECK_EXCEPTION(forward({{.slot = 0, .count = 2}}, {1, 2}, {2}), std::out_of_range, says_all({"2"}));
  BOOST_CHECK_EXCEPTION(forward({{.slot = 0, .count = 2}}, {1, 2}, {-1}), std::out_of_range, says_all({"-1"}));
  BOOST_CHECK_EXCEPTION(forward({{.slot = 0, .count = 2}}, {1, 2}, {1, 0}), std::invalid_argument,
                        says_all({"1", "0"}));
  BOOST_CHECK_EXCEPTION(forward({{.slot = 0, .count = 2}}, {1, 2}, {1, 1}), std::invalid_argument, says_all({"1"}));
  check_untouched();
}

BOOST_AUTO_TEST_CASE(slot_that_does_not_exist) {
  BOOST_CHECK_THROW(forward({{.slot = 0, .count = 1}, {.slot = 2, .count = 1}}, {1, 2}, {}), std::out_of_range);
  check_untouched();
}

BOOST_AUTO_TEST_CASE(longer_than_the_cache) {
  BOOST_CHECK_EXCEPTION(forward({{.slot = 1, .count = 2}, {.slot = 0, .count = 7}}, std::vector<token>(9, 3), {}),
                        std::length_error, says_all({"17", "16"}));
  check_untouched();
}

BOOST_AUTO_TEST_CASE(longer_than_the_model_reads) {
  auto endless = model->make_cache({.kind = cache::cache_kind::dynamic, .slots = 1});
  const auto limit = static_cast<int>(model->config().max_positions);
  const std::vector<token> tokens(static_cast<std::size_t>(limit) + 1, 3);
  const batch batch{.step = cache::step({{.slot = 0, .count = limit + 1}}), .tokens = tokens, .outputs = {}};
  BOOST_CHECK_EXCEPTION(model->forward(batch, endless, own), std::length_error,
                        says_all({std::to_string(limit), std::to_string(limit + 1)}));
  BOOST_TEST(endless.length(0) == 0);
  BOOST_CHECK_NO_THROW(model->forward(std::span(tokens).first(static_cast<std::size_t>(limit)), endless));
}

BOOST_AUTO_TEST_CASE(cache_of_another_model) {
  auto shapes = model->kv_cache_specs();
  shapes.back().head_dim += 4;
  cache::cache wider(shapes, {.slots = 1, .max_sequence_length = 16});
  BOOST_CHECK_EXCEPTION(model->forward(first, wider), std::invalid_argument,
                        says_all({"layer 2", std::to_string(shapes.back().head_dim)}));
  shapes.pop_back();
  cache::cache flatter(shapes, {.slots = 1, .max_sequence_length = 16});
  BOOST_CHECK_EXCEPTION(model->forward(first, flatter), std::invalid_argument, says_all({"2", "3"}));
}

BOOST_AUTO_TEST_CASE(no_tokens) {
  BOOST_CHECK_THROW(model->forward(std::vector<token>{}, cache), std::invalid_argument);
  forward({}, {}, {});
  check_untouched();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
