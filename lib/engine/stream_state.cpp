#include "engine/stream_state.hpp"

#include "engine/checked_request.hpp"
#include "engine/diagnostics_of.hpp"
#include "engine/engine_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cogen::detail {
namespace {

std::string said(clock::duration time) { return fmt::format("{:g} s", std::chrono::duration<double>(time).count()); }

}  // namespace

stream_state::stream_state(std::shared_ptr<engine_loop> engine, request what)
    : request_state(std::move(engine)),
      request_(std::move(what)),
      limits_(request_, metrics().times(engine_->now()).opened),
      sampling_(engine_->fresh_seed(), true) {}

// Operations of the handle

async::engine_executor stream_state::executor() const { return engine_->executor(); }

net::any_io_executor stream_state::default_executor() const { return engine_->default_executor(); }

bool stream_state::enter() noexcept try {
  check_parameters(request_, engine_->vocabulary());
  const auto refused = begin_work();
  if (!refused) return true;
  fail(*refused);
  engine_->enqueue(shared_from_this());  // so that the refusal is counted
  return false;
} catch (...) {
  fail(diagnostics_of(std::current_exception()));
  return false;
}

void stream_state::begin() noexcept {
  try {
    prepare();
  } catch (...) {
    fail(diagnostics_of(std::current_exception()));
    return want_attention();
  }
  {
    std::lock_guard lock(mutex_);
    prepared_ = true;
  }
  want_attention();
}

void stream_state::watch() noexcept {
  if (limits_.any()) engine_->enqueue(shared_from_this());
}

std::shared_ptr<stream_state::next_operation> stream_state::last_next() noexcept {
  std::lock_guard lock(mutex_);
  return std::exchange(last_next_, nullptr);
}

void stream_state::start_next(std::shared_ptr<next_operation> wait, std::optional<clock::duration> limit) {
  completion_lock lock(*this);
  if (busy()) return complete(std::move(wait), conflict(), std::optional<piece>());
  last_next_ = wait;
  next_ = std::move(wait);
  next_limit_ = limit ? later(engine_->now(), *limit) : std::nullopt;
  if (ready_.empty()) ask();
  serve_waiters();
  const bool in_need = owed_ >= std::max(1, max_buffered_tokens() / 2) || (next_ && next_limit_);
  lock.unlock();
  if (in_need) want_attention();
}

void stream_state::cancel_next(const next_operation& wait) noexcept {
  const completion_lock lock(*this);
  if (next_.get() != &wait) return;
  complete(std::exchange(next_, nullptr), net::error::operation_aborted, std::optional<piece>());
}

void stream_state::start_complete(std::shared_ptr<complete_operation> wait) {
  completion_lock lock(*this);
  if (busy()) return complete(wait, conflict(), completion());
  whole_ = wait;
  thinking_ = false;
  const int uncredited = static_cast<int>(ready_.size()) - std::exchange(credited_, static_cast<int>(ready_.size()));
  if (max_buffered_tokens() > 0) owed_ += uncredited;
  ask();
  serve_waiters();
  lock.unlock();
  want_attention();
}

void stream_state::cancel_complete(const complete_operation& wait, net::cancellation_type type) noexcept {
  const completion_lock lock(*this);
  if (whole_.get() != &wait) return;
  if ((type & net::cancellation_type::terminal) != net::cancellation_type::none)
    complete(std::exchange(whole_, nullptr), net::error::operation_aborted, completion());
  else
    complete_whole();
}

void stream_state::stop() noexcept {
  {
    const completion_lock lock(*this);
    if (ended_) return;
    stop_asked_ = true;
  }
  want_attention();
}

void stream_state::abort() noexcept {
  {
    const completion_lock lock(*this);
    aborted_ = true;
    if (!submitted_) leave_place();  // it will never be submitted
    if (next_) complete(std::exchange(next_, nullptr), net::error::operation_aborted, std::optional<piece>());
    if (whole_) complete(std::exchange(whole_, nullptr), net::error::operation_aborted, completion());
  }
  engine_->enqueue(shared_from_this());
}

bool stream_state::ended() const {
  std::lock_guard lock(mutex_);
  return ended_;
}

std::optional<finish_reason> stream_state::finish() const {
  std::lock_guard lock(mutex_);
  return ended_ ? std::optional(reason_) : std::nullopt;
}

finish_reason stream_state::reason() const {
  std::lock_guard lock(mutex_);
  return reason_;
}

cogen::usage stream_state::usage() const {
  std::lock_guard lock(mutex_);
  return usage_;
}

diagnostics stream_state::error() const {
  std::lock_guard lock(mutex_);
  return diagnostics_;
}

request_metrics stream_state::request_metrics() const { return metrics().times(engine_->now()); }

void stream_state::want_attention() {
  if (!engine_->enqueue(shared_from_this())) fail(engine_->error());
}

// From request to sequence

