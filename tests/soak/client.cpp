#include "client.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <cstdio>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

namespace cogen::soak {
namespace {

using std::chrono::microseconds;

constexpr auto answer = net::as_tuple(net::use_awaitable);

class client {
 public:
  client(subject& setup, tally& counts, unsigned seed, net::any_io_executor executor)
      : setup_(setup), counts_(counts), random_(seed), timer_(executor), alarm_(std::make_shared<alarm>(executor)) {}

  net::awaitable<void> act(deed action) {
    switch (action) {
      case deed::read:
        return read(any_stream(), 0);
      case deed::dawdle:
        return read(any_stream(), 30000);
      case deed::cancel:
        return read_and_cancel(any_stream());
      case deed::stop:
        return stop(any_stream());
      case deed::drop:
        return drop(any_stream());
      case deed::fork:
        return fork();
      case deed::idle:
        return idle();
      case deed::ask_for_nonsense:
        return ask_for_nonsense();
    }
    throw std::logic_error("no such deed");
  }

  deed any_deed() { return static_cast<deed>(below(deed_names.size())); }

  /// Whether the engine was full since this was last asked.
  bool was_refused() { return std::exchange(refused_, false); }

  net::awaitable<void> pause(int max_microseconds) {
    timer_.expires_after(microseconds(below(static_cast<std::size_t>(max_microseconds) + 1)));
    co_await timer_.async_wait(net::use_awaitable);
  }

 private:
  /// Cancels what goes on when the time has come. Shared with the timer's handler, which may come late.
  struct alarm {
    explicit alarm(net::any_io_executor executor) : timer(executor) {}
    net::cancellation_signal signal;
    net::steady_timer timer;
  };

  struct reading {
    token_stream stream;
    const story* expected;
    std::size_t ahead;
    std::size_t read = 0;
  };

  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }
  const story& any_story() { return setup_.stories[below(setup_.stories.size())]; }

  reading any_stream() {
    const story& chosen = any_story();
    const auto ahead = below(6);
    auto wanted = request{.prompt = token_ids(chosen.prompt),
                          .max_tokens = static_cast<int>(chosen.continuation.size()),
                          .ignore_eos = true,
                          .max_buffered_tokens = static_cast<int>(ahead)};
    return {setup_.running->generate(std::move(wanted)), &chosen, ahead};
  }

  void found_wrong(const char* message) {
    ++counts_.wrong;
    std::fprintf(stderr, "wrong: %s\n", message);
  }

  void check(bool right, const char* message) {
    if (!right) found_wrong(message);
  }

  void count_refusal() {
    ++counts_.refused;
    refused_ = true;
  }

  /// Whether an operation went well. It may be refused, and nothing else.
  bool well(error_code code, const char* message) {
    ++counts_.answered;
    if (code == make_error_code(error::queue_full))
      count_refusal();
    else if (code)
      found_wrong(message);
    return !code;
  }

  void compare(const story& expected, std::size_t& position, token seen) {
    check(position < expected.continuation.size() && expected.continuation[position] == seen, "a token differs");
    ++position;
    ++counts_.tokens;
  }

  void take(reading& state, const piece& next) {
    for (const auto& each : next.tokens) compare(*state.expected, state.read, each.id);
  }

  /// False at the end, or where it was refused.
  net::awaitable<bool> read_one(reading& state) {
    ++counts_.asked;
    const auto [code, next] = co_await state.stream.async_next(answer);
    if (!well(code, "a read failed")) co_return false;
    if (next)
      take(state, *next);
    else
      check(state.read == state.expected->continuation.size() || state.stream.finish() == finish_reason::aborted,
            "a stream ended early");
    co_return next.has_value();
  }

  bool is_held_up(const reading& state) const {
    const auto generated = static_cast<std::size_t>(state.stream.usage().generated_tokens);
    return state.ahead > 0 && generated == state.read + state.ahead && generated < state.expected->continuation.size();
  }

  net::awaitable<void> read(reading state, int max_microseconds) {
    while (co_await read_one(state))
      if (max_microseconds > 0 && below(4) == 0) {
        co_await pause(max_microseconds);
        if (is_held_up(state)) ++counts_.held_up;
      }
  }

  void set_alarm() {
    alarm_->timer.expires_after(microseconds(below(300)));
    alarm_->timer.async_wait([shared = alarm_](error_code code) {
      if (!code) shared->signal.emit(net::cancellation_type::total);
    });
  }

