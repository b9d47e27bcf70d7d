// How much hybrids find again of what they have read: their states go back only to where they were kept.
#include "engine/parts/make_parts.hpp"
#include "kept_engines.hpp"
#include "session_files.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

constexpr token end_of_message = 1;
constexpr int reply_tokens = 12;
constexpr double min_found = 0.95;
constexpr int checkpoint_interval = 32;

/// Conversations with a hybrid over one engine, which reads a few tokens a step.
class conversations {
 public:
  explicit conversations(
      const std::string& golden, const keep& change = [](engine_options&) {})
      : model_(golden_model(golden)), options_(options(change)), running_(parts(), options_) {}

  /// So many tokens, of which the last ends the message.
  std::vector<token> message(int count, unsigned seed) const {
    auto tokens = opening(count - 1, seed);
    tokens.push_back(end_of_message);
    return tokens;
  }

  /// What begins a reply.
  std::vector<token> opening(int count, unsigned seed) const {
    auto tokens = some_tokens(*model_, count, seed);
    std::ranges::replace(tokens, end_of_message, end_of_message + 1);
    return tokens;
  }

  std::vector<token> reply(const std::vector<token>& prompt) const {
    return loop_by_hand(*model_, options_, prompt, reply_tokens);
  }

  /// How many of the prompt's tokens were found. The answer must be that of a loop which finds none.
  int ask(const std::vector<token>& prompt) {
    net::io_context context;
    auto stream = running_.generate({.prompt = token_ids(prompt), .max_tokens = reply_tokens, .ignore_eos = true});
    completion whole;
    stream.async_complete(net::bind_executor(context, [&](error_code code, completion received) {
      BOOST_TEST(!code);
      whole = std::move(received);
    }));
    settle(running_, context);
    std::vector<token> ids;
    for (const auto& each : whole.tokens) ids.push_back(each.id);
    BOOST_TEST(ids == reply(prompt), boost::test_tools::per_element());
    return whole.usage.cached_tokens;
  }

  /// Tokens that the engine has run.
  int run() const { return static_cast<int>(running_.stats().tokens); }

  engine& running() { return running_; }

 private:
  engine_options options(const keep& change) const {
    auto wanted = tiny_engine(*model_);
    change(wanted);
    return wanted;
  }

  engine_parts parts() const {
    auto parts = detail::make_parts(model_, options_);
    parts.end_tokens = {end_of_message};
    return parts;
  }

  std::shared_ptr<const model> model_;
  engine_options options_;
  engine running_;
};

double share(int found, std::size_t total) { return found / static_cast<double>(total); }

}  // namespace

BOOST_AUTO_TEST_SUITE(hybrid_prefixes)

BOOST_DATA_TEST_CASE(the_next_turn_finds_the_turns_before, data::make(hybrids()), golden) {
  conversations with(golden);
  auto said = joined(joined(with.message(40, 1), with.message(8, 2)), with.opening(3, 3));
  BOOST_TEST(with.ask(said) == 0);
  for (unsigned turn = 0; turn < 3; ++turn) {
    const auto prefix = joined(said, with.reply(said));
    said = joined(joined(joined(prefix, {end_of_message}), with.message(9, 10 + turn)), with.opening(3, 3));
    BOOST_TEST(share(with.ask(said), prefix.size()) >= min_found);
  }
}

BOOST_DATA_TEST_CASE(a_turn_whose_last_reply_is_spelled_otherwise_finds_what_came_before_it, data::make(hybrids()),
                     golden) {
  conversations with(golden);
  const auto prefix = joined(with.message(70, 1), with.message(8, 2));
  BOOST_TEST(with.ask(joined(prefix, with.opening(3, 3))) == 0);
  const auto next = joined(joined(prefix, with.message(6, 4)), joined(with.message(9, 5), with.opening(3, 3)));
  BOOST_TEST(share(with.ask(next), prefix.size()) >= min_found);
}

BOOST_DATA_TEST_CASE(another_conversation_finds_the_system_prompt, data::make(hybrids()) * data::make({20, 41, 150}),
                     golden, length) {
  conversations with(golden);
  const auto system = with.message(length, 1);
  for (unsigned user = 0; user < 4; ++user) {
    const int found = with.ask(joined(joined(system, with.message(9, 10 + user)), with.opening(3, 3)));
    BOOST_TEST(share(found, system.size()) >= (user == 0 ? 0 : min_found));
  }
}

