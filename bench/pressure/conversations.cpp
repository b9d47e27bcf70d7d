#include "conversations.hpp"

#include <cogen/metrics.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <random>

namespace pressure {
namespace {

/// Copies on a thread, and counts.
class counting_transfer final : public cogen::cache::transfer {
 public:
  void start(std::vector<cogen::cache::byte_copy> copies, callback done) override {
    std::int64_t bytes = 0;
    for (const auto& each : copies) bytes += static_cast<std::int64_t>(each.target.size());
    const auto begin = std::chrono::steady_clock::now();
    copying_.start(std::move(copies), [this, bytes, begin, done = std::move(done)](std::exception_ptr error) {
      ++jobs;
      moved += bytes;
      nanoseconds += (std::chrono::steady_clock::now() - begin).count();
      done(std::move(error));
    });
  }

  std::atomic<std::int64_t> jobs = 0;
  std::atomic<std::int64_t> moved = 0;
  std::atomic<std::int64_t> nanoseconds = 0;  // between the start of a job and its end, over all jobs

 private:
  cogen::cache::worker_transfer copying_;
};

/// Tokens are fed to a sequence, and it answers, in turns; each turn starts after a pause.
net::awaitable<void> converse(cogen::engine& engine, std::int64_t vocabulary, int number, const settings& wanted,
                              double think_ms, tokens& answers, double& in_turns) {
  auto place = engine.open();
  net::steady_timer timer(co_await net::this_coro::executor);
  std::minstd_rand random(static_cast<unsigned>(number + 1));
  random.discard(8);
  std::uniform_real_distribution<double> spread(0.5, 1.5);
  for (int turn = 0; turn < wanted.turns; ++turn) {
    timer.expires_after(std::chrono::duration_cast<milliseconds>(seconds(think_ms * spread(random) / 1000)));
    co_await timer.async_wait(net::use_awaitable);
    const auto begin = std::chrono::steady_clock::now();
    auto said = some_tokens(number * 100 + turn, wanted.said, vocabulary);
    for (int i = 0; i < wanted.answered; ++i) {
      const auto chosen = co_await place.async_decode(said);
      answers.push_back(chosen.id);
      said.clear();
    }
    in_turns += seconds(std::chrono::steady_clock::now() - begin).count();
  }
}

/// Seconds that they did not think, over all of them.
double converse_all(cogen::engine& engine, std::int64_t vocabulary, const settings& wanted,
                    const std::vector<tokens>& alone) {
  net::io_context context;
  double in_turns = 0;
  std::vector<tokens> answers(alone.size());
  for (std::size_t i = 0; i < answers.size(); ++i)
    net::co_spawn(context,
                  converse(engine, vocabulary, static_cast<int>(i), wanted, wanted.think_ms, answers[i], in_turns),
                  rethrow);
  context.run();
  for (std::size_t i = 0; i < answers.size(); ++i) check_same(answers[i], alone[i], "conversation", i);
  return in_turns;
}

struct reference {
  std::vector<tokens> answers;  // of each conversation
  std::int64_t bytes;           // that the cache of one takes
};

reference conversations_alone(const model_pointer& model, const settings& wanted) {
  reference result{};
  double in_turns = 0;
  cogen::engine engine(model, base(wanted, 1, wanted.length()));
  for (int i = 0; i < wanted.conversations; ++i) {
    net::io_context context;
    auto& answers = result.answers.emplace_back();
    net::co_spawn(
        context,
        [&]() -> net::awaitable<void> {
          co_await converse(engine, model->config().vocabulary, i, wanted, 0, answers, in_turns);
          result.bytes = std::max(result.bytes, engine.stats().cache_bytes);
        },
        rethrow);
    context.run();
  }
  return result;
}

enum class memory { for_all, for_few, for_few_without_swapping };

measurement converse_within(const model_pointer& model, const settings& wanted, const reference& alone, memory given) {
  auto options = base(wanted, wanted.conversations, wanted.length());
  const auto transfer = std::make_shared<counting_transfer>();
  options.swap.transfer = transfer;
  options.kv.bytes = alone.bytes * (given == memory::for_all ? wanted.conversations : wanted.room);
  if (given == memory::for_few_without_swapping) options.swap.bytes = 0;
  if (given == memory::for_few && !wanted.trace.empty())
    options.events = std::make_shared<cogen::chrome_trace>(wanted.trace);
  cogen::engine engine(model, options);
  double in_turns = 0;
  auto result =
      timed(engine, [&] { in_turns = converse_all(engine, model->config().vocabulary, wanted, alone.answers); });
  result.in_a_turn = in_turns;
  result.jobs = transfer->jobs;
  result.moved = transfer->moved;
  result.transfer_seconds = static_cast<double>(transfer->nanoseconds) * 1e-9;
  return result;
}

const measurement& middle(std::vector<measurement>& runs) {
  const auto position = runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2);
  std::nth_element(runs.begin(), position, runs.end(), [](const auto& a, const auto& b) { return a.wall < b.wall; });
  return *position;
}

void print_conversations(std::string_view name, std::vector<measurement> runs, const settings& wanted) {
  const auto times = walls(runs);
  const auto& sample = middle(runs);
  const auto swapped_in = sample.jobs - static_cast<std::int64_t>(sample.stats.swapped_out);
  fmt::print(
      "{:<22} {:>6.2f} ({:.2f} to {:.2f})  {:>6.2f}  {:>6.1f}  {:>7.2f}  {:>5.2f}  {:>6}  {:>7}  {:>8}  {:>9.1f}  "
      "{:>8.2f}\n",
      name, sample.wall, times.front(), times.back(), sample.cpu, wanted.answers() / sample.wall,
      sample.in_a_turn / sample.wall, static_cast<double>(sample.stats.rows) / static_cast<double>(sample.stats.steps),
      sample.stats.tokens, sample.stats.preempted, fmt::format("{}/{}", sample.stats.swapped_out, swapped_in),
      static_cast<double>(sample.moved) / (1 << 20),
      sample.jobs == 0 ? 0 : sample.transfer_seconds * 1000 / static_cast<double>(sample.jobs));
}

}  // namespace

