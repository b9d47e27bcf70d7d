// Draft tokens beside a guide, and those that it forces: the same tokens in fewer steps.
#include "guided_engine.hpp"

#include <cogen/drafter.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(guided_drafts)

toy_setup with_drafts(int most = 16) {
  return {.max_batched_tokens = 40, .max_draft_tokens = most, .end_tokens = {96}};
}

/// Words that go on in several ways, and then in one way for a while.
texts some_words() {
  texts words;
  for (token first = 0; first < 90; first += 2)
    for (token second = 1; second < 90; second += 11) {
      words.push_back({first, 50, 51, 52, second, (first + second) % 90, 60, 61});
      if (first % 3 == 0) words.push_back({first, 50, 51, 52, second, (first + second) % 90, 60});
    }
  return words;
}

/// Continues as one of the words does, wrong every third time.
class word_drafter final : public drafter {
 public:
  std::vector<token> draft(std::span<const token> history, int most) override {
    std::vector<token> drafts;
    for (int i = 0; i < most; ++i) {
      const auto position = history.size() + drafts.size() - 2;  // behind the prompt
      drafts.push_back(
          position == 3 && history.size() % 3 != 0 ? 12 : static_cast<token>(position < 4 ? 49 + position : 60));
    }
    return drafts;
  }
};

std::vector<request> all_kinds(const std::shared_ptr<const guide>& grammar, const std::shared_ptr<drafter>& drafts) {
  std::vector<request> requests;
  for (const auto& params : std::vector<sampling_params>{
           {},
           hot(1),
           {.temperature = 40, .repetition_penalty = 1.3, .seed = 2},
           {.temperature = 40, .top_k = 60, .presence_penalty = 2, .frequency_penalty = 90, .seed = 3},
           {.temperature = 4, .top_p = 0.7, .min_tokens = 8, .seed = 4, .logprobs = 2},
           {.repetition_penalty = 3, .processor = [](auto history, auto scores) { scores[history.size() % 97] += 8; }},
           {.logit_bias = {{60, 5.}}}})
    for (const bool ends : {true, false}) {
      requests.push_back(constrained(grammar, params));
      requests.back().ignore_eos = !ends;
      requests.back().speculative = {.drafter = drafts, .max_draft_tokens = 5};
    }
  requests.back().max_tokens = 5;
  requests.front().prompt_logprobs = 1;
  return requests;
}

BOOST_DATA_TEST_CASE(no_forced_token_and_no_draft_changes_what_is_said,
                     data::make(sampled_at_any_time) * data::make({false, true}), how, drafted) {
  const auto grammar = only(some_words());
  guided_engine plain({how.by_device, how.depth, how.late}, with_drafts(0));
  const auto expected = ask(plain, all_kinds(grammar, nullptr));
  guided_engine forcing(how, with_drafts());
  const auto received = ask(forcing, all_kinds(grammar, drafted ? std::make_shared<word_drafter>() : nullptr));
  int accepted = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) BOOST_TEST_CONTEXT("stream " << i) {
      BOOST_TEST(received[i].tokens == expected[i].tokens, boost::test_tools::per_element());
      BOOST_CHECK(received[i].reason == expected[i].reason);
      BOOST_TEST(received[i].code == expected[i].code);
      BOOST_TEST(received[i].usage.generated_tokens == expected[i].usage.generated_tokens);
      accepted += received[i].usage.accepted_draft_tokens;
    }
  if (how.postponed_call > 0) return;
  BOOST_TEST(accepted > 3 * std::ssize(expected));
  BOOST_TEST(forcing.running.stats().steps < plain.running.stats().steps);
}

BOOST_DATA_TEST_CASE(forced_tokens_are_run_with_the_step_before_them, data::make(sampled_everywhere), how) {
  guided_engine toy(how, with_drafts());
  const auto said = ask(toy, constrained(only({{5, 6, 7, 8, 20, 30, 31}, {5, 6, 7, 8, 21, 30, 32}})));
  BOOST_CHECK(said.reason == finish_reason::eos);
  BOOST_TEST(said.tokens.size() == 7u);
  BOOST_TEST(said.usage.draft_tokens == 6);  // 5 to 8, and then 30 with what follows
  BOOST_TEST(said.usage.accepted_draft_tokens == 6);
  const auto stats = toy.running.stats();
  BOOST_TEST(stats.steps <= 3u);
  BOOST_TEST(stats.accepted_draft_tokens == 6u);
}

BOOST_DATA_TEST_CASE(a_text_that_is_forced_to_its_end_ends_within_a_row, data::make(sampled_everywhere), how) {
  for (const bool ends : {true, false}) {
    guided_engine toy(how, with_drafts());
    auto asked = constrained(only({{5, 60, 90, 7}}), hot(3));
    asked.ignore_eos = !ends;
    check_said(ask(toy, asked), {5, 60, 90, 7}, finish_reason::eos);
    asked.max_tokens = 3;
    check_said(ask(toy, asked), {5, 60, 90}, finish_reason::length);
    asked.max_tokens = 4;
    check_said(ask(toy, asked), {5, 60, 90, 7}, finish_reason::eos);
  }
}

/// Forces what it does not allow.
class mistaken_guide final : public guide {
 public:
  explicit mistaken_guide(std::vector<token> forces) : forces_(std::move(forces)), allows_({{5, 60, 90}}) {}

