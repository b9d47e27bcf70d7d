// Prompts find what earlier ones left at the ends of messages, in slots that cannot go back.
#include "external_stepping.hpp"
#include "toy_runner.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/test/unit_test.hpp>

#include <numeric>

namespace cogen::test {

namespace {

constexpr token end = 96;

using tokens = std::vector<token>;

/// `count` tokens and the end of a message.
tokens message(int count, token first) {
  tokens result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), first);
  result.push_back(end);
  return result;
}

/// States that cannot go back, in blocks of four tokens.
toy_setup forgetful() {
  return {.slots = 2,
          .spare_slots = 8,
          .max_rollback_tokens = 0,
          .max_sequence_length = 200,
          .max_batched_tokens = 32,
          .end_tokens = {end},
          .usage = {.block = 4}};
}

class conversations {
 public:
  /// Tokens of the prompt that were not run again.
  int ask(const tokens& prompt) {
    auto stream = toy_.running.generate({.prompt = token_ids(prompt), .max_tokens = 5, .ignore_eos = true});
    completion whole;
    stream.async_complete(net::bind_executor(context_, [&](error_code code, completion received) {
      BOOST_TEST(!code);
      whole = std::move(received);
    }));
    toy_.settle(context_);
    BOOST_TEST(ids_of(whole.tokens) == toy_continuation(prompt, 5), boost::test_tools::per_element());
    return whole.usage.cached_tokens;
  }

  engine& running() { return toy_.running; }

 private:
  net::io_context context_;
  toy_engine toy_{forgetful()};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(checkpoints)

BOOST_AUTO_TEST_CASE(another_conversation_finds_the_system_prompt) {
  conversations chats;
  const auto system = message(40, 1);
  BOOST_TEST(chats.ask(joined(joined(system, message(10, 50)), {94, 95})) == 0);
  for (const token other : {51, 60, 70})
    BOOST_TEST(chats.ask(joined(joined(system, message(10, other)), {94, 95})) == 41);
}

BOOST_AUTO_TEST_CASE(the_next_turn_finds_the_last_one_if_its_reply_is_spelled_otherwise) {
  conversations chats;
  auto history = joined(message(40, 1), message(10, 50));
  BOOST_TEST(chats.ask(joined(history, {94, 95})) == 0);
  for (const token turn : {3, 13, 23}) {
    const auto held = static_cast<int>(history.size());
    history = joined(joined(history, message(8, turn)), message(8, turn + 40));
    BOOST_TEST(chats.ask(joined(history, {94, 95})) == held);
  }
}

BOOST_AUTO_TEST_CASE(a_sequence_leaves_and_finds_them_too) {
  conversations chats;
  const auto prompt = joined(joined(message(40, 1), message(10, 50)), {94, 95});
  const auto feed = [&](tokens fed) {
    const auto previous_tokens = chats.running().stats().tokens;
    drive(chats.running(), [&]() -> net::awaitable<void> {
      auto seq = chats.running().open();
      co_await seq.async_forward(fed);
    });
    return chats.running().stats().tokens - previous_tokens;
  };
  BOOST_TEST(feed(prompt) == prompt.size());
  BOOST_TEST(feed(joined(joined(message(40, 1), message(10, 50)), message(8, 20))) == 9u);
  BOOST_TEST(chats.ask(joined(message(40, 1), message(10, 60))) == 41);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
