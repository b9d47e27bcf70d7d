// Vectors and scores of texts by an engine: their bits, beside what else runs, and what is refused.
#include "engine/model_engines.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cogen::test {
namespace {

using vectors = std::vector<std::vector<float>>;

const std::vector<std::string> embedders{"bert_tiny", "modernbert_tiny", "gemma3_embedding", "qwen3_embedding"};

/// Of different lengths, together longer than several passes.
std::vector<encoder_input> some_texts(const model& model, int count) {
  std::vector<encoder_input> texts;
  for (int i = 0; i < count; ++i)
    texts.push_back(encoder_text{.tokens = some_tokens(model, 1 + i * 7 % 40, static_cast<unsigned>(i))});
  return texts;
}

vectors alone(const model& model, const std::vector<encoder_input>& texts) {
  workspace space(1);
  vectors result;
  for (const auto& each : texts) {
    const auto embedded = model.embed({&std::get<encoder_text>(each), 1}, space);
    result.emplace_back(embedded[0].begin(), embedded[0].end());
  }
  return result;
}

engine engine_of(const std::string& name) {
  const auto model = golden_model(name);
  return engine(model, tiny_engine(*model));
}

/// A pending async_embed() and what became of it.
struct pending {
  pending(engine& running, net::io_context& context, std::vector<encoder_input> texts) {
    running.async_embed(
        std::move(texts),
        net::bind_cancellation_slot(signal.slot(), net::bind_executor(context, [this](error_code code, vectors output) {
                                      received = code;
                                      results = std::move(output);
                                    })));
  }
  bool over() const { return received.has_value(); }