  bool allow(std::span<std::uint64_t> tokens) override { return allows_.allow(tokens); }
  void accept(token next) override { allows_.accept(next); }
  void roll_back(int tokens) override { allows_.roll_back(tokens); }
  bool is_complete() const override { return allows_.is_complete(); }
  std::unique_ptr<guide> clone() const override { return std::make_unique<mistaken_guide>(*this); }
  std::vector<token> forced() override { return forces_; }

 private:
  std::vector<token> forces_;
  text_guide allows_;
};

BOOST_DATA_TEST_CASE(what_a_guide_forces_and_does_not_allow_is_not_said, data::make(sampled_at_any_time), how) {
  for (const auto& forces : texts{{7, 8}, {5, 61}, {5, 60, 90, 3}, std::vector<token>(30, 5)}) {
    guided_engine toy(how, with_drafts());
    check_said(ask(toy, constrained(std::make_shared<mistaken_guide>(forces))), {5, 60, 90}, finish_reason::eos);
  }
}

BOOST_DATA_TEST_CASE(a_forced_token_that_has_no_logits_is_not_run, data::make({-1, 97, 1 << 30}), id) {
  guided_engine toy(sampled_everywhere[0], with_drafts());
  const auto said = ask(toy, constrained(std::make_shared<mistaken_guide>(std::vector<token>{5, id, 60})));
  check_said(said, {5, 60, 90}, finish_reason::eos);
  BOOST_TEST(said.usage.accepted_draft_tokens == 1);
}

BOOST_DATA_TEST_CASE(a_guide_that_fails_at_any_call_fails_its_own_request_or_none,
                     data::make(sampled_everywhere) * data::make({false, true}), how, drafted) {
  const texts words{{5, 60, 61, 62, 90, 7}, {5, 60, 61, 62, 91, 8}};
  const request free{.prompt = token_ids{1, 2}, .max_tokens = 12, .sampling = hot(3)};
  guided_engine plain(how, with_drafts(0));
  const auto expected = ask(plain, {free, constrained(only(words)), constrained(only(words), hot(4))});
  bool called = true;
  int failed = 0, calls = 0;
  for (; called; ++calls) {
    guided_engine toy(how, with_drafts());
    called = false;
    const auto grammar = only(words, [&, left = calls](std::string_view member) mutable {
      if (member == "clone" || left-- != 0) return;
      called = true;
      throw std::runtime_error("no more of this");
    });
    auto failing = constrained(grammar);
    if (drafted) failing.speculative.drafter = std::make_shared<word_drafter>();
    const auto said = ask(toy, {free, failing, constrained(only(words), hot(4))});
    check_said(said[0], expected[0].tokens, finish_reason::length);
    check_said(said[2], expected[2].tokens, finish_reason::eos);
    if (said[1].code) {
      ++failed;
      check_failed(said[1], error::callback_threw, "the guide threw: no more of this");
      BOOST_TEST(std::equal(said[1].tokens.begin(), said[1].tokens.end(), expected[1].tokens.begin()));
    } else {
      check_said(said[1], expected[1].tokens, finish_reason::eos);
    }
    BOOST_TEST(toy.running.stats().free_slots == 4);
  }
  BOOST_TEST(calls > 12);
  BOOST_TEST(failed > calls / 4);
}

BOOST_DATA_TEST_CASE(sequences_decode_with_drafts_beside_a_guide, data::make({0, 1, 2, 3}), wrong_at) {
  const texts words{{5, 60, 61, 62, 90, 7}, {5, 60, 61, 62, 91, 8}};
  guided_engine toy(sampled_everywhere[0], with_drafts());
  drive(toy.running, [&]() -> net::awaitable<void> {
    const auto drafts = [&](const std::vector<token>& right, std::size_t begin) {
      std::vector<token> result(right.begin() + static_cast<std::ptrdiff_t>(begin), right.end());
      if (wrong_at > 0 && static_cast<std::size_t>(wrong_at) < result.size())
        result[static_cast<std::size_t>(wrong_at)] = 3;
      return result;
    };
    const auto ids = [](const std::vector<sampled_token>& tokens) { return ids_of(tokens); };
    auto parent = toy.running.open();
    co_await parent.async_forward({1, 2});
    parent.constrain(std::make_unique<text_guide>(words));
    const auto right = words[toy_next(std::vector<token>{1, 2, 5, 60, 61, 62}) == 91 ? 1 : 0];
    auto said = ids(co_await parent.async_decode_drafts({}, sampling_params{}, drafts({5, 60, 61}, 0)));
    BOOST_TEST(said.size() == (wrong_at == 1 || wrong_at == 2 ? static_cast<std::size_t>(wrong_at) + 1 : 4u));
    auto child = parent.fork();
    parent.truncate(3);
    const auto after_cut = ids(co_await parent.async_decode_drafts({}, sampling_params{}, drafts({60, 61, 62}, 0)));
    BOOST_TEST(after_cut[0] == 60);
    while (said.size() < 6) {
      const auto more = ids(co_await child.async_decode_drafts({}, sampling_params{}, drafts(right, said.size())));
      said.insert(said.end(), more.begin(), more.end());
    }
    BOOST_TEST(std::ranges::count(words, said) == 1);
    const auto held = child.tokens();
    BOOST_TEST(std::equal(said.begin(), said.end(), held.begin() + 2, held.end()));
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
