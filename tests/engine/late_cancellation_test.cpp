// Operations that are cancelled when they are done, and their handlers have not run: they lose nothing.
#include "session_files.hpp"
#include "toy_runner.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <memory>
#include <optional>
#include <tuple>
#include <utility>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;
using namespace net::experimental::awaitable_operators;
using type = net::cancellation_type;

// As numbers, which Boost.Test can print.
const std::vector<unsigned> every_type{1, 2, 4};

const std::vector<token> prompt{4, 4};

void finish_steps(toy_engine& toy) {
  for (int i = 0; i < 40; ++i) toy.running.poll_one();
}

/// An operation whose handler waits in a context until that runs.
template <class Value>
struct pending {
  template <class Start>
  pending(net::io_context& context, Start start) : context_(context) {
    start(net::bind_cancellation_slot(signal_.slot(),
                                      net::bind_executor(context, [this](error_code received, Value value_received) {
                                        code = received;
                                        value = std::move(value_received);
                                      })));
  }

  void cancel(type kind) {
    BOOST_TEST(!code);
    signal_.emit(kind);
    BOOST_TEST(!code);
    run();
  }

  void run() {
    context_.restart();
    context_.poll();
    BOOST_TEST_REQUIRE(code.has_value());
  }

  bool aborted() const { return code == net::error::operation_aborted; }

  std::optional<error_code> code;
  std::optional<Value> value;

 private:
  net::io_context& context_;
  net::cancellation_signal signal_;
};

template <class Value, class Start>
Value result_of(toy_engine& toy, Start start) {
  net::io_context context;
  pending<Value> waiting(context, start);
  toy.settle(context);
  BOOST_TEST_REQUIRE(waiting.code.has_value());
  BOOST_TEST(!*waiting.code);
  return std::move(*waiting.value);
}

std::vector<token> read_all(toy_engine& toy, token_stream& stream) {
  return ids_of(result_of<completion>(toy, [&](auto handler) { stream.async_complete(std::move(handler)); }).tokens);
}

struct fixture {
  token_stream generate(int max_buffered_tokens = 16) {
    return toy.running.generate({.prompt = prompt, .max_tokens = 9, .max_buffered_tokens = max_buffered_tokens});
  }

  sequence open() {
    auto opened = toy.running.open();
    result_of<logits>(toy, [&](auto handler) { opened.async_forward(prompt, logits_of::last, std::move(handler)); });
    return opened;
  }

  net::io_context context;
  toy_engine toy{{.max_draft_tokens = 4}};
};

BOOST_AUTO_TEST_SUITE(late_cancellation)

BOOST_DATA_TEST_CASE_F(fixture, a_piece_is_left_to_the_next_call,
                       data::make(every_type) * data::make({0, 1, 5}) * data::make({false, true}), how, buffered,
                       has_limit) {
  auto stream = generate(buffered);
  const auto wait = [&](auto handler) {
    if (has_limit)
      stream.async_next_for(std::chrono::hours(1), std::move(handler));
    else
      stream.async_next(std::move(handler));
  };
  std::vector<token> read;
  for (int i = 0; i < 9; ++i) {
    pending<std::optional<piece>> late(context, wait);
    finish_steps(toy);
    BOOST_TEST(stream.usage().generated_tokens > i);
    late.cancel(static_cast<type>(how));
    BOOST_TEST(late.aborted());
    read.push_back(result_of<std::optional<piece>>(toy, wait)->tokens.front().id);
  }
  BOOST_TEST(read == toy_continuation(prompt, 9), boost::test_tools::per_element());
  pending<std::optional<piece>> end(context, wait);
  finish_steps(toy);
  end.cancel(static_cast<type>(how));
  BOOST_TEST(end.aborted());
  BOOST_TEST(!result_of<std::optional<piece>>(toy, wait));
}

BOOST_DATA_TEST_CASE_F(fixture, a_completion_is_given_or_left, data::make(every_type), how) {
  auto stream = generate(2);
  pending<completion> late(context, [&](auto handler) { stream.async_complete(std::move(handler)); });
  finish_steps(toy);
  BOOST_TEST(stream.ended());
  late.cancel(static_cast<type>(how));
  const bool is_terminal = static_cast<type>(how) == type::terminal;
  BOOST_TEST(late.aborted() == is_terminal);
  BOOST_TEST(late.value->tokens.size() == (is_terminal ? 0u : 9u));
  BOOST_TEST(read_all(toy, stream).size() == (is_terminal ? 9u : 0u));
}

