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
  client(subject& all, tally& counts, unsigned seed, net::any_io_executor on)
      : all_(all), counts_(counts), random_(seed), timer_(on), alarm_(std::make_shared<alarm>(on)) {}

  net::awaitable<void> act(deed what) {
    switch (what) {
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

  net::awaitable<void> pause(int most_microseconds) {
    timer_.expires_after(microseconds(below(static_cast<std::size_t>(most_microseconds) + 1)));
    co_await timer_.async_wait(net::use_awaitable);
  }

 private:
  /// Cancels what goes on when the time has come. Shared with the timer's handler, which may come late.
  struct alarm {
    explicit alarm(net::any_io_executor on) : timer(on) {}
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
  const story& any_story() { return all_.stories[below(all_.stories.size())]; }

  reading any_stream() {
    const story& chosen = any_story();
    const auto ahead = below(6);
    auto wanted = request{.prompt = token_ids(chosen.prompt),
                          .max_tokens = static_cast<int>(chosen.continuation.size()),
                          .ignore_eos = true,
                          .max_buffered_tokens = static_cast<int>(ahead)};
    return {all_.running->generate(std::move(wanted)), &chosen, ahead};
  }

  void found_wrong(const char* what) {
    ++counts_.wrong;
    std::fprintf(stderr, "wrong: %s\n", what);
  }

  void check(bool right, const char* what) {
    if (!right) found_wrong(what);
  }

  void count_refusal() {
    ++counts_.refused;
    refused_ = true;
  }

  /// Whether an operation went well. It may be refused, and nothing else.
  bool well(error_code code, const char* what) {
    ++counts_.answered;
    if (code == make_error_code(error::queue_full))
      count_refusal();
    else if (code)
      found_wrong(what);
    return !code;
  }

  void compare(const story& expected, std::size_t& at, token seen) {
    check(at < expected.continuation.size() && expected.continuation[at] == seen, "a token differs");
    ++at;
    ++counts_.tokens;
  }

  void take(reading& of, const piece& next) {
    for (const auto& each : next.tokens) compare(*of.expected, of.read, each.id);
  }

  /// False at the end, or where it was refused.
  net::awaitable<bool> read_one(reading& of) {
    ++counts_.asked;
    const auto [code, next] = co_await of.stream.async_next(answer);
    if (!well(code, "a read failed")) co_return false;
    if (next)
      take(of, *next);
    else
      check(of.read == of.expected->continuation.size() || of.stream.finish() == finish_reason::aborted,
            "a stream ended early");
    co_return next.has_value();
  }

  bool is_held_up(const reading& of) const {
    const auto generated = static_cast<std::size_t>(of.stream.usage().generated_tokens);
    return of.ahead > 0 && generated == of.read + of.ahead && generated < of.expected->continuation.size();
  }

  net::awaitable<void> read(reading of, int most_microseconds) {
    while (co_await read_one(of))
      if (most_microseconds > 0 && below(4) == 0) {
        co_await pause(most_microseconds);
        if (is_held_up(of)) ++counts_.held_up;
      }
  }

  void set_alarm() {
    alarm_->timer.expires_after(microseconds(below(300)));
    alarm_->timer.async_wait([shared = alarm_](error_code code) {
      if (!code) shared->signal.emit(net::cancellation_type::total);
    });
  }

  net::awaitable<void> read_and_cancel(reading of) {
    for (bool more = true; more;) {
      set_alarm();
      ++counts_.asked;
      const auto [code, next] =
          co_await of.stream.async_next(net::bind_cancellation_slot(alarm_->signal.slot(), answer));
      alarm_->timer.cancel();
      if (code == net::error::operation_aborted) {
        ++counts_.answered;
        ++counts_.cancelled;
        continue;
      }
      more = well(code, "a read failed") && next;
      if (more)
        take(of, *next);
      else if (!code)
        check(of.read == of.expected->continuation.size(), "a cancelled wait lost tokens");
    }
  }

  net::awaitable<void> stop(reading of) {
    for (auto left = below(12); left > 0; --left)
      if (!co_await read_one(of)) co_return;
    of.stream.stop();
    while (co_await read_one(of)) continue;
  }

  net::awaitable<void> drop(reading of) {
    for (auto left = below(12); left > 0; --left)
      if (!co_await read_one(of)) co_return;
    if (below(3) == 0) co_await pause(1000);
  }

  net::awaitable<bool> decode(sequence& place, const std::vector<token>& fed, const story& expected, std::size_t& at) {
    ++counts_.asked;
    const auto [code, chosen] = co_await place.async_decode(fed, {}, answer);
    if (!well(code, "a decode failed")) co_return false;
    compare(expected, at, chosen.id);
    co_return true;
  }

  /// Whether it came to the end.
  net::awaitable<bool> decode_all(sequence& place, const story& expected, std::size_t at) {
    while (at < expected.continuation.size())
      if (!co_await decode(place, {}, expected, at)) co_return false;
    co_return true;
  }

  net::awaitable<void> fork() {
    const story& expected = any_story();
    auto parent = all_.running->open();
    std::size_t at = 0;
    if (!co_await decode(parent, expected.prompt, expected, at)) co_return;
    auto child = parent.fork();
    if (below(3) > 0) co_await decode_all(parent, expected, at);
    if (below(3) > 0 && co_await decode_all(child, expected, at)) ++counts_.forked;
  }

  net::awaitable<void> idle() {
    const story& expected = any_story();
    auto place = all_.running->open();
    std::size_t at = 0;
    if (!co_await decode(place, expected.prompt, expected, at)) co_return;
    while (at < expected.continuation.size()) {
      if (below(4) == 0) co_await pause(10000);
      if (!co_await decode(place, {}, expected, at)) co_return;
    }
  }

  request nonsense() {
    switch (below(5)) {
      case 0:
        return {.prompt = token_ids{all_.vocabulary}};
      case 1:
        return {.prompt = token_ids{}};
      case 2:
        return {.prompt = token_ids{1}, .max_tokens = -1};
      case 3:
        return {.prompt = token_ids{1}, .sampling = {.temperature = std::numeric_limits<double>::quiet_NaN()}};
      default:
        return {.prompt = token_ids(static_cast<std::size_t>(all_.max_sequence_length), 1)};
    }
  }

  net::awaitable<void> ask_for_nonsense() {
    auto stream = all_.running->generate(nonsense());
    ++counts_.asked;
    const auto [code, next] = co_await stream.async_next(answer);
    ++counts_.answered;
    if (code == make_error_code(error::queue_full)) co_return count_refusal();
    check(code == make_error_code(error::invalid_request) || code == make_error_code(error::does_not_fit),
          "nonsense was not refused");
    check(!stream.error().message().empty(), "nonsense was refused without a word");
  }

  subject& all_;
  tally& counts_;
  bool refused_ = false;
  std::minstd_rand random_;
  net::steady_timer timer_;
  std::shared_ptr<alarm> alarm_;
};

}  // namespace

std::uint64_t tally::deeds() const { return std::accumulate(done.begin(), done.end(), std::uint64_t{0}); }

net::awaitable<void> live(subject& all, tally& counts, unsigned seed) {
  client one(all, counts, seed, co_await net::this_coro::executor);
  while (!counts.over) {
    const deed next = one.any_deed();
    co_await one.act(next);
    if (one.was_refused())
      co_await one.pause(3000);
    else
      ++counts.done[static_cast<std::size_t>(next)];
  }
}

}  // namespace cogen::soak