void stream_state::prepare() {
  auto what = read(request_, engine_->parts(), engine_->vocabulary());
  const auto length = static_cast<int>(what.prompt.size());
  new_tokens_ = new_tokens_after(length, request_, engine_->parts().limits);
  encoder_input_ = std::move(what.encoder_input);
  end_tokens_ = end_tokens_of(request_, engine_->parts());
  sampling_.parameters.emplace(request_.sampling, engine_->vocabulary(), end_tokens_);
  cutter_.emplace(engine_->parts().tokenizer.get(), request_.stop);
  sampling_.history.append_given(what.prompt);
  const completion_lock lock(*this);
  usage_.prompt_tokens = length;
}

void stream_state::submit() {
  const auto prompt = sampling_.history.tokens();
  scheduler::sequence_options options;
  options.end_tokens = end_tokens_;
  options.max_new_tokens = new_tokens_;
  options.max_sequence_length = static_cast<int>(prompt.size()) + new_tokens_;
  options.encoder_input = encoder_input_;
  options.priority = request_.priority;
  options.tenant = request_.tenant;
  options.prefix_caching = request_.prefix_caching;
  options.cache_salt = request_.cache_salt.value_or(request_.tenant);
  if (limits_.finish) options.deadline = limits_.finish->time_since_epoch();
  options.release_at_end = true;
  id_ = engine_->plans().submit(options,
                                {{prompt.begin(), prompt.end()}, scheduler::output::sample, max_buffered_tokens()});
  engine_->join(*id_, shared_from_this());
}

// On the engine thread

void stream_state::begin_after(int prefix_hit_tokens) noexcept {
  const completion_lock lock(*this);
  usage_.cached_tokens = prefix_hit_tokens;
}

void stream_state::lose_exactness() noexcept {
  const completion_lock lock(*this);
  usage_.exact = false;
}

void stream_state::process() {
  post_again();
  completion_lock lock(*this);
  if (aborted_) ended_ = true;
  if (ended_) {
    lock.unlock();
    metrics().end(engine_->now(), metrics_recorder::ending::cancelled);
    return leave();
  }
  const bool stop = stop_asked_;
  const int credits = prepared_ ? std::exchange(owed_, 0) : 0;
  if (credits > 0) thinking_ = false;
  const auto timer = next_timer();
  lock.unlock();
  if (stop) return finish(finish_reason::aborted);
  if (keep_limits(engine_->now())) return;
  submit_once();
  if (credits > 0 && id_) engine_->plans().grant(*id_, credits);
  if (timer) engine_->wake_at(*timer, shared_from_this());
}

void stream_state::submit_once() {
  {
    std::lock_guard lock(mutex_);
    if (aborted_ || !prepared_ || std::exchange(submitted_, true)) return;
  }
  submit();
}

void stream_state::take(const scheduler::event& event, row_output& outcome) {
  if (limits_.any() && keep_limits(engine_->now())) return;
  switch (event.what) {
    case scheduler::event::kind::token:
      sampling_.absorb(outcome);
      return take_token(std::move(outcome.chosen),
                        std::find(end_tokens_.begin(), end_tokens_.end(), event.sampled) != end_tokens_.end());
    case scheduler::event::kind::logits:
      return;
    case scheduler::event::kind::finished:
      if (event.reason == scheduler::finish::failed) return finish(finish_reason::failed, outcome.error);
      return finish(event.reason == scheduler::finish::end_token ? finish_reason::eos : finish_reason::length);
  }
}

void stream_state::take_token(sampled_token chosen, bool is_end) {
  if (is_end) return;
  auto cut = cutter_->push(chosen.id);
  next_piece_.tokens.push_back(std::move(chosen));
  const bool makes_piece = cut.stopped || !cut.text.empty() || !engine_->parts().tokenizer;
  completion_lock lock(*this);
  ++usage_.generated_tokens;
  usage_.time_to_first_token = metrics().bring();
  if (makes_piece) push_piece(std::move(cut.text));
  if (cut.stopped) {
    lock.unlock();
    cutter_->flush();
    return finish(finish_reason::stop_string);
  }
  const bool read_already = makes_piece && whole_;
  if (read_already) ++credited_;
  if (makes_piece) {
    serve_waiters();
    thinking_ = max_buffered_tokens() == 0 && !whole_;
  }
  lock.unlock();
  if (read_already || !makes_piece) engine_->plans().grant(*id_, 1);
}

void stream_state::finish(finish_reason reason, diagnostics why) {
  auto last = is_prepared() ? cutter_->flush() : output_processor::cut{};
  leave();
  const completion_lock lock(*this);
  if (ended_) return;
  if (!last.text.empty() || !next_piece_.tokens.empty()) push_piece(std::move(last.text));
  ended_ = true;
  thinking_ = false;
  reason_ = reason;
  diagnostics_ = std::move(why);
  usage_.total_time = metrics().end(engine_->now(), metrics_recorder::ending::finished);
  serve_waiters();
}

void stream_state::fail(const diagnostics& why) noexcept {
  const completion_lock lock(*this);
  if (ended_) return;
  ended_ = true;
  thinking_ = false;
  reason_ = finish_reason::failed;
  diagnostics_ = why;
  usage_.total_time = metrics().end(
      engine_->now(), aborted_ ? metrics_recorder::ending::cancelled : metrics_recorder::ending::finished);
  leave_place();
  serve_waiters();
}

