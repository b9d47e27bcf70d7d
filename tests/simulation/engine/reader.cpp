#include "simulation/engine/reader.hpp"

#include <algorithm>
#include <iterator>

namespace cogen::engine_simulation {
namespace {

using type = net::cancellation_type;

stream_event stream_event_of(misfortune event) {
  switch (event) {
    case misfortune::engine_stopped:
      return stream_event::engine_stopped;
    case misfortune::engine_destroyed:
      return stream_event::engine_destroyed;
    default:
      return stream_event::device_failed;
  }
}

}  // namespace

reader::reader(world& stage, std::string name, net::any_io_executor where, reading planned, int dawdles)
    : client(stage, std::move(name), std::move(where)),
      reading_(std::move(planned)),
      dawdles_(dawdles),
      born_(stage.rounds()) {
  stream_.emplace(stage.running()->generate(reading_.asked));
}

// What it does

net::awaitable<void> reader::live() {
  while (!over()) {
    auto chance = co_await turn();
    if (!over()) co_await act(chance);
  }
  while (seconds_ > 0) co_await turn();
}

net::awaitable<void> reader::act(random& chance) {
  const int weights[] = {dawdles_, 60, 12, 8, 3, 3, 10, stage_.setup().misfortunes && !stage_.closing() ? 1 : 0};
  switch (chance.weighted(weights)) {
    case 0:
      co_return;
    case 1:
      for (int n = chance.between(1, 8); n > 0 && !over(); --n) co_await next(chance, std::nullopt);
      co_return;
    case 2:
      co_return co_await next(chance, std::chrono::microseconds(chance.between(0, 3000)));
    case 3:
      co_return co_await complete(chance);
    case 4:
      co_return stop();
    case 5:
      co_return destroy();
    case 6:
      for (int n = chance.between(1, 8); n > 0 && !over(); --n) co_await watch();
      co_return;
    default:
      stage_.seen().visit(feature::stopped_in_handler);
      co_return stage_.befall(misfortune::engine_stopped);
  }
}

net::awaitable<void> reader::next(random& chance, std::optional<clock::duration> limit) {
  visit(limit ? stream_event::next_for : stream_event::next);
  stage_.say("{}: next{}", name(), limit ? fmt::format(" for {} us", limit->count() / 1000) : "");
  const bool leaves = chance.chance(2);
  limit_ = limit ? std::optional(stage_.now() + *limit) : std::nullopt;
  waited_at_ = current_state();
  beside_second_ = seconds_ > 0;
  const auto start = [this, limit](auto handler) {
    if (limit)
      stream_->async_next_for(*limit, std::move(handler));
    else
      stream_->async_next(std::move(handler));
  };
  const auto heard = co_await wait_for<std::optional<piece>>(start);
  hear(heard.code, heard.value);
  if (!leaves || over()) co_return;
  stage_.seen().visit(feature::destroyed_in_handler);
  destroy();
}

net::awaitable<void> reader::complete(random& chance) {
  visit(stream_event::complete);
  stage_.say("{}: complete", name());
  const bool leaves = chance.chance(5);
  gathered_ = true;
  beside_second_ = seconds_ > 0;
  const auto start = [this](auto handler) { stream_->async_complete(std::move(handler)); };
  const auto heard = co_await wait_for<completion>(start);
  hear(heard.code, heard.value);
  if (leaves && !over()) destroy();
}

net::awaitable<void> reader::watch() {
  visit(stream_event::progress);
  stage_.say("{}: progress", name());
  const auto start = [this](auto handler) { stream_->async_prompt_progress(std::move(handler)); };
  const auto heard = co_await wait_for<std::optional<prompt_progress>>(start);
  hear(heard.code, heard.value);
}

void reader::stop() {
  visit(stream_event::stop);
  stage_.say("{}: stop", name());
  stop_asked_ |= !stream_->ended();
  stream_->stop();
}

void reader::destroy() {
  visit(stream_event::destroy);
  stage_.say("{}: destroys its stream", name());
  stream_.reset();
}

/// An operation beside the one that is pending: refused, or taken for the next one where that has just ended.
void reader::second() {
  visit(stream_event::second);
  stage_.say("{}: a second operation", name());
  ++seconds_;
  stream_->async_next(net::bind_executor(
      executor(), [self = shared_from_this(), this](error_code code, const std::optional<piece>& heard) {
        try {
          hear(code, heard);
          --seconds_;
        } catch (...) {
          stage_.blame(std::current_exception());
        }
      }));
}

void reader::interfere(random& chance) {
  if (!stream_) return;
  const int weights[] = {4, 4, 4, 1, 1, pending() > 0 ? 4 : 0};
  switch (chance.weighted(weights)) {
    case 0:
      visit(stream_event::total);
      return cancel(type::total);
    case 1:
      visit(stream_event::partial);
      return cancel(type::partial);
    case 2:
      visit(stream_event::terminal);
      return cancel(type::terminal);
    case 3:
      return stop();
    case 4:
      return destroy();
    default:
      return second();
  }
}

void reader::meet(misfortune event) {
  if (stream_) visit(stream_event_of(event));
}

// What it hears

void reader::hear(error_code code, const std::optional<piece>& heard) {
  stage_.say("{}: hears {}{}", name(),
             code    ? code.message()
             : heard ? "a piece"
                     : "the end",
             heard ? fmt::format(" {}", stage_.spoken().first_name(heard->tokens.front().id)) : "");
  if (code == error::timed_out) {
    require(limit_ && stage_.now() >= *limit_, "it timed out before its time");
    return stage_.seen().visit(waited_at_, stream_event::timed_out);
  }
  if (is_excused(code)) return;
  if (code) {
    heard_end_ = true;
    return hear_failure(code);
  }
  require(!cancelled() || seconds_ > 0, "it was cancelled, and is given what it may lose");
  if (heard) return take(heard->tokens);
  heard_end_ = true;
  if (stream_) hear_end(*stream_->finish(), stream_->usage());
}

void reader::hear(error_code code, const completion& heard) {
  stage_.say("{}: hears {}, {} tokens, {}", name(), code.message(), heard.tokens.size(), to_string(heard.reason));
  if (is_excused(code)) return;
  if (code) return hear_failure(code);  // what came before is still there to be read
  require(!cancelled(type::terminal), "it was cancelled, and is given what it may lose");
  take(heard.tokens);
  const bool part = heard.reason == finish_reason::aborted && (cancelled(type::partial) || cancelled(type::total));
  if (part) stage_.seen().visit(feature::part_of_a_completion);
  if (part)
    return require(heard.usage.generated_tokens == static_cast<int>(read_.size()), "a part is not all there was");
  heard_end_ = true;
  hear_end(heard.reason, heard.usage);
}

void reader::hear(error_code code, const std::optional<prompt_progress>& heard) {
  stage_.say("{}: hears {}, {} tokens of its prompt are read", name(), code.message(), heard ? heard->processed : -1);
  if (is_excused(code)) return;
  if (code) return hear_failure(code);  // what came before is still there to be read
  require(!cancelled(), "it was cancelled, and is given what it may lose");
  const int total = static_cast<int>(reading_.parts.prompt.size());
  if (!heard) {
    const bool complete = progress_ && progress_->processed == total;
    return require(complete || !stream_ || stream_->ended(), "it hears no more of its prompt, which is not read");
  }
  require(heard->total == total, "its prompt is miscounted");
  require(heard->cached <= heard->processed && heard->processed <= total, "more of its prompt is read than there is");
  require(!progress_ || (progress_->cached == heard->cached && progress_->processed < heard->processed &&
                         progress_->time <= heard->time),
          "the reading of its prompt goes back");
  check_cached(heard->cached);
  progress_ = heard;
}

void reader::take(std::span<const sampled_token> tokens) {
  require(!heard_end_ || tokens.empty(), "there is more after the end");
  for (const auto& each : tokens) {
    const auto& expected = reading_.expected.tokens;
    require(read_.size() < expected.size(), "it is given more than it would be alone");
    require(each.id == expected[read_.size()],
            fmt::format("token {} is {}; alone it would be {}", read_.size(), each.id, expected[read_.size()]));
    read_.push_back(each.id);
  }
}

void reader::hear_end(finish_reason reason, const usage& used) {
  const auto& expected = reading_.expected;
  if (reason == finish_reason::aborted) {
    require(stop_asked_, "it was stopped and had not asked for that");
    stage_.seen().visit(feature::stopped);
  } else {
    require(reason == expected.reason && !expected.code,
            fmt::format("it ended for {}; alone for {}", to_string(reason), to_string(expected.reason)));
    require(read_ == expected.tokens, "it ended before its time");
    stage_.seen().visit(reason == finish_reason::eos ? feature::end : feature::length);
  }
  if (!reading_.parts.params.greedy()) stage_.seen().visit(feature::sampled);
  require(used.prompt_tokens == static_cast<int>(reading_.parts.prompt.size()), "its prompt is miscounted");
  require(used.generated_tokens == static_cast<int>(read_.size()), "its tokens are miscounted");
  if (used.cached_tokens > 0) stage_.seen().visit(feature::prefix_hit_tokens);
  require(used.time_to_first_token.count() >= 0 && used.total_time >= used.time_to_first_token, "its times are wrong");
}

/// No other client runs its tag, unless there are two of it.
void reader::check_cached(int tokens) const {
  const bool alike = reading_.shares && !stage_.is_unique(reading_.tag);
  const int most = reading_.shares ? reading_.common : 0;
  require(tokens <= most || alike, fmt::format("it found {} tokens; there were {} at most", tokens, most));
}

void reader::hear_failure(error_code code) {
  if (stream_) require(stream_->finish() == finish_reason::failed, "it failed, and the reason is another");
  if (stream_) require(stream_->error().code() == code && !stream_->error().message().empty(), "it has no reason");
  if (stage_.is_death(code)) return;
  if (code == error::queue_full) {
    stage_.seen().visit(feature::queue_full);
    return require(stage_.setup().max_sequences < 100 && read_.empty(), "the queue was not full");
  }
  if (code == error::out_of_memory && stage_.hardware().refused_memory()) return;
  require(code == reading_.expected.code, "it failed with " + code.message());
  require(!heard_end_ || read_ == reading_.expected.tokens, "it failed before its time");
  if (code == error::bad_logits) stage_.seen().visit(feature::bad_logits);
  if (code == error::invalid_request) stage_.seen().visit(feature::invalid_request);
  if (code == error::does_not_fit) stage_.seen().visit(feature::does_not_fit);
}

/// What ends an operation and says nothing of the stream.
bool reader::is_excused(error_code code) const {
  if (code == net::error::operation_aborted) {
    stage_.seen().visit(feature::aborted);
    require(cancelled() || !stream_, "it was not cancelled");
    return true;
  }
  if (code != error::operation_in_progress) return false;
  stage_.seen().visit(feature::in_progress);
  require(seconds_ > 0 || beside_second_, "another operation was not pending");
  return true;
}

// What it is at

void reader::check() const {
  if (stream_) check_cached(stream_->usage().cached_tokens);
  if (!stream_ || gathered_) return;
  const int ahead = std::max(1, reading_.asked.max_buffered_tokens) + pending() + seconds_;
  require(stream_->usage().generated_tokens <= static_cast<int>(read_.size()) + ahead, "it ran too far ahead");
}

void reader::visit(stream_event event) {
  if (stream_) stage_.seen().visit(current_state(), event);
}

stream_at reader::current_state() const {
  if (stream_->ended()) return stream_->error() ? stream_at::failed : stream_at::ended;
  if (stage_.rounds() == born_) return stream_at::queued;
  auto whole = reading_.parts.prompt;
  const auto generated = stream_->usage().generated_tokens;
  const auto& tokens = reading_.expected.tokens;
  whole.insert(whole.end(), tokens.begin(), tokens.end());
  const int held = stage_.hardware().held_of(whole, static_cast<std::size_t>(reading_.common));
  const bool unread =
      generated - static_cast<int>(read_.size()) >= reading_.asked.max_buffered_tokens && pending() == 0;
  if (unread && !gathered_) return held > 0 || generated == 0 ? stream_at::paused : stream_at::preempted;
  if (held == 0) return stream_at::waiting;
  return held < static_cast<int>(reading_.parts.prompt.size()) ? stream_at::prefilling : stream_at::decoding;
}

std::string reader::status() const {
  return fmt::format("read {} of {}{}{}", read_.size(), reading_.expected.tokens.size(), pending() > 0 ? ", waits" : "",
                     stream_ ? "" : ", without its stream");
}

}  // namespace cogen::engine_simulation