BOOST_DATA_TEST_CASE(another_reply_to_the_same_prompt_finds_the_prompt, data::make(hybrids()), golden) {
  conversations with(golden);
  const auto prompt = joined(joined(with.message(150, 1), with.message(9, 2)), with.opening(6, 3));
  BOOST_TEST(with.ask(prompt) == 0);
  for (int again = 0; again < 2; ++again) BOOST_TEST(share(with.ask(prompt), prompt.size()) >= min_found);
}

BOOST_DATA_TEST_CASE(a_text_that_parts_from_another_one_finds_what_they_share, data::make(hybrids()), golden) {
  conversations with(golden, [](engine_options& options) { options.kv.checkpoint_interval = checkpoint_interval; });
  const auto text = with.opening(210, 1);
  BOOST_TEST(with.ask(text) == 0);
  for (const int length : {40, 130, 150, 195}) {
    const auto own = with.opening(10, static_cast<unsigned>(length));
    const int found = with.ask(joined({text.begin(), text.begin() + length}, own));
    BOOST_TEST(found >= length / checkpoint_interval * checkpoint_interval);
    BOOST_TEST(found <= length + 1);  // the first of its own tokens may be the same
  }
}

BOOST_DATA_TEST_CASE(a_long_text_finds_all_but_a_twentieth_of_them, data::make({"mamba_tiny", "mamba2_published"}),
                     golden) {
  conversations with(golden, [](engine_options& options) {
    options.limits.max_sequence_length = 1500;
    options.kv.checkpoint_interval = checkpoint_interval;
  });
  const auto text = with.opening(1400, 1);
  BOOST_TEST(with.ask(text) == 0);
  for (const int length : {670, 1000, 1390}) {
    const auto own = with.opening(10, static_cast<unsigned>(length));
    const int found = with.ask(joined({text.begin(), text.begin() + length}, own));
    BOOST_TEST(share(found, static_cast<std::size_t>(length)) >= min_found);
  }
}

BOOST_AUTO_TEST_CASE(without_room_for_checkpoints_such_a_text_finds_nothing) {
  conversations with("mamba_tiny", [](engine_options& options) { options.kv.checkpoint_bytes = 0; });
  const auto text = with.opening(210, 1);
  for (const int length : {210, 195, 150}) {
    const auto own = with.opening(10, static_cast<unsigned>(length));
    BOOST_TEST(with.ask(joined({text.begin(), text.begin() + length}, own)) == 0);
  }
}

BOOST_DATA_TEST_CASE(a_fork_runs_its_own_tokens_alone, data::make(hybrids()), golden) {
  conversations with(golden);
  const auto prompt = with.opening(90, 1);
  drive(with.running(), [&]() -> net::awaitable<void> {
    auto seq = with.running().open();
    co_await seq.async_forward(prompt);
    const int previous_tokens = with.run();
    auto child = seq.fork();
    for (const unsigned own : {2, 3}) co_await (own == 2 ? seq : child).async_forward(with.opening(4, own));
    BOOST_TEST(with.run() - previous_tokens == 8);
  });
}

BOOST_DATA_TEST_CASE(a_session_reopened_after_a_restart_runs_new_tokens_alone, data::make(hybrids()), golden) {
  const session_path file;
  std::vector<token> said, next;
  {
    conversations with(golden);
    said = with.opening(90, 1);
    drive(with.running(), [&]() -> net::awaitable<void> {
      auto seq = with.running().open();
      const auto sampled = co_await seq.async_decode(said);
      next.push_back(sampled.id);
      co_await seq.async_save(file.path);
    });
  }
  conversations with(golden);
  drive(with.running(), [&]() -> net::awaitable<void> {
    auto seq = co_await with.running().async_load_session(file.path);
    for (int i = 1; i < reply_tokens; ++i) {
      const auto sampled = co_await seq.async_decode();
      next.push_back(sampled.id);
    }
  });
  BOOST_TEST(next == with.reply(said), boost::test_tools::per_element());
  BOOST_TEST(with.run() == reply_tokens - 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
