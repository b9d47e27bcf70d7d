// Requests with a drafter: the same tokens from fewer steps, whatever it proposes.
#include "sampling/described_sampling.hpp"
#include "toy_runner.hpp"

#include <cogen/drafter.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(speculation)

/// Knows what the toy model says greedily, and is wrong at every so many tokens of the history.
class prophet final : public drafter {
 public:
  explicit prophet(std::size_t wrong_at = 0) : wrong_at_(wrong_at) {}

  std::vector<token> draft(std::span<const token> history, int most) override {
    auto drafts = toy_continuation({history.begin(), history.end()}, most);
    for (std::size_t i = 0; i < drafts.size(); ++i)
      if (wrong_at_ > 0 && (history.size() + i) % wrong_at_ == 0) drafts[i] = (drafts[i] + 1) % toy_vocabulary;
    return drafts;
  }

  void accept(std::span<const token> history, int count) override {
    told += count;
    last.assign(history.begin(), history.end());
  }

  int told = 0;
  std::vector<token> last;

 private:
  const std::size_t wrong_at_;
};

/// Calls a function.
class drafting final : public drafter {
 public:
  explicit drafting(std::function<std::vector<token>()> call) : call_(std::move(call)) {}
  std::vector<token> draft(std::span<const token>, int) override { return call_(); }

 private:
  std::function<std::vector<token>()> call_;
};

struct answer {
  std::vector<token> tokens;
  error_code code;
  std::string message;
  cogen::usage usage;
};

std::vector<answer> answers(toy_engine& toy, const std::vector<request>& asked) {
  net::io_context context;
  std::vector<token_stream> streams;
  std::vector<answer> result(asked.size());
  std::size_t received = 0;
  for (const auto& each : asked) streams.push_back(toy.running.generate(each));
  for (std::size_t i = 0; i < asked.size(); ++i)
    streams[i].async_complete(net::bind_executor(context, [&, i](error_code code, const completion& whole) {
      result[i] = {ids_of(whole.tokens), code, streams[i].error().message(), streams[i].usage()};
      ++received;
    }));
  for (int i = 0; i < 2000 && received < asked.size(); ++i) {
    for (int launched = 0; launched < 3; ++launched) toy.running.poll_one();
    toy.control->release();
    context.restart();
    context.poll();
  }
  BOOST_TEST(received == asked.size());
  return result;
}

answer answer_to(toy_engine& toy, const request& asked) { return answers(toy, {asked})[0]; }

toy_setup speculating(int depth = 1) {
  return {.max_batched_tokens = 24, .max_draft_tokens = 16, .end_tokens = {11, 12}, .depth = depth};
}

request asked(std::shared_ptr<drafter> proposer, sampling_params params = {}, token first = 4) {
  return {.prompt = token_ids{first, 2, 4},
          .max_tokens = 40,
          .sampling = std::move(params),
          .speculative = {.drafter = std::move(proposer), .max_draft_tokens = 5}};
}

std::vector<request> all_kinds(const std::shared_ptr<drafter>& proposer) {
  std::vector<request> requests;
  for (const auto& params : std::vector<sampling_params>{
           {},
           {.temperature = 1, .seed = 1},
           {.temperature = 40, .repetition_penalty = 1.3, .seed = 2},
           {.temperature = 40, .top_k = 60, .presence_penalty = 2, .frequency_penalty = 90, .seed = 3},
           {.temperature = 4, .top_p = 0.7, .min_tokens = 30, .seed = 4, .logprobs = 2},
           {.repetition_penalty = 3, .processor = [](auto history, auto scores) { scores[history.size() % 97] += 8; }}})
    requests.push_back(asked(proposer, params, static_cast<token>(requests.size())));
  return requests;
}