BOOST_FIXTURE_TEST_CASE(a_part_of_a_completion_is_left_by_a_second_cancellation, fixture) {
  auto stream = generate(2);
  net::cancellation_signal signal;
  std::optional<error_code> received;
  stream.async_complete(net::bind_cancellation_slot(
      signal.slot(), net::bind_executor(context, [&](error_code code, const completion&) { received = code; })));
  for (int i = 0; i < 4; ++i) toy.running.poll_one();
  signal.emit(type::partial);
  signal.emit(type::terminal);
  context.poll();
  BOOST_TEST((received == net::error::operation_aborted));
  BOOST_TEST(read_all(toy, stream) == toy_continuation(prompt, 9), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(after_a_partial_cancellation_a_generation_is_bounded_again, fixture) {
  auto stream = generate(2);
  net::cancellation_signal signal;
  std::optional<completion> part;
  stream.async_complete(net::bind_cancellation_slot(
      signal.slot(), net::bind_executor(context, [&](error_code, completion result) { part = std::move(result); })));
  for (int i = 0; i < 4; ++i) toy.running.poll_one();
  const int previous_tokens = stream.usage().generated_tokens;
  signal.emit(type::partial);
  finish_steps(toy);
  BOOST_TEST(stream.usage().generated_tokens <= previous_tokens + 3);
  context.poll();
  BOOST_TEST_REQUIRE(part.has_value());
  auto ids = ids_of(part->tokens);
  for (const token each : read_all(toy, stream)) ids.push_back(each);
  BOOST_TEST(ids == toy_continuation(prompt, 9), boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE_F(fixture, the_progress_of_a_prompt_is_reported_later, data::make(every_type), how) {
  auto stream = toy.running.generate({.prompt = token_ids(30, 5), .max_tokens = 1});
  const auto wait = [&](auto handler) { stream.async_prompt_progress(std::move(handler)); };
  pending<std::optional<prompt_progress>> late(context, wait);
  finish_steps(toy);
  late.cancel(static_cast<type>(how));
  BOOST_TEST(late.aborted());
  BOOST_TEST(result_of<std::optional<prompt_progress>>(toy, wait)->processed == 30);
  BOOST_TEST(!result_of<std::optional<prompt_progress>>(toy, wait));
}

BOOST_DATA_TEST_CASE_F(fixture, a_sequence_is_as_before_a_decode, data::make(every_type) * data::make({false, true}),
                       how, is_fed) {
  auto seq = open();
  const std::vector<token> fed = is_fed ? std::vector<token>{8, 9} : std::vector<token>();
  const sampling_params sampling{.temperature = 1, .seed = 7};
  const auto start = [&](auto handler) { seq.async_decode(fed, sampling, std::move(handler)); };
  auto other = open();
  const auto expected =
      result_of<sampled_token>(toy, [&](auto handler) { other.async_decode(fed, sampling, std::move(handler)); }).id;
  for (int again = 0; again < 2; ++again) {
    pending<sampled_token> late(context, start);
    finish_steps(toy);
    late.cancel(static_cast<type>(how));
    BOOST_TEST(late.aborted());
    BOOST_TEST(seq.tokens() == prompt, boost::test_tools::per_element());
  }
  BOOST_TEST(result_of<sampled_token>(toy, start).id == expected);
  BOOST_TEST(seq.tokens() == other.tokens(), boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE_F(fixture, a_sequence_is_as_before_drafts, data::make(every_type), how) {
  auto seq = open();
  const auto expected = toy_continuation(prompt, 3);
  const auto start = [&](auto handler) {
    seq.async_decode_drafts({}, {}, {expected[0], expected[1]}, std::move(handler));
  };
  pending<std::vector<sampled_token>> late(context, start);
  finish_steps(toy);
  late.cancel(static_cast<type>(how));
  BOOST_TEST(late.aborted());
  BOOST_TEST(seq.tokens() == prompt, boost::test_tools::per_element());
  BOOST_TEST(ids_of(result_of<std::vector<sampled_token>>(toy, start)) == expected, boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE_F(fixture, a_sequence_is_as_before_a_forward, data::make(every_type), how) {
  auto seq = open();
  pending<logits> late(context, [&](auto handler) { seq.async_forward({5, 6}, logits_of::all, std::move(handler)); });
  finish_steps(toy);
  BOOST_TEST(seq.tokens() == prompt, boost::test_tools::per_element());
  late.cancel(static_cast<type>(how));
  BOOST_TEST(late.aborted());
  auto child = seq.fork();
  for (auto* each : {&seq, &child}) {
    const auto scores =
        result_of<logits>(toy, [&](auto handler) { each->async_forward({7}, logits_of::last, std::move(handler)); });
    BOOST_TEST(scores.last() == toy_scores(std::vector<token>{4, 4, 7}), boost::test_tools::per_element());
  }
}

BOOST_FIXTURE_TEST_CASE(until_its_handler_runs_an_operation_is_pending, fixture) {
  auto stream = generate();
  auto seq = open();
  const auto next = [&](auto handler) { stream.async_next(std::move(handler)); };
  const auto decode = [&](auto handler) { seq.async_decode({}, {}, std::move(handler)); };
  net::io_context other;
  pending<std::optional<piece>> first(context, next);
  pending<sampled_token> decoded(context, decode);
  finish_steps(toy);
  pending<std::optional<piece>> second(other, next);
  pending<sampled_token> decoded_again(other, decode);
  second.run();
  BOOST_TEST((second.code == error::operation_in_progress));
  BOOST_TEST((decoded_again.code == error::operation_in_progress));
  BOOST_CHECK_THROW(std::ignore = seq.fork(), generation_error);
  BOOST_CHECK_THROW(seq.truncate(0), generation_error);
  first.run();
  BOOST_TEST((*first.value)->tokens.front().id == toy_next(prompt));
  BOOST_TEST(decoded.value->id == toy_next(prompt));
  BOOST_TEST(seq.tokens().size() == 3u);
}

BOOST_FIXTURE_TEST_CASE(what_the_handlers_of_a_context_that_is_gone_would_have_got_is_left, fixture) {
  auto stream = generate(1);
  auto seq = open();
  {
    net::io_context gone;
    stream.async_next(net::bind_executor(gone, [](error_code, const std::optional<piece>&) {}));
    seq.async_decode({}, {}, net::bind_executor(gone, [](error_code, const sampled_token&) {}));
    finish_steps(toy);
  }
  BOOST_TEST(seq.tokens() == prompt, boost::test_tools::per_element());
  BOOST_TEST(result_of<sampled_token>(toy, [&](auto handler) { seq.async_decode({}, {}, std::move(handler)); }).id ==
             toy_next(prompt));
  BOOST_TEST(read_all(toy, stream) == toy_continuation(prompt, 9), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_handle_may_go_before_the_handler_runs_that_gets_the_result, fixture) {
  std::optional<token_stream> stream = generate();
  std::optional<sequence> seq = open();
  pending<completion> whole(context, [&](auto handler) { stream->async_complete(std::move(handler)); });
  pending<sampled_token> decoded(context, [&](auto handler) { seq->async_decode({}, {}, std::move(handler)); });
  finish_steps(toy);
  stream.reset();
  seq.reset();
  finish_steps(toy);
  whole.run();
  BOOST_TEST(ids_of(whole.value->tokens) == toy_continuation(prompt, 9), boost::test_tools::per_element());
  BOOST_TEST(decoded.value->id == toy_next(prompt));
  toy.settle(context);
  BOOST_TEST(toy.running.stats().sequences == 0);
}

BOOST_FIXTURE_TEST_CASE(an_opened_sequence_that_nobody_gets_is_closed, fixture) {
  const session_path file;
  {
    auto saved = open();
    net::io_context saving;
    saved.async_save(file.path, net::bind_executor(saving, [](error_code code) { BOOST_TEST(!code); }));
    toy.settle(saving);
  }
  const auto start = [&](auto handler) { toy.running.async_load_session(file.path, {}, std::move(handler)); };
  pending<std::optional<sequence>> late(context, start);
  finish_steps(toy);
  BOOST_TEST(toy.running.stats().sequences == 1);
  late.cancel(type::total);
  BOOST_TEST(late.aborted());
  finish_steps(toy);
  BOOST_TEST(toy.running.stats().sequences == 0);
  BOOST_TEST(((*late.value)->error().code() == net::error::operation_aborted));
  {
    net::io_context gone;
    start(net::bind_executor(gone, [](error_code, const sequence&) {}));
    finish_steps(toy);
  }
  finish_steps(toy);
  BOOST_TEST(toy.running.stats().sequences == 0);
  BOOST_TEST((result_of<std::optional<sequence>>(toy, start))->tokens() == prompt, boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE_F(fixture, draining_goes_on, data::make(every_type), how) {
  net::cancellation_signal signal;
  std::optional<error_code> received;
  toy.running.async_drain(net::bind_cancellation_slot(
      signal.slot(), net::bind_executor(context, [&](error_code code) { received = code; })));
  finish_steps(toy);
  signal.emit(static_cast<type>(how));
  context.poll();
  BOOST_TEST((received == net::error::operation_aborted));
  BOOST_TEST(toy.running.stats().draining);
}

// As `||` does it. The other side is ready first, the operation before the context runs.

struct race : fixture {
  /// Has `wake` win against what `body` waits for.
  template <class Body>
  void lose(Body body) {
    bool finished = false;
    net::co_spawn(
        context,
        [&]() -> net::awaitable<void> {
          co_await body();
          finished = true;
        },
        [](std::exception_ptr error) { BOOST_TEST(!error); });
    context.poll();
    wake.try_send(error_code());
    finish_steps(toy);
    toy.settle(context);
    BOOST_TEST(finished);
  }

  net::experimental::channel<void(error_code)> wake{context, 0};
};

using wake_channel = net::experimental::channel<void(error_code)>;

net::awaitable<void> lose_piece(token_stream& stream, wake_channel& wake) {
  const auto first = co_await (stream.async_next(net::use_awaitable) || wake.async_receive(net::use_awaitable));
  BOOST_TEST(first.index() == 1u);
  BOOST_TEST(ids_of((co_await stream.async_complete()).tokens) == toy_continuation(prompt, 9),
             boost::test_tools::per_element());
}

net::awaitable<void> lose_decode(sequence& seq, wake_channel& wake) {
  const auto first = co_await (seq.async_decode({}, {}, net::use_awaitable) || wake.async_receive(net::use_awaitable));
  BOOST_TEST(first.index() == 1u);
  BOOST_TEST(seq.tokens() == prompt, boost::test_tools::per_element());
  BOOST_TEST((co_await seq.async_decode()).id == toy_next(prompt));
}

BOOST_FIXTURE_TEST_CASE(a_race_loses_no_piece, race) {
  auto stream = generate();
  lose([&] { return lose_piece(stream, wake); });
}

BOOST_FIXTURE_TEST_CASE(a_race_loses_no_completion, race) {
  auto stream = generate();
  lose([&]() -> net::awaitable<void> {
    const auto first = co_await (stream.async_complete(net::use_awaitable) || wake.async_receive(net::use_awaitable));
    BOOST_TEST(first.index() == 1u);
    BOOST_TEST(ids_of((co_await stream.async_complete()).tokens) == toy_continuation(prompt, 9),
               boost::test_tools::per_element());
  });
}

BOOST_FIXTURE_TEST_CASE(a_race_that_a_decode_loses_leaves_the_sequence, race) {
  auto seq = open();
  lose([&] { return lose_decode(seq, wake); });
}

// The same on the engine's executor: both handlers are queued before either runs.

struct race_on_the_engine : fixture {
  /// As race::lose().
  template <class Body>
  void lose(Body body) {
    bool finished = false;
    net::co_spawn(
        toy.running.get_executor(),
        [&]() -> net::awaitable<void> {
          toy.control->on_step = [&](const scheduler::step&) { wake.try_send(error_code()); };
          co_await body();
          finished = true;
        },
        [](std::exception_ptr error) { BOOST_TEST(!error); });
    finish_steps(toy);
    BOOST_TEST(finished);
  }

  net::experimental::channel<void(error_code)> wake{toy.running.get_executor(), 0};
};

BOOST_FIXTURE_TEST_CASE(a_race_on_the_engine_loses_no_piece, race_on_the_engine) {
  auto stream = generate();
  lose([&] { return lose_piece(stream, wake); });
}

BOOST_FIXTURE_TEST_CASE(a_race_on_the_engine_that_a_decode_loses_leaves_the_sequence, race_on_the_engine) {
  auto seq = open();
  lose([&] { return lose_decode(seq, wake); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
