// What is left of the speed when memory is short, and when a reader is slow.
#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <sstream>
#include <sys/resource.h>
#include <thread>

namespace net = boost::asio;
namespace po = boost::program_options;

namespace {

using seconds = std::chrono::duration<double>;
using std::chrono::milliseconds;
using tokens = std::vector<cogen::token>;

struct settings {
  std::string model;
  int conversations;
  int room;
  int turns;
  int said;
  int answered;
  int think_ms;
  int patience_ms;
  int stream_tokens;
  int rounds;
  int threads;
  bool quick;

  int length() const { return turns * (said + answered); }
  int answers() const { return conversations * turns * answered; }
};

/// Copies on a thread, and counts.
class counting_transfer final : public cogen::cache::transfer {
 public:
  void start(std::vector<cogen::cache::byte_copy> copies, callback done) override {
    std::int64_t bytes = 0;
    for (const auto& each : copies) bytes += static_cast<std::int64_t>(each.to.size());
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

/// What one run came to.
struct measurement {
  double wall;  // seconds
  double cpu;   // seconds of all threads
  cogen::engine_stats stats;
  std::int64_t jobs = 0;
  std::int64_t moved = 0;       // bytes
  double transfer_seconds = 0;  // from begin to end, over all of them
};

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

template <class Run>
measurement timed(const cogen::engine& engine, Run run) {
  const auto begin = std::chrono::steady_clock::now();
  const double cpu = cpu_seconds();
  run();
  return {seconds(std::chrono::steady_clock::now() - begin).count(), cpu_seconds() - cpu, engine.stats()};
}

tokens some_tokens(int seed, int count, std::int64_t vocabulary) {
  tokens ids;
  for (std::int64_t j = 0; j < count; ++j)
    ids.push_back(static_cast<cogen::token>((std::int64_t{seed} * 1009 + j * 131 + 17) % (vocabulary - 64) + 32));
  return ids;
}

void rethrow(std::exception_ptr error) {
  if (error) std::rethrow_exception(error);
}

void check_same(const tokens& seen, const tokens& alone, std::string_view what, std::size_t number) {
  if (seen != alone) throw std::runtime_error(fmt::format("{} {} says something else than alone", what, number));
}

cogen::engine_options base(const settings& wanted, int slots, int max_length) {
  cogen::engine_options options;
  options.slots = slots;
  options.max_length = max_length;
  options.threads = wanted.threads;
  options.patience = milliseconds(wanted.patience_ms);
  return options;
}

// Conversations

/// Tokens are said to a sequence, and it answers, by turns; before each turn somebody thinks.
net::awaitable<void> converse(cogen::engine& engine, std::int64_t vocabulary, int number, const settings& wanted,
                              double think_ms, tokens& answers) {
  auto place = engine.open();
  net::steady_timer timer(co_await net::this_coro::executor);
  std::minstd_rand random(static_cast<unsigned>(number + 1));
  random.discard(8);
  std::uniform_real_distribution<double> spread(0.5, 1.5);
  for (int turn = 0; turn < wanted.turns; ++turn) {
    timer.expires_after(std::chrono::duration_cast<milliseconds>(seconds(think_ms * spread(random) / 1000)));
    co_await timer.async_wait(net::use_awaitable);
    auto said = some_tokens(number * 100 + turn, wanted.said, vocabulary);
    for (int i = 0; i < wanted.answered; ++i) {
      const auto chosen = co_await place.decode(said);
      answers.push_back(chosen.id);
      said.clear();
    }
  }
}

void converse_all(cogen::engine& engine, std::int64_t vocabulary, const settings& wanted,
                  const std::vector<tokens>& alone) {
  net::io_context context;
  std::vector<tokens> answers(alone.size());
  for (std::size_t i = 0; i < answers.size(); ++i)
    net::co_spawn(context, converse(engine, vocabulary, static_cast<int>(i), wanted, wanted.think_ms, answers[i]),
                  rethrow);
  context.run();
  for (std::size_t i = 0; i < answers.size(); ++i) check_same(answers[i], alone[i], "conversation", i);
}

struct reference {
  std::vector<tokens> answers;  // of each conversation
  std::int64_t bytes;           // that the cache of one takes
};

reference conversations_alone(const std::shared_ptr<const cogen::model>& model, const settings& wanted) {
  reference result{};
  cogen::engine engine(model, base(wanted, 1, wanted.length()));
  for (int i = 0; i < wanted.conversations; ++i) {
    net::io_context context;
    auto& answers = result.answers.emplace_back();
    net::co_spawn(
        context,
        [&]() -> net::awaitable<void> {
          co_await converse(engine, model->config().vocabulary, i, wanted, 0, answers);
          result.bytes = std::max(result.bytes, engine.stats().cache_bytes);
        },
        rethrow);
    context.run();
  }
  return result;
}

enum class memory { for_all, for_few, for_few_without_spilling };

measurement converse_within(const std::shared_ptr<const cogen::model>& model, const settings& wanted,
                            const reference& alone, memory given) {
  auto options = base(wanted, wanted.conversations, wanted.length());
  const auto transfer = std::make_shared<counting_transfer>();
  options.spill_transfer = transfer;
  options.cache_bytes = alone.bytes * (given == memory::for_all ? wanted.conversations : wanted.room);
  if (given == memory::for_few_without_spilling) options.spill_bytes = 0;
  cogen::engine engine(model, options);
  auto result = timed(engine, [&] { converse_all(engine, model->config().vocabulary, wanted, alone.answers); });
  result.jobs = transfer->jobs;
  result.moved = transfer->moved;
  result.transfer_seconds = static_cast<double>(transfer->nanoseconds) * 1e-9;
  return result;
}

// Streams

constexpr int others = 15;
constexpr int stream_prompt = 32;
constexpr int ahead = 16;

cogen::request stream_request(int number, std::int64_t vocabulary, const settings& wanted) {
  return cogen::token_ids(some_tokens(7000 + number, stream_prompt, vocabulary))
      .max_tokens(wanted.stream_tokens)
      .lookahead(ahead)
      .ignore_end();
}

net::awaitable<void> read(cogen::token_stream& stream, tokens& into) {
  while (auto piece = co_await stream.next())
    for (const auto& each : piece->tokens) into.push_back(each.id);
}

/// Streams `first` and those after it, as many as `read_into` has room for.
void read_all(cogen::engine& engine, std::int64_t vocabulary, const settings& wanted, int first,
              std::vector<tokens>& read_into) {
  net::io_context context;
  std::vector<cogen::token_stream> streams;
  for (std::size_t i = 0; i < read_into.size(); ++i)
    streams.push_back(engine.generate(stream_request(first + static_cast<int>(i), vocabulary, wanted)));
  for (std::size_t i = 0; i < read_into.size(); ++i) net::co_spawn(context, read(streams[i], read_into[i]), rethrow);
  context.run();
}

/// Stream 0 is the slow one's.
std::vector<tokens> streams_alone(const std::shared_ptr<const cogen::model>& model, const settings& wanted) {
  cogen::engine engine(model, base(wanted, 1, stream_prompt + wanted.stream_tokens));
  std::vector<tokens> result;
  for (int i = 0; i <= others; ++i) {
    std::vector<tokens> one(1);
    read_all(engine, model->config().vocabulary, wanted, i, one);
    result.push_back(std::move(one.front()));
  }
  return result;
}

enum class slow_one { absent, in_its_slot, in_a_wanted_slot };

/// The time of the others, from when the slow one has stopped.
measurement read_beside(const std::shared_ptr<const cogen::model>& model, const settings& wanted,
                        const std::vector<tokens>& alone, slow_one beside) {
  const auto vocabulary = model->config().vocabulary;
  const int slots = beside == slow_one::in_a_wanted_slot ? others : others + 1;
  cogen::engine engine(model, base(wanted, slots, stream_prompt + wanted.stream_tokens));
  std::optional<cogen::token_stream> slow;
  if (beside != slow_one::absent) {
    slow = engine.generate(stream_request(0, vocabulary, wanted));
    while (slow->usage().generated_tokens < ahead) std::this_thread::sleep_for(milliseconds(1));
  }
  std::vector<tokens> brisk(others);
  const auto result = timed(engine, [&] { read_all(engine, vocabulary, wanted, 1, brisk); });
  for (std::size_t i = 0; i < others; ++i) check_same(brisk[i], alone[i + 1], "stream", i + 1);
  if (!slow) return result;
  tokens late;
  net::io_context context;
  net::co_spawn(context, read(*slow, late), rethrow);
  context.run();
  check_same(late, alone[0], "stream", 0);
  return result;
}

// Figures

template <class Of>
std::vector<double> sorted(const std::vector<measurement>& all, Of of) {
  std::vector<double> values;
  for (const auto& each : all) values.push_back(of(each));
  std::sort(values.begin(), values.end());
  return values;
}

double median(const std::vector<double>& values) { return values[values.size() / 2]; }

const measurement& middle(std::vector<measurement>& all) {
  const auto at = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), at, all.end(), [](const auto& a, const auto& b) { return a.wall < b.wall; });
  return *at;
}

/// Round by round, so that what troubles the machine for longer than a round troubles both.
void print_ratio(std::string_view name, const std::vector<measurement>& above, const std::vector<measurement>& below,
                 std::string_view aim) {
  std::vector<double> wall, cpu;
  for (std::size_t i = 0; i < above.size(); ++i) {
    wall.push_back(above[i].wall / below[i].wall);
    cpu.push_back(above[i].cpu / below[i].cpu);
  }
  std::sort(wall.begin(), wall.end());
  std::sort(cpu.begin(), cpu.end());
  fmt::print("{:<44} {:.3f} ({:.3f} to {:.3f}) by wall time, {:.3f} by CPU time{}\n", name, median(wall), wall.front(),
             wall.back(), median(cpu), aim);
}

void print_conversations(std::string_view name, std::vector<measurement> all, const settings& wanted) {
  const auto walls = sorted(all, [](const auto& each) { return each.wall; });
  const auto& one = middle(all);
  const auto restored = one.jobs - static_cast<std::int64_t>(one.stats.spilled);
  fmt::print(
      "{:<22} {:>6.2f} ({:.2f} to {:.2f})  {:>6.2f}  {:>6.1f}  {:>5.2f}  {:>6}  {:>7}  {:>8}  {:>9.1f}  {:>8.2f}\n",
      name, one.wall, walls.front(), walls.back(), one.cpu, wanted.answers() / one.wall,
      static_cast<double>(one.stats.rows) / static_cast<double>(one.stats.steps), one.stats.tokens, one.stats.parked,
      fmt::format("{}/{}", one.stats.spilled, restored), static_cast<double>(one.moved) / (1 << 20),
      one.jobs == 0 ? 0 : one.transfer_seconds * 1000 / static_cast<double>(one.jobs));
}

void run_conversations(const std::shared_ptr<const cogen::model>& model, const settings& wanted) {
  const auto alone = conversations_alone(model, wanted);
  fmt::print(
      "{} conversations of {} turns ({} tokens said, {} answered), thinking {} ms before each; memory for {} of {} "
      "tokens, {:.1f} MiB each; patience {} ms\n",
      wanted.conversations, wanted.turns, wanted.said, wanted.answered, wanted.think_ms, wanted.room, wanted.length(),
      static_cast<double>(alone.bytes) / (1 << 20), wanted.patience_ms);
  std::vector<measurement> roomy, pressed, again;
  for (int i = 0; i < wanted.rounds; ++i) {
    roomy.push_back(converse_within(model, wanted, alone, memory::for_all));
    pressed.push_back(converse_within(model, wanted, alone, memory::for_few));
    again.push_back(converse_within(model, wanted, alone, memory::for_few_without_spilling));
  }
  fmt::print(
      "memory for              wall s (spread)        CPU s   tok/s  batch  tokens   parked  out/back  MiB moved  "
      "ms each\n");
  print_conversations("all", roomy, wanted);
  print_conversations("few, spilled", pressed, wanted);
  print_conversations("few, run again", again, wanted);
  print_ratio("share of the speed, spilled", roomy, pressed, "; aim: 0.700 or more");
  print_ratio("share of the speed, run again", roomy, again, "");
  print_ratio("what spilling gains over running again", again, pressed, "");
  fmt::print("Every conversation says what it says alone.\n\n");
  std::fflush(stdout);
}

void run_streams(const std::shared_ptr<const cogen::model>& model, const settings& wanted) {
  const auto alone = streams_alone(model, wanted);
  fmt::print("{} streams of {} tokens beside one whose reader has stopped\n", others, wanted.stream_tokens);
  std::vector<measurement> without, beside, displacing;
  for (int i = 0; i < wanted.rounds; ++i) {
    without.push_back(read_beside(model, wanted, alone, slow_one::absent));
    beside.push_back(read_beside(model, wanted, alone, slow_one::in_its_slot));
    displacing.push_back(read_beside(model, wanted, alone, slow_one::in_a_wanted_slot));
  }
  const auto print = [](std::string_view name, const std::vector<measurement>& all) {
    const auto walls = sorted(all, [](const auto& each) { return each.wall; });
    fmt::print("{:<44} {:.3f} s ({:.3f} to {:.3f})\n", name, median(walls), walls.front(), walls.back());
  };
  print("without it", without);
  print("beside it", beside);
  print("beside it, its slot wanted", displacing);
  print_ratio("beside it / without it", beside, without, "; aim: 1.020 or less");
  print_ratio("beside it, its slot wanted / without it", displacing, without, "");
  fmt::print("Every stream says what it says alone.\n");
}

std::optional<settings> parse(int argc, char** argv) {
  settings wanted{};
  po::options_description options(
      "Measures what is left of the speed where conversations share memory for a few of them, and where one of sixteen "
      "streams is not read. Fails where a token differs from what is said alone.\n\nOptions");
  auto add = options.add_options();
  add("help", "show this and end");
  add("model", po::value(&wanted.model)->default_value(COGEN_DEFAULT_MODEL), "a GGUF file or a Hugging Face folder");
  add("conversations", po::value(&wanted.conversations)->default_value(32), "how many at the same time");
  add("room", po::value(&wanted.room)->default_value(4), "how many of them memory is for");
  add("turns", po::value(&wanted.turns)->default_value(3), "of each conversation");
  add("said", po::value(&wanted.said)->default_value(32), "tokens said to the model in a turn");
  add("answered", po::value(&wanted.answered)->default_value(16), "tokens it answers");
  add("think-ms", po::value(&wanted.think_ms)->default_value(2000), "mean time before a turn");
  add("patience-ms", po::value(&wanted.patience_ms)->default_value(50), "engine_options.patience");
  add("stream-tokens", po::value(&wanted.stream_tokens)->default_value(64),
      "length of each stream beside the slow one");
  add("rounds", po::value(&wanted.rounds)->default_value(3), "runs of each, by turns");
  add("threads", po::value(&wanted.threads)->default_value(0), "threads that compute; 0: all");
  add("quick", po::bool_switch(&wanted.quick), "one round of shorter ones");
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, options), given);
  po::notify(given);
  if (given.contains("help")) {
    std::ostringstream text;
    text << options;
    fmt::print("{}", text.str());
    return std::nullopt;
  }
  if (wanted.quick) wanted.turns = 2, wanted.answered = 6, wanted.stream_tokens = 24, wanted.rounds = 1;
  if (std::min({wanted.conversations, wanted.room, wanted.turns, wanted.said, wanted.answered, wanted.rounds}) < 1)
    throw std::invalid_argument("every count must be at least 1");
  if (wanted.stream_tokens <= ahead)
    throw std::invalid_argument(
        fmt::format("--stream-tokens is {}; it must be above {}, the lookahead", wanted.stream_tokens, ahead));
  if (std::min(wanted.think_ms, wanted.patience_ms) < 0) throw std::invalid_argument("times must be at least 0");
  return wanted;
}

int run(const settings& wanted) {
  cogen::load_options loading;
  loading.threads = wanted.threads;
  const auto model = cogen::load_model(wanted.model, loading);
  run_conversations(model, wanted);
  run_streams(model, wanted);
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const auto wanted = parse(argc, argv);
  return wanted ? run(*wanted) : 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "pressure: {}\n", e.what());
  return 1;
}