BOOST_DATA_TEST_CASE(no_draft_changes_a_token,
                     data::make({0, 1, 3, 7}) * data::make({1, 2}) * data::make({false, true}), wrong_at, depth,
                     on_device) {
  toy_engine plain(speculating()), drafted(speculating(depth));
  drafted.control->hold = depth > 1;
  if (on_device)
    drafted.control->device = [](const sampling_row& row, const sampling_lists& lists, std::vector<float> scores,
                                 token last) { return described_sampling(row, lists)(std::move(scores), last); };
  const auto expected = answers(plain, all_kinds(nullptr));
  const auto received = answers(drafted, all_kinds(std::make_shared<prophet>(wrong_at)));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    BOOST_TEST_CONTEXT("stream " << i) {
      BOOST_TEST(received[i].tokens == expected[i].tokens, boost::test_tools::per_element());
      BOOST_TEST(received[i].code == expected[i].code);
      BOOST_TEST(received[i].usage.generated_tokens == expected[i].usage.generated_tokens);
      BOOST_TEST(received[i].usage.accepted_draft_tokens <= received[i].usage.draft_tokens);
      BOOST_TEST(expected[i].usage.draft_tokens == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(right_drafts_save_steps_and_are_counted) {
  toy_engine toy(speculating());
  const auto proposer = std::make_shared<prophet>();
  const auto received = answer_to(toy, asked(proposer));
  const auto stats = toy.running.stats();
  BOOST_TEST((received.tokens == toy_continuation({4, 2, 4}, static_cast<int>(received.tokens.size()))));
  BOOST_TEST(received.usage.draft_tokens > 20);
  BOOST_TEST(received.usage.accepted_draft_tokens == received.usage.draft_tokens);
  BOOST_TEST(stats.steps < received.tokens.size() / 2);
  BOOST_TEST(stats.draft_tokens == static_cast<std::uint64_t>(received.usage.draft_tokens));
  BOOST_TEST(stats.accepted_draft_tokens == stats.draft_tokens);
  BOOST_TEST(stats.sampled == received.tokens.size());
}

BOOST_AUTO_TEST_CASE(a_drafter_is_told_what_was_generated) {
  toy_engine toy(speculating());
  const auto proposer = std::make_shared<prophet>(3);
  const auto received = answer_to(toy, asked(proposer));
  std::vector<token> history{4, 2, 4};
  history.insert(history.end(), received.tokens.begin(), received.tokens.end());
  BOOST_TEST(std::equal(proposer->last.begin(), proposer->last.end(), history.begin()));
  BOOST_TEST(proposer->told + 3 == static_cast<int>(proposer->last.size()));
}

BOOST_AUTO_TEST_CASE(a_request_gets_no_more_drafts_than_its_reader_takes_tokens) {
  toy_engine toy(speculating());
  auto slow = asked(std::make_shared<prophet>());
  slow.max_buffered_tokens = 0;
  BOOST_TEST((answer_to(toy, slow).tokens == answer_to(toy, asked(nullptr)).tokens));
}

BOOST_AUTO_TEST_CASE(a_bad_drafter_fails_its_own_request_alone) {
  struct fault {
    std::function<std::vector<token>()> call;
    error code;
    std::string message;
  };
  const std::vector<fault> faults{{[]() -> std::vector<token> { throw std::runtime_error("no idea"); },
                                   error::callback_threw, "the drafter threw: no idea"},
                                  {[]() -> std::vector<token> { throw 3; }, error::callback_threw,
                                   "the drafter threw: an exception of unknown type"},
                                  {[] {
                                     return std::vector<token>{1, toy_vocabulary};
                                   },
                                   error::invalid_request, "the drafter proposed token 97; the vocabulary ends at 96"},
                                  {[] { return std::vector<token>{-1}; }, error::invalid_request,
                                   "the drafter proposed token -1; the vocabulary ends at 96"}};
  for (const auto& each : faults) {
    toy_engine toy(speculating());
    const auto received = answers(toy, {asked(std::make_shared<drafting>(each.call)), asked(nullptr)});
    BOOST_TEST(received[0].code == make_error_code(each.code));
    BOOST_TEST(received[0].message == each.message);
    BOOST_TEST(!received[1].code);
    BOOST_TEST((received[1].tokens == toy_continuation({4, 2, 4}, static_cast<int>(received[1].tokens.size()))));
  }
}

/// Counts its requests, each of which has a drafter of its own.
class counting_drafter final : public drafter {
 public:
  std::shared_ptr<drafter> begin(const draft_target& request) override {
    BOOST_TEST(request.vocabulary == toy_vocabulary);
    BOOST_TEST(!request.tokenizer);
    if (begun.size() == 2) throw std::invalid_argument("no more than two");
    begun.push_back(std::make_shared<prophet>());
    return begun.back();
  }
  std::vector<token> draft(std::span<const token>, int) override { throw std::logic_error("not for a request"); }

  std::vector<std::shared_ptr<prophet>> begun;
};

BOOST_AUTO_TEST_CASE(each_request_has_a_drafter_of_its_own) {
  toy_engine toy(speculating());
  const auto proposer = std::make_shared<counting_drafter>();
  const auto received = answers(toy, {asked(proposer), asked(proposer), asked(proposer)});
  for (std::size_t i = 0; i < 2; ++i) {
    BOOST_TEST(!received[i].code);
    BOOST_TEST(received[i].usage.accepted_draft_tokens > 10);
    BOOST_TEST(proposer->begun[i]->last.size() == received[i].tokens.size() + 3);
  }
  BOOST_TEST(received[2].code == make_error_code(error::invalid_request));
  BOOST_TEST(received[2].message == "no more than two");
}

BOOST_AUTO_TEST_CASE(further_drafts_than_asked_for_are_ignored) {
  toy_engine toy(speculating());
  const auto much = std::make_shared<drafting>([] { return std::vector<token>(1000, 5); });
  BOOST_TEST((answer_to(toy, asked(much)).tokens == answer_to(toy, asked(nullptr)).tokens));
}

BOOST_AUTO_TEST_CASE(a_runner_that_knows_no_drafts_gets_none) {
  auto setup = speculating();
  setup.max_draft_tokens = 0;
  toy_engine toy(setup);
  const auto never = std::make_shared<drafting>([]() -> std::vector<token> { throw 3; });
  BOOST_TEST(!answer_to(toy, asked(never)).code);
}

BOOST_AUTO_TEST_CASE(max_draft_tokens_is_at_least_1) {
  toy_engine toy(speculating());
  auto none = asked(std::make_shared<prophet>());
  none.speculative.max_draft_tokens = 0;
  BOOST_TEST(answer_to(toy, none).message == "max_draft_tokens is 0; it must be at least 1");
}

using tokens = std::vector<token>;

BOOST_AUTO_TEST_CASE(prompt_lookup_continues_the_latest_of_the_longest_matches) {
  const auto proposer = prompt_lookup({.min_ngram = 2, .max_ngram = 3});
  BOOST_TEST((proposer->draft(tokens{1, 2, 3, 4, 5, 9, 2, 3}, 3) == (tokens{4, 5, 9})));
  BOOST_TEST((proposer->draft(tokens{1, 2, 3, 4, 7, 2, 3, 5, 1, 2, 3}, 2) == (tokens{4, 7})));  // longer beats later
  BOOST_TEST((proposer->draft(tokens{2, 3, 4, 2, 3, 5, 8, 2, 3}, 2) == (tokens{5, 8})));
  BOOST_TEST((proposer->draft(tokens{6, 1, 2, 1, 2}, 5) == (tokens{1, 2, 1, 2, 1})));
  BOOST_TEST((proposer->draft(tokens{5, 5, 5}, 3) == (tokens{5, 5, 5})));
  BOOST_TEST(proposer->draft(tokens{1, 2, 3}, 3).empty());
  BOOST_TEST(proposer->draft(tokens{3, 2, 3}, 3).empty());
  BOOST_TEST(proposer->draft(tokens{}, 3).empty());
  BOOST_TEST((prompt_lookup({.min_ngram = 1})->draft(tokens{3, 2, 3}, 1) == tokens{2}));
}

/// Compares with each place.
tokens looked_up(std::span<const token> history, std::size_t least, std::size_t longest, int most) {
  std::size_t matched = least - 1, found = history.size();
  for (auto end = history.size(); end-- > least;) {
    std::size_t length = 0;
    while (length < std::min(longest, end) && history[end - 1 - length] == history[history.size() - 1 - length])
      ++length;
    if (length > matched) matched = length, found = end;
  }
  tokens drafts;
  if (found == history.size()) return drafts;
  tokens text(history.begin(), history.end());
  for (int i = 0; i < most; ++i)
    drafts.push_back(text[found + static_cast<std::size_t>(i)]), text.push_back(drafts.back());
  return drafts;
}

BOOST_AUTO_TEST_CASE(prompt_lookup_follows_a_history_that_grows) {
  std::mt19937 random(1);
  for (const auto& [least, longest] : std::vector<std::pair<int, int>>{{1, 1}, {1, 3}, {2, 4}, {3, 9}, {2, 2}})
    for (const unsigned different : {2U, 5U, 40U, 100'000U}) {
      const auto shared = prompt_lookup({.min_ngram = least, .max_ngram = longest});
      const auto proposer = shared->begin({});
      tokens history;
      while (history.size() < 700) {
        for (auto grown = 1 + random() % 9; grown > 0; --grown)
          history.push_back(static_cast<token>(random() % different));
        if (random() % 4 == 0 && history.size() > 20)
          for (auto i = random() % (history.size() - 9), end = i + 9; i < end; ++i) history.push_back(history[i]);
        const auto expected = looked_up(history, static_cast<std::size_t>(least), static_cast<std::size_t>(longest), 6);
        BOOST_REQUIRE(proposer->draft(history, 6) == expected);
        BOOST_REQUIRE(shared->draft(history, 6) == expected);
      }
      BOOST_TEST((proposer->draft(tokens{1, 1, 1}, 2) == tokens(least <= 2 ? 2 : 0, 1)));  // a new history
    }
}

BOOST_AUTO_TEST_CASE(prompt_lookup_refuses_what_makes_no_sense) {
  BOOST_CHECK_THROW(prompt_lookup({.min_ngram = 0}), std::invalid_argument);
  BOOST_CHECK_THROW(prompt_lookup({.min_ngram = 3, .max_ngram = 2}), std::invalid_argument);
}

void learn(drafter& tree, const tokens& prompt, const tokens& answer) {
  auto history = prompt;
  history.insert(history.end(), answer.begin(), answer.end());
  tree.accept(history, static_cast<int>(answer.size()));
}

BOOST_AUTO_TEST_CASE(a_suffix_tree_drafts_what_other_requests_were_answered) {
  const auto proposer = suffix_tree({.bytes = 1 << 16});
  learn(*proposer, {1, 2, 3}, {10, 11, 12, 13, 14, 15, 16});
  BOOST_TEST((proposer->draft(tokens{7, 10, 11, 12}, 3) == tokens{13, 14, 15}));
  BOOST_TEST((proposer->draft(tokens{7, 12, 13, 14}, 9) == tokens{15, 16}));
  BOOST_TEST((proposer->draft(tokens{1, 2, 3}, 2) == tokens{10, 11}));
  BOOST_TEST(proposer->draft(tokens{7, 11, 12}, 3).empty());  // too little came before
  BOOST_TEST(proposer->draft(tokens{10, 11, 13}, 3).empty());
  BOOST_TEST(proposer->draft(tokens{}, 3).empty());
}

BOOST_AUTO_TEST_CASE(a_suffix_tree_drafts_what_mostly_followed) {
  const auto proposer = suffix_tree({.bytes = 1 << 16});
  for (const token next : {20, 21, 21, 21, 21, 22, 21}) learn(*proposer, {1, 2, 3}, {next});
  BOOST_TEST((proposer->draft(tokens{1, 2, 3}, 1) == tokens{21}));
  learn(*proposer, {5, 1, 2, 3}, {30});
  learn(*proposer, {5, 1, 2, 3}, {30});
  BOOST_TEST((proposer->draft(tokens{5, 1, 2, 3}, 1) == tokens{30}));  // the longer context decides
  BOOST_TEST((proposer->draft(tokens{6, 1, 2, 3}, 1) == tokens{21}));
}

BOOST_AUTO_TEST_CASE(a_suffix_tree_looks_into_the_prompt_for_what_it_has_not_learned) {
  const auto proposer = suffix_tree({.bytes = 1 << 16});
  BOOST_TEST((proposer->draft(tokens{1, 2, 3, 4, 5, 2, 3}, 2) == tokens{4, 5}));
}

BOOST_AUTO_TEST_CASE(a_suffix_tree_forgets_what_it_learned_first) {
  const auto proposer = suffix_tree({.bytes = 1 << 16});
  const auto text = [](token first, int count) {
    tokens result;
    for (int i = 0; i < count; ++i) result.push_back(first + i);
    return result;
  };
  learn(*proposer, {}, text(0, 50));
  BOOST_TEST((proposer->draft(text(10, 3), 2) == tokens{13, 14}));
  learn(*proposer, {}, text(1000, 20'000));
  BOOST_TEST(proposer->draft(text(10, 3), 2).empty());
  BOOST_TEST((proposer->draft(text(20'900, 3), 2) == tokens{20'903, 20'904}));
}

BOOST_AUTO_TEST_CASE(suffix_tree_refuses_what_makes_no_sense) {
  BOOST_CHECK_THROW(suffix_tree({.min_match = 0}), std::invalid_argument);
  BOOST_CHECK_THROW(suffix_tree({.min_match = 3, .max_match = 2}), std::invalid_argument);
  BOOST_CHECK_THROW(suffix_tree({.bytes = suffix_tree_options::max_bytes + 1}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(streams_that_share_a_suffix_tree_keep_their_tokens_and_need_fewer_steps) {
  toy_engine toy(speculating());
  const auto proposer = suffix_tree({.bytes = 1 << 16});
  const auto first = answer_to(toy, asked(proposer));
  const auto steps = toy.running.stats().steps;
  const auto again = answer_to(toy, asked(proposer));
  BOOST_TEST((again.tokens == first.tokens));
  BOOST_TEST(again.usage.accepted_draft_tokens > 15);
  BOOST_TEST(toy.running.stats().steps - steps < steps / 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