  net::awaitable<void> read_and_cancel(reading state) {
    for (bool more = true; more;) {
      set_alarm();
      ++counts_.asked;
      const auto [code, next] =
          co_await state.stream.async_next(net::bind_cancellation_slot(alarm_->signal.slot(), answer));
      alarm_->timer.cancel();
      if (code == net::error::operation_aborted) {
        ++counts_.answered;
        ++counts_.cancelled;
        continue;
      }
      more = well(code, "a read failed") && next;
      if (more)
        take(state, *next);
      else if (!code)
        check(state.read == state.expected->continuation.size(), "a cancelled wait lost tokens");
    }
  }

  net::awaitable<void> stop(reading state) {
    for (auto left = below(12); left > 0; --left)
      if (!co_await read_one(state)) co_return;
    state.stream.stop();
    while (co_await read_one(state)) continue;
  }

  net::awaitable<void> drop(reading state) {
    for (auto left = below(12); left > 0; --left)
      if (!co_await read_one(state)) co_return;
    if (below(3) == 0) co_await pause(1000);
  }

  net::awaitable<bool> decode(sequence& place, const std::vector<token>& fed, const story& expected,
                              std::size_t& position) {
    ++counts_.asked;
    const auto [code, chosen] = co_await place.async_decode(fed, {}, answer);
    if (!well(code, "a decode failed")) co_return false;
    compare(expected, position, chosen.id);
    co_return true;
  }

  /// Whether it came to the end.
  net::awaitable<bool> decode_all(sequence& place, const story& expected, std::size_t position) {
    while (position < expected.continuation.size())
      if (!co_await decode(place, {}, expected, position)) co_return false;
    co_return true;
  }

  net::awaitable<void> fork() {
    const story& expected = any_story();
    auto parent = setup_.running->open();
    std::size_t position = 0;
    if (!co_await decode(parent, expected.prompt, expected, position)) co_return;
    auto child = parent.fork();
    if (below(3) > 0) co_await decode_all(parent, expected, position);
    if (below(3) > 0 && co_await decode_all(child, expected, position)) ++counts_.forked;
  }

  net::awaitable<void> idle() {
    const story& expected = any_story();
    auto place = setup_.running->open();
    std::size_t position = 0;
    if (!co_await decode(place, expected.prompt, expected, position)) co_return;
    while (position < expected.continuation.size()) {
      if (below(4) == 0) co_await pause(10000);
      if (!co_await decode(place, {}, expected, position)) co_return;
    }
  }

  request nonsense() {
    switch (below(5)) {
      case 0:
        return {.prompt = token_ids{setup_.vocabulary}};
      case 1:
        return {.prompt = token_ids{}};
      case 2:
        return {.prompt = token_ids{1}, .max_tokens = -1};
      case 3:
        return {.prompt = token_ids{1}, .sampling = {.temperature = std::numeric_limits<double>::quiet_NaN()}};
      default:
        return {.prompt = token_ids(static_cast<std::size_t>(setup_.max_sequence_length), 1)};
    }
  }

  net::awaitable<void> ask_for_nonsense() {
    auto stream = setup_.running->generate(nonsense());
    ++counts_.asked;
    const auto [code, next] = co_await stream.async_next(answer);
    ++counts_.answered;
    if (code == make_error_code(error::queue_full)) co_return count_refusal();
    check(code == make_error_code(error::invalid_request) || code == make_error_code(error::does_not_fit),
          "nonsense was not refused");
    check(!stream.error().message().empty(), "nonsense was refused without a word");
  }

  subject& setup_;
  tally& counts_;
  bool refused_ = false;
  std::minstd_rand random_;
  net::steady_timer timer_;
  std::shared_ptr<alarm> alarm_;
};

}  // namespace

std::uint64_t tally::deeds() const { return std::accumulate(done.begin(), done.end(), std::uint64_t{0}); }

net::awaitable<void> live(subject& setup, tally& counts, unsigned seed) {
  client actor(setup, counts, seed, co_await net::this_coro::executor);
  while (!counts.over) {
    const deed next = actor.any_deed();
    co_await actor.act(next);
    if (actor.was_refused())
      co_await actor.pause(3000);
    else
      ++counts.done[static_cast<std::size_t>(next)];
  }
}

}  // namespace cogen::soak
