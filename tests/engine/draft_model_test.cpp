// Drafts of a second engine: the same tokens, whenever its drafts come, and whatever becomes of it.
#include "model_engines.hpp"
#include "text/small_tokenizer.hpp"
#include "toy_runner.hpp"

#include <cogen/drafter.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <future>
#include <optional>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(draft_models)

toy_setup with_drafts() { return {.max_batched_tokens = 24, .max_draft_tokens = 16}; }

std::vector<request> some_requests(const std::shared_ptr<drafter>& proposer) {
  std::vector<request> requests;
  for (token first = 0; first < 3; ++first)
    requests.push_back({.prompt = token_ids{first, 2, 4},
                        .max_tokens = 40,
                        .sampling = {.temperature = first == 2 ? 40. : 0., .seed = 7},
                        .speculative = {.drafter = proposer, .max_draft_tokens = 5}});
  return requests;
}

struct drafted_answers {
  std::vector<std::vector<token>> tokens;
  int drafts = 0, accepted = 0;
};

/// Polls the engine, and then `between` does what it wants.
drafted_answers answers(engine& running, const std::vector<request>& asked, const std::function<void()>& between = {}) {
  net::io_context context;
  drafted_answers result;
  result.tokens.resize(asked.size());
  std::size_t received = 0;
  std::vector<token_stream> streams;
  for (const auto& each : asked) streams.push_back(running.generate(each));
  for (std::size_t i = 0; i < asked.size(); ++i)
    streams[i].async_complete(net::bind_executor(context, [&, i](error_code code, const completion& whole) {
      BOOST_TEST(!code, streams[i].error().message());
      result.tokens[i] = ids_of(whole.tokens);
      result.drafts += whole.usage.draft_tokens;
      result.accepted += whole.usage.accepted_draft_tokens;
      ++received;
    }));
  for (int i = 0; i < 2000 && received < asked.size(); ++i) {
    running.poll_one();
    context.restart();
    context.poll();
    if (between) between();
  }
  BOOST_TEST(received == asked.size());
  return result;
}

BOOST_DATA_TEST_CASE(drafts_change_no_token_however_late_they_come, data::make({0, 1, 2, 4, 9}), steps) {
  toy_engine plain(with_drafts()), smaller(with_drafts()), toy(with_drafts());
  const auto expected = answers(plain.running, some_requests(nullptr));
  const auto proposer = draft_model(smaller.running);
  const auto received = answers(toy.running, some_requests(proposer), [&] {
    for (int i = 0; i < steps; ++i) smaller.running.poll_one();
  });
  BOOST_TEST(received.tokens == expected.tokens);
  BOOST_TEST((received.accepted > 0) == (steps > 1));
  for (int i = 0; i < 5; ++i) smaller.running.poll_one();
  BOOST_TEST(smaller.running.stats().sequences == 0);  // they end with their requests
}

BOOST_AUTO_TEST_CASE(the_same_model_drafts_what_is_generated) {
  const auto model = golden_model("llama_default");
  engine plain(model, tiny_engine()), smaller(model, tiny_engine()), running(model, tiny_engine());
  const auto asked = [&](std::shared_ptr<drafter> proposer) {
    return std::vector{request{.prompt = some_tokens(*model, 20, 1),
                               .max_tokens = 50,
                               .ignore_eos = true,
                               .speculative = {.drafter = std::move(proposer), .max_draft_tokens = 4}}};
  };
  const auto expected = answers(plain, asked(nullptr));
  const auto received = answers(running, asked(draft_model(smaller)), [&] {
    for (int i = 0; i < 6; ++i) smaller.poll_one();
  });
  BOOST_TEST(received.tokens == expected.tokens);
  BOOST_TEST(received.accepted == received.drafts);  // how many are run depends on the times of steps
}

BOOST_AUTO_TEST_CASE(an_engine_that_ends_at_any_time_only_means_no_more_drafts) {
  toy_engine plain(with_drafts());
  const auto expected = answers(plain.running, some_requests(nullptr));
  for (int end = 0; end < 60; ++end) {
    toy_engine smaller(with_drafts()), toy(with_drafts());
    int polled = 0;
    const auto received = answers(toy.running, some_requests(draft_model(smaller.running)), [&] {
      for (int i = 0; i < 3; ++i) {
        if (polled++ == end) smaller.running.stop();
        smaller.running.poll_one();
      }
    });
    BOOST_TEST(received.tokens == expected.tokens);
  }
}

