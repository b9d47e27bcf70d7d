// The default model through the whole engine: what a stream says does not depend on its batch.
#include "../test_data.hpp"
#include "external_stepping.hpp"

#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <fstream>

namespace cogen::test {
namespace {

BOOST_AUTO_TEST_SUITE(real_model)

std::shared_ptr<const model> the_model() {
  static const auto loaded = load_model(default_model_file());
  return loaded;
}

/// Six requests as different as they can be.
std::vector<request> mixed_requests() {
  const auto lively = sampling_params{.temperature = 0.9, .top_p = 0.95, .seed = 5, .logprobs = 2};
  return {
      request{.prompt = chat("Name a colour."), .max_tokens = 12, .sampling = {.logprobs = 0}},
      request{.prompt = "The quick brown fox", .max_tokens = 20, .sampling = lively},
      request{.prompt = chat("Explain, in a few words, why the sky looks blue at noon and red in the evening."),
              .max_tokens = 16,
              .sampling = lively},
      request{.prompt = "1, 2, 3,",
              .max_tokens = 24,
              .sampling = {.repetition_penalty = 1.3, .logprobs = 0},
              .max_buffered_tokens = 1},
      request{.prompt = token_ids{1, 2, 3}, .max_tokens = 5, .sampling = {.logprobs = 3}, .ignore_eos = true},
      request{.prompt = std::string(600, 'x'), .max_tokens = 8, .sampling = lively, .max_buffered_tokens = 0},
  };
}

std::vector<completion> run(std::vector<request> requests, engine_options options) {
  engine running(the_model(), std::move(options));
  std::vector<token_stream> streams;
  for (auto& each : requests) streams.push_back(running.generate(std::move(each)));
  std::vector<std::future<completion>> futures;
  for (auto& each : streams) futures.push_back(each.async_complete(net::use_future));
  std::vector<completion> results;
  for (auto& each : futures) results.push_back(each.get());
  return results;
}

void check_same(const std::vector<sampled_token>& alone, const std::vector<sampled_token>& in_batch) {
  BOOST_REQUIRE(alone.size() == in_batch.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    BOOST_TEST(alone[i].id == in_batch[i].id);
    BOOST_TEST(alone[i].logprob == in_batch[i].logprob);  // to the last bit
    BOOST_REQUIRE(alone[i].top.size() == in_batch[i].top.size());
    for (std::size_t k = 0; k < alone[i].top.size(); ++k)
      BOOST_TEST(alone[i].top[k].logprob == in_batch[i].top[k].logprob);
  }
}

void check_same(const completion& alone, const completion& in_batch) {
  BOOST_TEST(alone.text == in_batch.text);
  check_same(alone.tokens, in_batch.tokens);
}

BOOST_AUTO_TEST_CASE(a_stream_says_the_same_in_any_batch_chunking_and_number_of_threads) {
  std::vector<completion> alone;
  for (const auto& each : mixed_requests())
    alone.push_back(run({each}, {.limits = {.max_sequence_length = 1024}}).front());
  const std::vector<engine_options> companies{
      {.batching = {.slots = 6, .max_batched_tokens = 128}, .limits = {.max_sequence_length = 1024}},
      {.batching = {.slots = 2, .max_batched_tokens = 17}, .limits = {.max_sequence_length = 1024}},
      {.batching = {.slots = 6, .max_batched_tokens = 33}, .limits = {.max_sequence_length = 1024}, .threads = 1},
  };
  for (const auto& options : companies) {
    const auto together = run(mixed_requests(), options);
    for (std::size_t i = 0; i < alone.size(); ++i) check_same(alone[i], together[i]);
  }
}

BOOST_AUTO_TEST_CASE(a_stop_string_ends_the_text_before_it) {
  const auto whole =
      run({request{.prompt = "1, 2, 3, 4,", .max_tokens = 40}}, {.limits = {.max_sequence_length = 512}}).front();
  BOOST_REQUIRE(whole.text.find("9") != std::string::npos);
  const auto cut = run({request{.prompt = "1, 2, 3, 4,", .max_tokens = 40, .stop = {"never", "9,"}}},
                       {.limits = {.max_sequence_length = 512}})
                       .front();
  BOOST_TEST(cut.text == whole.text.substr(0, whole.text.find("9,")));
  BOOST_CHECK(cut.reason == finish_reason::stop_string);
}

BOOST_AUTO_TEST_CASE(a_long_prompt_is_read_away_from_the_caller_and_means_the_same) {
  std::string text;
  while (text.size() < 20'000) text += "The sea was calm, and nobody spoke for a while. ";
  const auto tokens = the_model()->tokenizer().encode(text, {.add_special = true}).size();
  engine running(the_model(), {.batching = {.slots = 1}, .limits = {.max_sequence_length = 512}});
  auto stream = running.generate({.prompt = text});
  BOOST_CHECK_THROW(stream.async_next(net::use_future).get(), boost::system::system_error);
  BOOST_CHECK_EQUAL(stream.error().code(), make_error_code(error::does_not_fit));
  BOOST_TEST(stream.error().message().find(std::to_string(tokens) + " tokens") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_engine_may_go_while_a_long_prompt_is_read) {
  for (int i = 0; i < 20; ++i) {
    engine running(the_model(), {.batching = {.slots = 1}, .limits = {.max_sequence_length = 512}});
    auto dropped = running.generate({.prompt = std::string(100'000, 'x')});
    if (i % 2 == 0) continue;
    auto kept = running.generate({.prompt = std::string(100'000, 'x')});
    running.stop();
    BOOST_CHECK_THROW(kept.async_next(net::use_future).get(), boost::system::system_error);
  }
}

BOOST_AUTO_TEST_CASE(control_tokens_in_a_message_are_plain_text) {
  const auto honest = run({request{.prompt = chat("Say <|im_end|> and nothing else."), .max_tokens = 1}},
                          {.limits = {.max_sequence_length = 512}})
                          .front();
  const auto plain = run({request{.prompt = chat("Say im_end and nothing else."), .max_tokens = 1}},
                         {.limits = {.max_sequence_length = 512}})
                         .front();
  BOOST_TEST(honest.usage.prompt_tokens > plain.usage.prompt_tokens + 2);
}

// One prompt for many

std::vector<request> questions(int count) {
  std::string system = "You answer in one word.";
  for (int rule = 1; rule <= 95; ++rule) system += " Rule " + std::to_string(rule) + ": be brief and be kind.";
  std::vector<request> requests;
  for (int i = 0; i < count; ++i)
    requests.push_back(request{
        .prompt = chat_messages{{"system", system}, {"user", "What comes after " + std::to_string(i * 7) + "?"}},
        .max_tokens = 3,
        .sampling = {.logprobs = 1},
        .ignore_eos = true});
  return requests;
}

BOOST_AUTO_TEST_CASE(a_hundred_requests_with_one_system_prompt_run_it_once) {
  constexpr int count = 100;
  engine running(the_model(),
                 {.batching = {.slots = 32}, .limits = {.max_sequence_length = 2048}, .external_stepping = true});
  net::io_context context;
  std::vector<token_stream> streams;
  std::vector<completion> received(count);
  for (auto& each : questions(count)) {
    const auto i = streams.size();
    streams.push_back(running.generate(std::move(each)));
    streams[i].async_complete(net::bind_executor(context, [&received, i](error_code code, completion whole) {
      BOOST_TEST(!code);
      received[i] = std::move(whole);
    }));
  }
  settle(running, context);
  int prompts = 0, cached = 0, without = 0;
  for (const auto& each : received) {
    prompts += each.usage.prompt_tokens;
    cached += each.usage.cached_tokens;
    without += each.usage.cached_tokens < 1000;
  }
  BOOST_TEST(prompts > 1000 * count);
  BOOST_TEST(without == 1);  // the first of them runs it
  BOOST_TEST(running.stats().tokens == static_cast<unsigned>(prompts - cached + 2 * count));
  for (const int i : {0, 1, count / 2, count - 1}) {
    auto lone = questions(count)[static_cast<std::size_t>(i)];
    lone.prefix_caching = false;
    check_same(run({std::move(lone)}, {.batching = {.slots = 1}, .limits = {.max_sequence_length = 2048}}).front(),
               received[static_cast<std::size_t>(i)]);
  }
  BOOST_TEST_MESSAGE(prompts << " tokens of prompts, of which " << cached << " were not run");
}

// Memory for few

constexpr int talks = 32;
constexpr int words_said = 8;
constexpr int words_answered = 4;

/// Something is said, and the sequence answers.
net::awaitable<void> talk(sequence& place, unsigned number, unsigned round, std::vector<sampled_token>& answers) {
  std::vector<token> said;
  for (unsigned i = 0; i < words_said; ++i)
    said.push_back(static_cast<token>(100 + 977 * number + 131 * round + 7 * i));
  for (int i = 0; i < words_answered; ++i) {
    auto answer = co_await place.async_decode(said, sampling_params{.logprobs = 1});
    answers.push_back(std::move(answer));
    said.clear();
  }
}

/// What conversations `first` to `last` answer in two rounds, all of them at once within each round.
std::vector<std::vector<sampled_token>> answers_of(engine& running, unsigned first, unsigned last,
                                                   bool external_stepping) {
  std::vector<std::vector<sampled_token>> answers(last - first);
  std::vector<sequence> places;
  for (unsigned i = first; i < last; ++i) places.push_back(running.open());
  for (unsigned round = 0; round < 2; ++round) {
    net::io_context context;
    for (unsigned i = first; i < last; ++i)
      net::co_spawn(context, talk(places[i - first], i, round, answers[i - first]), [](std::exception_ptr error) {
        if (error) std::rethrow_exception(error);
      });
    if (external_stepping)
      settle(running, context);
    else
      context.run();
  }
  return answers;
}

engine_options for_talks() {
  return {.limits = {.max_sequence_length = 2 * (words_said + words_answered)}, .external_stepping = true};
}

struct talks_alone {
  std::vector<std::vector<sampled_token>> answers;
  std::int64_t bytes = 0;  // that the cache of each takes
};

const talks_alone& alone() {
  static const auto found = [] {
    talks_alone result;
    for (unsigned i = 0; i < talks; ++i) {
      engine running(the_model(), for_talks());
      auto place = running.open();
      const auto sole = answers_of(running, i, i + 1, true);
      result.answers.push_back(sole.front());
    }
    engine running(the_model(), for_talks());
    auto place = running.open();
    auto scores = place.async_forward({1}, logits_of::last, net::use_future);
    while (running.poll_one()) continue;
    scores.get();
    result.bytes = running.stats().cache_bytes;
    return result;
  }();
  return found;
}

enum class preempted { swapped_out, swapped_by_a_thread, dropped };

std::ostream& operator<<(std::ostream& out, preempted state) { return out << static_cast<int>(state); }

BOOST_DATA_TEST_CASE(thirty_two_conversations_share_memory_for_four_and_say_what_each_says_alone,
                     boost::unit_test::data::make({preempted::swapped_out, preempted::swapped_by_a_thread,
                                                   preempted::dropped}),
                     how) {
  auto options = for_talks();
  options.batching.slots = talks;
  options.kv.bytes = 4 * alone().bytes;
  options.policies.idle_timeout = std::chrono::milliseconds(0);
  options.external_stepping = how != preempted::swapped_by_a_thread;
  if (how == preempted::dropped) options.swap.bytes = 0;
  engine running(the_model(), options);
  const auto answers = answers_of(running, 0, talks, options.external_stepping);
  for (unsigned i = 0; i < talks; ++i) check_same(alone().answers[i], answers[i]);
  const auto stats = running.stats();
  BOOST_TEST(stats.preempted >= static_cast<unsigned>(talks));  // each at least once: none could stay
  BOOST_TEST(stats.swapped_out == (how == preempted::dropped ? 0u : stats.preempted));
  constexpr unsigned once = talks * (2 * (words_said + words_answered) - 1);
  BOOST_TEST((how == preempted::dropped ? stats.tokens > once : stats.tokens == once));
}

BOOST_AUTO_TEST_CASE(one_model_serves_several_engines_at_once) {
  engine first(the_model(), {.batching = {.slots = 2}, .limits = {.max_sequence_length = 256}});
  engine second(the_model(), {.batching = {.slots = 2}, .limits = {.max_sequence_length = 256}});
  auto a = first.generate({.prompt = "The sea is", .max_tokens = 12});
  auto b = second.generate({.prompt = "The sea is", .max_tokens = 12});
  auto from_a = a.async_complete(net::use_future);
  auto from_b = b.async_complete(net::use_future);
  BOOST_TEST(from_a.get().text == from_b.get().text);
}

/// A number that Linux tells of this process: the one after `name` in /proc/self/FILE.
std::int64_t read_from_proc(const std::string& file, const std::string& name) {
  std::ifstream in("/proc/self/" + file);
  for (std::string word; in >> word;)
    if (std::int64_t value = 0; word == name && in >> value) return value;
  BOOST_FAIL("/proc/self/" << file << " does not tell " << name);
  return 0;
}

BOOST_AUTO_TEST_CASE(memory_is_what_was_estimated_before_loading) {
  const auto path = default_model_file();
  const engine_options options{
      .batching = {.slots = 2}, .kv = {.dtype = cache::scalar::f32}, .limits = {.max_sequence_length = 256}};
  const auto read_before = read_from_proc("io", "rchar:");
  const auto said = estimate_memory(path, options);
  const auto read = read_from_proc("io", "rchar:") - read_before;
  BOOST_TEST(read * 4 < static_cast<std::int64_t>(std::filesystem::file_size(path)));  // no weights
  const auto previous = read_from_proc("smaps_rollup", "Anonymous:") * 1024;
  const auto loaded = load_model(path);
  const auto taken = read_from_proc("smaps_rollup", "Anonymous:") * 1024 - previous;
  BOOST_TEST(said.weight_bytes == loaded->weight_bytes());  // its head is its embedding
  BOOST_TEST(taken > said.weight_bytes * 9 / 10);
  BOOST_TEST(taken < said.weight_bytes * 14 / 10);  // the tokenizer is in it too

  auto cache = loaded->make_cache({.type = cache::scalar::f32, .slots = 2, .max_sequence_length = 256});
  loaded->forward(std::vector<token>(256, 7), cache);
  BOOST_TEST(cache.committed_bytes() <= said.slot_bytes);
  BOOST_TEST(cache.committed_bytes() > said.slot_bytes * 9 / 10);
  BOOST_TEST(said.cache_bytes == 2 * said.slot_bytes);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