// Deadlines

std::optional<clock::time_point> stream_state::expire(clock::time_point now) {
  if (keep_limits(now)) return std::nullopt;
  const completion_lock lock(*this);
  if (next_ && next_limit_ && *next_limit_ <= now)
    complete(std::exchange(next_, nullptr), error::timed_out, std::optional<piece>());
  return next_timer();
}

std::optional<clock::time_point> stream_state::next_timer() const {
  if (ended_) return std::nullopt;
  return earlier(limits_.next(usage_.generated_tokens > 0), next_ ? next_limit_ : std::nullopt);
}

bool stream_state::keep_limits(clock::time_point now) {
  deadlines::which passed;
  {
    std::lock_guard lock(mutex_);
    passed = ended_ ? deadlines::which::none : limits_.passed(now, usage_.generated_tokens > 0);
  }
  if (passed == deadlines::which::start) end_with({error::deadline_exceeded, waited(now)});
  if (passed == deadlines::which::finish) finish(finish_reason::deadline_exceeded);
  return passed != deadlines::which::none;
}

std::string stream_state::waited(clock::time_point now) const {
  return fmt::format("no token came within start_within, which is {}: for {} it waited {}",
                     said(*request_.start_within), said(now - metrics().times(now).opened), waited_for());
}

std::string stream_state::waited_for() const {
  if (!is_prepared()) return "for its prompt to be tokenized";
  if (!id_) return "for the engine to take it up between two steps";
  if (engine_->plans().phase_of(*id_) == scheduler::phase::waiting)
    return fmt::format("for one of {} slots, beside {} others", engine_->parts().limits.slots,
                       engine_->plans().waiting() - 1);
  std::lock_guard lock(mutex_);
  if (max_buffered_tokens() == 0 && !asked_)
    return "for its reader to ask for a token, since its max_buffered_tokens is 0";
  return fmt::format("for its prompt of {} tokens to be read", usage_.prompt_tokens);
}

bool stream_state::is_prepared() const {
  std::lock_guard lock(mutex_);
  return prepared_;
}

bool stream_state::owner_is_thinking() const {
  const std::lock_guard lock(mutex_);
  return thinking_ && !aborted_;
}

// Pieces, under the lock

bool stream_state::busy() {
  if (next_ && next_->dropped()) next_.reset();
  if (whole_ && whole_->dropped()) whole_.reset();
  return next_ || whole_;
}

diagnostics stream_state::conflict() const noexcept {
  return {error::operation_in_progress,
          next_ ? "an async_next() is pending on this stream" : "an async_complete() is pending on this stream"};
}

void stream_state::ask() {
  if (max_buffered_tokens() == 0 && !std::exchange(asked_, true)) ++owed_;
}

void stream_state::push_piece(std::string text) {
  next_piece_.text = std::move(text);
  asked_ = false;
  if (busy() && next_ && ready_.empty()) {
    count_read();
    complete(std::exchange(next_, nullptr), error_code(), std::move(next_piece_));
  } else {
    if (ready_.full()) ready_.set_capacity(std::max<std::size_t>(2, 2 * ready_.capacity()));
    ready_.push_back(std::move(next_piece_));
  }
  next_piece_.text.clear();
  next_piece_.tokens.clear();
}

piece stream_state::read_piece() {
  auto front = std::move(ready_.front());
  ready_.pop_front();
  count_read();
  return front;
}

void stream_state::count_read() {
  if (credited_ > 0)
    --credited_;
  else if (max_buffered_tokens() > 0)
    ++owed_;
}

completion stream_state::gather_completion() {
  completion all;
  std::size_t bytes = 0, tokens = 0;
  for (const auto& each : ready_) bytes += each.text.size(), tokens += each.tokens.size();
  all.text.reserve(bytes);  // after both reservations nothing throws, so no piece is lost
  all.tokens.reserve(tokens);
  while (!ready_.empty()) {
    auto each = read_piece();
    all.text += each.text;
    std::move(each.tokens.begin(), each.tokens.end(), std::back_inserter(all.tokens));
  }
  all.reason = reason_;
  all.usage = usage_;
  return all;
}

void stream_state::serve_waiters() {
  if (!busy()) return;
  if (next_ && !ready_.empty())
    complete(std::exchange(next_, nullptr), error_code(), read_piece());
  else if (next_ && ended_)
    complete(std::exchange(next_, nullptr), diagnostics_, std::optional<piece>());
  else if (whole_ && ended_ && diagnostics_)
    complete(std::exchange(whole_, nullptr), diagnostics_, completion());
  else if (whole_ && ended_)
    complete_whole();
}

void stream_state::complete_whole() {
  auto waiting = std::exchange(whole_, nullptr);
  try {
    auto all = gather_completion();
    complete(std::move(waiting), error_code(), std::move(all));
  } catch (...) {
    complete(std::move(waiting), diagnostics_of(std::current_exception()), completion());
  }
}

}  // namespace cogen::detail