BOOST_AUTO_TEST_CASE(a_device_that_fails_at_any_step_only_means_no_more_drafts) {
  toy_engine plain(with_drafts());
  const auto expected = answers(plain.running, some_requests(nullptr));
  for (int end = 0; end < 20; ++end) {
    toy_engine smaller(with_drafts()), toy(with_drafts());
    smaller.control->on_step = [left = end](const scheduler::step&) mutable {
      if (left-- == 0) throw std::runtime_error("the device is gone");
    };
    const auto received = answers(toy.running, some_requests(draft_model(smaller.running)), [&] {
      for (int i = 0; i < 3; ++i) smaller.running.poll_one();
    });
    BOOST_TEST(received.tokens == expected.tokens);
  }
}

BOOST_AUTO_TEST_CASE(a_request_that_is_too_long_for_the_drafting_engine_goes_on_without_drafts) {
  auto shorter = with_drafts();
  shorter.max_sequence_length = 20;
  toy_engine plain(with_drafts()), smaller(shorter), toy(with_drafts());
  const auto expected = answers(plain.running, some_requests(nullptr));
  const auto received = answers(toy.running, some_requests(draft_model(smaller.running)), [&] {
    for (int i = 0; i < 4; ++i) smaller.running.poll_one();
  });
  BOOST_TEST(received.tokens == expected.tokens);
  BOOST_TEST(received.accepted > 0);
}

BOOST_AUTO_TEST_CASE(requests_that_end_early_leave_no_sequence_behind) {
  toy_engine smaller(with_drafts()), toy(with_drafts());
  const auto proposer = draft_model(smaller.running);
  for (int rounds = 0; rounds < 12; ++rounds) {
    std::optional<token_stream> stream = toy.running.generate(some_requests(proposer)[0]);
    net::io_context context;
    stream->async_complete(net::bind_executor(context, [](error_code, const completion&) {}));
    for (int i = 0; i < rounds; ++i) {
      toy.running.poll_one();
      smaller.running.poll_one();
    }
    stream.reset();
    for (int i = 0; i < 4; ++i) {
      toy.running.poll_one();
      smaller.running.poll_one();
    }
    BOOST_TEST(toy.running.stats().sequences == 0);
    BOOST_TEST(smaller.running.stats().sequences == 0);
  }
}

std::string refusal(engine& running, const std::shared_ptr<drafter>& proposer) {
  net::io_context context;
  auto stream = running.generate(some_requests(proposer)[0]);
  stream.async_complete(net::bind_executor(context, [](error_code, const completion&) {}));
  settle(running, context);
  return stream.error().message();
}

engine toy_with_tokens(toy_engine& toy, const text::tokenizer_spec& spec) {
  auto parts = toy.parts(with_drafts());
  parts.tokenizer = std::make_shared<const text::tokenizer>(spec);
  return engine(std::move(parts), {.external_stepping = true});
}

BOOST_AUTO_TEST_CASE(an_engine_with_other_tokens_is_refused) {
  toy_engine toy(with_drafts());
  const auto spec = small_spec({{"a", "b"}, {"c", "d"}});
  auto base = toy_with_tokens(toy, spec), same = toy_with_tokens(toy, spec);
  auto other = toy_with_tokens(toy, small_spec({{"a", "b"}, {"c", "e"}})),
       more = toy_with_tokens(toy, small_spec({{"a", "b"}, {"c", "d"}, {"e", "f"}}));
  BOOST_TEST(refusal(base, draft_model(same)) == "");
  const std::string sentence = "draft_model() needs engines with the same tokens: ";
  const auto second = std::to_string(base.tokenizer()->size() - 1), third = std::to_string(base.tokenizer()->size());
  BOOST_TEST(refusal(base, draft_model(other)) ==
             sentence + "those of its own differ from the request's from token " + second + " on");
  BOOST_TEST(refusal(base, draft_model(more)) ==
             sentence + "those of its own differ from the request's from token " + third + " on");
  BOOST_TEST(refusal(base, draft_model(toy.running)) ==
             sentence + "its own has 97 tokens without a tokenizer, the request's 97 tokens of a tokenizer");
}

BOOST_AUTO_TEST_CASE(engines_with_threads_of_their_own_draft_for_each_other) {
  toy_engine plain(with_drafts());
  const auto expected = answers(plain.running, some_requests(nullptr));
  for (int round = 0; round < 8; ++round) {
    auto smaller = std::make_optional<toy_engine>(with_drafts(), engine_options{});
    toy_engine toy(with_drafts(), engine_options{});
    const auto proposer = draft_model(smaller->running);
    std::vector<token_stream> streams;
    std::vector<std::future<completion>> wholes;
    for (const auto& each : some_requests(proposer)) streams.push_back(toy.running.generate(each));
    for (auto& each : streams) wholes.push_back(each.async_complete(net::use_future));
    if (round % 2 == 0) smaller->running.stop();
    for (std::size_t i = 0; i < wholes.size(); ++i) BOOST_TEST(ids_of(wholes[i].get().tokens) == expected.tokens[i]);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
