#include "streams.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include <optional>
#include <thread>

namespace pressure {
namespace {

constexpr int companions = 15;
constexpr int stream_prompt = 32;

cogen::request stream_request(int number, std::int64_t vocabulary, int count) {
  return {.prompt = some_tokens(7000 + number, stream_prompt, vocabulary),
          .max_tokens = count,
          .ignore_eos = true,
          .max_buffered_tokens = ahead};
}

net::awaitable<void> read(cogen::token_stream& stream, tokens& output) {
  while (auto piece = co_await stream.async_next())
    for (const auto& each : piece->tokens) output.push_back(each.id);
}

/// Streams `first` and those after it, as many as `read_into` has room for.
void read_all(cogen::engine& engine, std::int64_t vocabulary, const settings& wanted, int first,
              std::vector<tokens>& read_into) {
  net::io_context context;
  std::vector<cogen::token_stream> streams;
  for (std::size_t i = 0; i < read_into.size(); ++i)
    streams.push_back(engine.generate(stream_request(first + static_cast<int>(i), vocabulary, wanted.stream_tokens)));
  for (std::size_t i = 0; i < read_into.size(); ++i) net::co_spawn(context, read(streams[i], read_into[i]), rethrow);
  context.run();
}

/// Stream 0 is the slow one's.
std::vector<tokens> streams_alone(const model_pointer& model, const settings& wanted) {
  cogen::engine engine(model, base(wanted, 1, stream_prompt + wanted.stream_tokens));
  std::vector<tokens> result;
  for (int i = 0; i <= companions; ++i) {
    std::vector<tokens> outputs(1);
    read_all(engine, model->config().vocabulary, wanted, i, outputs);
    result.push_back(std::move(outputs.front()));
  }
  return result;
}

enum class slow_one { absent, in_its_slot, in_a_wanted_slot };

/// The time of the others, from when the slow one has stopped. Where it is absent, the engine has run as many tokens
/// before.
measurement read_beside(const model_pointer& model, const settings& wanted, const std::vector<tokens>& alone,
                        slow_one beside) {
  const auto vocabulary = model->config().vocabulary;
  const int slots = beside == slow_one::in_a_wanted_slot ? companions : companions + 1;
  cogen::engine engine(model, base(wanted, slots, stream_prompt + wanted.stream_tokens));
  std::optional<cogen::token_stream> slow;
  slow = engine.generate(stream_request(0, vocabulary, beside == slow_one::absent ? ahead : wanted.stream_tokens));
  while (slow->usage().generated_tokens < ahead) std::this_thread::sleep_for(milliseconds(1));
  if (beside == slow_one::absent) slow.reset();
  std::vector<tokens> brisk(companions);
  const auto result = timed(engine, [&] { read_all(engine, vocabulary, wanted, 1, brisk); });
  for (std::size_t i = 0; i < companions; ++i) check_same(brisk[i], alone[i + 1], "stream", i + 1);
  if (!slow) return result;
  tokens late;
  net::io_context context;
  net::co_spawn(context, read(*slow, late), rethrow);
  context.run();
  check_same(late, alone[0], "stream", 0);
  return result;
}

}  // namespace

void run_streams(const model_pointer& model, const settings& wanted) {
  const auto alone = streams_alone(model, wanted);
  fmt::print("{} streams of {} tokens beside one whose reader has stopped\n", companions, wanted.stream_tokens);
  const auto with = [&](slow_one beside) { return [&, beside] { return read_beside(model, wanted, alone, beside); }; };
  const auto results =
      by_turns(wanted, {with(slow_one::absent), with(slow_one::in_its_slot), with(slow_one::in_a_wanted_slot)});
  const auto &without = results[0], &beside = results[1], &displacing = results[2];
  const auto print = [](std::string_view name, const std::vector<measurement>& some) {
    const auto times = walls(some);
    fmt::print("{:<44} {:.3f} s ({:.3f} to {:.3f})\n", name, median(times), times.front(), times.back());
  };
  print("without it", without);
  print("beside it", beside);
  print("beside it, its slot wanted", displacing);
  print_ratio("beside it / without it", beside, without, "; aim: 1.020 or less");
  print_ratio("beside it, its slot wanted / without it", displacing, without, "");
  fmt::print("Every stream says what it says alone.\n");
}

}  // namespace pressure