void run_conversations(const model_pointer& model, const settings& wanted) {
  const auto alone = conversations_alone(model, wanted);
  fmt::print(
      "{} conversations of {} turns ({} tokens said, {} answered), thinking {} ms before each; memory for {} of {} "
      "tokens, {:.1f} MiB each; idle timeout {} ms\n",
      wanted.conversations, wanted.turns, wanted.said, wanted.answered, wanted.think_ms, wanted.room, wanted.length(),
      static_cast<double>(alone.bytes) / (1 << 20), wanted.idle_timeout_ms);
  const auto within = [&](memory given) { return [&, given] { return converse_within(model, wanted, alone, given); }; };
  const auto results =
      by_turns(wanted, {within(memory::for_all), within(memory::for_few), within(memory::for_few_without_swapping)});
  const auto &roomy = results[0], &pressed = results[1], &again = results[2];
  fmt::print(
      "memory for              wall s (spread)        CPU s   tok/s  at once  batch  tokens   preempted  out/back  MiB "
      "moved  "
      "ms each\n");
  print_conversations("all", roomy, wanted);
  print_conversations("few, swapped out", pressed, wanted);
  print_conversations("few, run again", again, wanted);
  print_ratio("share of the speed, swapped out", roomy, pressed, "; aim: 0.700 or more");
  print_ratio("share of the speed, run again", roomy, again, "");
  print_ratio("what swapping out gains over running again", again, pressed, "");
  fmt::print("At once: conversations that were in a turn, on average; one that waits for memory is.\n");
  fmt::print("Every conversation says what it says alone.\n\n");
  std::fflush(stdout);
}

}  // namespace pressure