  net::cancellation_signal signal;
  std::optional<error_code> received;
  vectors results;
};

/// Why an operation fails.
template <class Operation>
diagnostics failure_of(engine& running, Operation start) {
  diagnostics why;
  drive(running, [&]() -> net::awaitable<void> {
    try {
      co_await start();
    } catch (const generation_error& error) {
      why = error.why();
    }
  });
  return why;
}

void check_refused(const diagnostics& why, error code, const std::vector<std::string>& parts) {
  BOOST_CHECK_EQUAL(why.code(), make_error_code(code));
  for (const auto& part : parts) BOOST_TEST(why.message().find(part) != std::string::npos, why.message());
}

diagnostics embedding_failure(engine& running, std::vector<encoder_input> texts) {
  return failure_of(running, [&] { return running.async_embed(std::move(texts)); });
}

BOOST_AUTO_TEST_SUITE(embedding)

BOOST_AUTO_TEST_CASE(vectors_are_those_of_each_text_alone) {
  for (const auto& name : embedders) {
    auto running = engine_of(name);
    const auto texts = some_texts(*golden_model(name), 20);
    drive(running, [&]() -> net::awaitable<void> {
      BOOST_TEST((co_await running.async_embed(texts) == alone(*golden_model(name), texts)), name);
    });
  }
}

BOOST_AUTO_TEST_CASE(requests_share_passes_and_complete_in_their_order) {
  auto running = engine_of("bert_tiny");
  const auto& model = *golden_model("bert_tiny");
  net::io_context context;
  pending first(running, context, some_texts(model, 12)), second(running, context, some_texts(model, 1));
  while (!first.over()) {
    BOOST_TEST(!second.over());
    BOOST_REQUIRE(running.poll_one());
    context.restart();
    context.poll_one();
  }
  settle(running, context);
  BOOST_TEST((first.results == alone(model, some_texts(model, 12))));
  BOOST_TEST((second.results == alone(model, some_texts(model, 1))));
}

BOOST_AUTO_TEST_CASE(a_generation_goes_on_beside_them_with_the_same_bits) {
  auto running = engine_of("qwen3_embedding");
  const auto& model = *golden_model("qwen3_embedding");
  const auto texts = some_texts(model, 200);
  const auto prompt = some_tokens(model, 5, 3);
  const auto expected = loop_by_hand(model, tiny_engine(model), prompt, 12);
  net::io_context context;
  auto stream = running.generate({.prompt = prompt, .max_tokens = 12, .ignore_eos = true});
  std::optional<completion> answer;
  stream.async_complete(
      net::bind_executor(context, [&](error_code, completion result) { answer = std::move(result); }));
  pending embedded(running, context, texts);
  while (!answer) {
    BOOST_REQUIRE(running.poll_one());
    context.restart();
    context.poll();
  }
  BOOST_TEST(!embedded.over());
  std::vector<token> tokens;
  for (const auto& each : answer->tokens) tokens.push_back(each.id);
  BOOST_TEST(tokens == expected, boost::test_tools::per_element());
  settle(running, context);
  BOOST_TEST((embedded.results == alone(model, texts)));
}

/// Rounds of the engine until a tenant's text is embedded that came after all of another one's.
int rounds_beside(int count, std::uint64_t tenant) {
  auto running = engine_of("bert_tiny");
  const auto& model = *golden_model("bert_tiny");
  net::io_context context;
  int over = 0;
  bool done = false;
  for (int i = 0; i < count; ++i)
    running.async_embed(some_texts(model, 30), work_options{.tenant = 1},
                        net::bind_executor(context, [&](error_code, const vectors&) { ++over; }));
  running.async_embed(some_texts(model, 1), work_options{.tenant = tenant},
                      net::bind_executor(context, [&](error_code code, const vectors& output) {
                        done = !code && output == alone(model, some_texts(model, 1));
                      }));
  int rounds = 0;
  for (; !done && rounds < 1000; ++rounds) {
    running.poll_one();
    context.restart();
    context.poll();
  }
  while (over < count) {
    running.poll_one();
    context.restart();
    context.poll();
  }
  return rounds;
}

BOOST_AUTO_TEST_CASE(tenants_take_turns_at_being_read) {
  BOOST_TEST(rounds_beside(10, 1) > 10);
  BOOST_TEST(rounds_beside(10, 2) <= 3);
}

BOOST_AUTO_TEST_CASE(an_engine_with_a_thread_embeds) {
  const auto model = golden_model("bert_tiny");
  auto options = tiny_engine(*model);
  options.external_stepping = false;
  engine running(model, options);
  const auto texts = some_texts(*model, 30);
  auto first = running.async_embed(texts, net::use_future), second = running.async_embed(texts, net::use_future);
  BOOST_TEST((first.get() == alone(*model, texts)));
  BOOST_TEST((second.get() == alone(*model, texts)));
}

BOOST_AUTO_TEST_CASE(pairs_are_scored) {
  auto running = engine_of("bert_scores");
  const auto& model = *golden_model("bert_scores");
  std::vector<encoder_input> pairs;
  for (unsigned i = 1; i < 6; ++i)
    pairs.push_back(encoder_text{.tokens = some_tokens(model, 12, i), .second = static_cast<int>(i)});
  std::vector<float> expected;
  for (const auto& each : alone(model, pairs)) expected.push_back(each.at(0));
  drive(running, [&]() -> net::awaitable<void> {
    const auto scores = co_await running.async_score(pairs);
    BOOST_TEST(scores == expected, boost::test_tools::per_element());
  });
}

BOOST_AUTO_TEST_CASE(where_the_second_text_begins_moves_the_score) {
  auto running = engine_of("bert_scores");
  const auto tokens = some_tokens(*golden_model("bert_scores"), 12, 1);
  const std::vector<encoder_input> pairs{encoder_text{.tokens = tokens, .second = 4},
                                         encoder_text{.tokens = tokens, .second = 5}};
  drive(running, [&]() -> net::awaitable<void> {
    const auto scores = co_await running.async_score(pairs);
    BOOST_TEST(scores.at(0) != scores.at(1));
  });
}

/// Tokens by their spellings.
std::vector<token> spelled(const model& model, const std::vector<std::string>& spellings) {
  std::vector<token> tokens;
  for (const auto& each : spellings) tokens.push_back(model.tokenizer().find(each).value());
  return tokens;
}

BOOST_AUTO_TEST_CASE(texts_get_the_tokens_that_the_model_expects_around_them) {
  auto running = engine_of("bert_tiny");
  const auto tokens = spelled(*golden_model("bert_tiny"), {"[CLS]", "the", "sea", "c", "##d", "[SEP]"});
  const std::vector<encoder_input> inputs{std::string("The sea cd"), encoder_text{.tokens = tokens}};
  drive(running, [&]() -> net::awaitable<void> {
    const auto output = co_await running.async_embed(inputs);
    BOOST_TEST(output.at(0) == output.at(1), boost::test_tools::per_element());
  });
}

BOOST_AUTO_TEST_CASE(pairs_get_the_tokens_between_them) {
  auto running = engine_of("bert_scores");
  const auto tokens =
      spelled(*golden_model("bert_scores"), {"[CLS]", "the", "sea", "[SEP]", "is", "deep", "and", "blue", "[SEP]"});
  const std::vector<encoder_input> inputs{text_pair{"the sea", "is deep and blue"},
                                          encoder_text{.tokens = tokens, .second = 4}};
  drive(running, [&]() -> net::awaitable<void> {
    const auto scores = co_await running.async_score(inputs);
    BOOST_TEST(scores.at(0) == scores.at(1));
  });
}

BOOST_AUTO_TEST_CASE(texts_that_do_not_fit_are_refused_alone) {
  auto running = engine_of("bert_tiny");
  const auto& model = *golden_model("bert_tiny");
  net::io_context context;
  pending good(running, context, some_texts(model, 3));
  check_refused(embedding_failure(running, {encoder_text{.tokens = some_tokens(model, 97, 1)}}), error::does_not_fit,
                {"97 tokens", "at most 96"});
  check_refused(embedding_failure(running, {}), error::invalid_request, {"no texts"});
  check_refused(embedding_failure(running, {encoder_text{}}), error::invalid_request, {"empty"});
  check_refused(embedding_failure(running, {std::string()}), error::invalid_request, {"empty"});
  check_refused(embedding_failure(running, {encoder_text{.tokens = {1, 128}}}), error::invalid_request,
                {"token 128", "128 tokens"});
  check_refused(embedding_failure(running, {text_pair{"two", "texts"}}), error::invalid_request, {"pair"});
  settle(running, context);
  BOOST_TEST((good.results == alone(model, some_texts(model, 3))));
}

BOOST_AUTO_TEST_CASE(models_refuse_what_they_are_not_made_for) {
  auto embeds = engine_of("bert_tiny"), scores = engine_of("bert_scores"), generates = engine_of("llama_default");
  const std::vector<encoder_input> text{encoder_text{.tokens = {5}}}, pair{encoder_text{.tokens = {5, 6}, .second = 1}};
  check_refused(failure_of(embeds, [&] { return embeds.async_score(pair); }), error::invalid_request, {"classifier"});
  check_refused(embedding_failure(scores, text), error::invalid_request, {"no vectors"});
  check_refused(failure_of(scores, [&] { return scores.async_score(text); }), error::invalid_request, {"pairs"});
  check_refused(embedding_failure(generates, text), error::invalid_request, {"does not embed"});
  auto wordless = engine_of("modernbert_tiny");
  check_refused(embedding_failure(wordless, {std::string("words")}), error::invalid_request, {"no tokenizer"});
  BOOST_TEST(embeds.generate({.prompt = token_ids{5}}).error().message() ==
             "this model is an encoder: it embeds texts, and generates none");
  BOOST_CHECK_THROW((void)embeds.open(), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_cancelled_operation_ends_at_once_and_the_others_go_on) {
  auto running = engine_of("bert_tiny");
  const auto& model = *golden_model("bert_tiny");
  net::io_context context;
  pending first(running, context, some_texts(model, 30)), second(running, context, some_texts(model, 4));
  BOOST_REQUIRE(running.poll_one());
  first.signal.emit(net::cancellation_type::terminal);
  context.poll();
  BOOST_REQUIRE(first.over());
  BOOST_CHECK_EQUAL(*first.received, error_code(net::error::operation_aborted));
  settle(running, context);
  BOOST_TEST((second.results == alone(model, some_texts(model, 4))));
}

BOOST_AUTO_TEST_CASE(an_engine_that_ends_fails_them) {
  const auto& model = *golden_model("bert_tiny");
  net::io_context context;
  auto running = engine_of("bert_tiny");
  pending begun(running, context, some_texts(model, 30));
  BOOST_REQUIRE(running.poll_one());
  pending queued(running, context, some_texts(model, 2));
  running.stop();
  pending late(running, context, some_texts(model, 2));
  context.poll();
  for (const auto* each : {&begun, &queued, &late}) {
    BOOST_REQUIRE(each->over());
    BOOST_CHECK_EQUAL(*each->received, make_error_code(error::engine_stopped));
  }
}

BOOST_AUTO_TEST_CASE(draining_waits_for_them_and_refuses_new_ones) {
  auto running = engine_of("bert_tiny");
  const auto& model = *golden_model("bert_tiny");
  net::io_context context;
  pending begun(running, context, some_texts(model, 30));
  BOOST_REQUIRE(running.poll_one());
  bool drained = false;
  running.async_drain(net::bind_executor(context, [&](error_code code) {
    BOOST_TEST(!code.failed());
    BOOST_TEST(begun.over());
    drained = true;
  }));
  pending late(running, context, some_texts(model, 1));
  settle(running, context);
  BOOST_TEST(drained);
  BOOST_TEST((begun.results == alone(model, some_texts(model, 30))));
  BOOST_REQUIRE(late.over());
  BOOST_CHECK_EQUAL(*late.received, make_error_code(error::draining));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
