#include "lengths.hpp"

#include <cogen/policy.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <random>

namespace pressure {
namespace {

constexpr int prompt = 32;
constexpr int may_come_to = 512;

/// The length of each answer, unknown to the engine.
std::vector<int> ends(const settings& wanted) {
  std::minstd_rand random(7);
  std::uniform_int_distribution<int> length(8, 2 * wanted.stream_tokens);
  std::vector<int> lengths;
  for (int i = 0; i < wanted.conversations; ++i) lengths.push_back(length(random));
  return lengths;
}

net::awaitable<void> read(cogen::engine& engine, std::int64_t vocabulary, int number, int count, tokens& said) {
  auto stream = engine.generate({.prompt = some_tokens(number, prompt, vocabulary),
                                 .max_tokens = may_come_to - prompt,
                                 .ignore_eos = true,
                                 .max_buffered_tokens = 1});
  while (static_cast<int>(said.size()) < count) {
    const auto piece = co_await stream.async_next();
    for (const auto& each : piece->tokens)
      if (static_cast<int>(said.size()) < count) said.push_back(each.id);
  }
}

std::vector<tokens> read_all(cogen::engine& engine, std::int64_t vocabulary, const std::vector<int>& lengths) {
  net::io_context context;
  std::vector<tokens> said(lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i)
    net::co_spawn(context, read(engine, vocabulary, static_cast<int>(i), lengths[i], said[i]), rethrow);
  context.run();
  return said;
}

std::vector<tokens> read_alone(const model_pointer& model, const settings& wanted, const std::vector<int>& lengths) {
  cogen::engine engine(model, base(wanted, 1, may_come_to));
  return read_all(engine, model->config().vocabulary, lengths);
}

measurement read_within(const model_pointer& model, const settings& wanted, const std::vector<int>& lengths,
                        const std::vector<tokens>& alone, std::int64_t bytes, bool grow) {
  auto options = base(wanted, wanted.conversations, may_come_to);
  options.kv.bytes = bytes;
  if (grow) options.policies.allocation = [] { return cogen::scheduler::watermarks({.step = 64}); };
  cogen::engine engine(model, options);
  std::vector<tokens> said;
  auto result = timed(engine, [&] { said = read_all(engine, model->config().vocabulary, lengths); });
  for (std::size_t i = 0; i < said.size(); ++i) check_same(said[i], alone[i], "request", i);
  return result;
}

void print_lengths(std::string_view name, const std::vector<measurement>& runs, int answered) {
  const auto times = walls(runs);
  const auto& stats = runs.front().stats;
  fmt::print("{:<22} {:>6.2f} ({:.2f} to {:.2f})  {:>6.1f}  {:>5.2f}  {:>4}  {:>6}\n", name, median(times),
             times.front(), times.back(), answered / median(times),
             static_cast<double>(stats.rows) / static_cast<double>(stats.steps), stats.peak_rows, stats.preempted);
}

}  // namespace

void run_lengths(const model_pointer& model, const settings& wanted) {
  const auto lengths = ends(wanted);
  const auto alone = read_alone(model, wanted, lengths);
  const auto cache = model->make_cache({.slots = 1, .max_sequence_length = may_come_to});
  const auto bytes = wanted.room * cache.footprint(may_come_to);
  int answered = 0;
  for (const int each : lengths) answered += each;
  fmt::print(
      "{} requests that may come to {} tokens and answer {} on average; memory for {} of {} tokens, {:.1f} MiB\n",
      lengths.size(), may_come_to, answered / wanted.conversations, wanted.room, may_come_to,
      static_cast<double>(bytes) / (1 << 20));
  const auto within = [&](bool grow) {
    return [&, grow] { return read_within(model, wanted, lengths, alone, bytes, grow); };
  };
  const auto results = by_turns(wanted, {within(false), within(true)});
  fmt::print("memory set aside        wall s (spread)       tok/s  batch  most  preempted\n");
  print_lengths("for the whole length", results[0], answered);
  print_lengths("as they grow", results[1], answered);
  print_ratio("what growing gains", results[0], results[1], "");
  fmt::print("Every request says what it says alone.\n\n");
  std::fflush(stdout);
}

}  // namespace pressure
