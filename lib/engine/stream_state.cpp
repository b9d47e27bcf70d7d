#include "engine/stream_state.hpp"

#include "engine/engine_loop.hpp"
#include "engine/loop_view.hpp"
#include "engine/runner/diagnostics_of.hpp"
#include "engine/token_filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace cogen::detail {
namespace {

std::string seconds(clock::duration time) { return fmt::format("{:g} s", std::chrono::duration<double>(time).count()); }

bool is_empty(const piece& delta) noexcept {
  return delta.text.empty() && delta.reasoning.empty() && delta.tool_calls.empty();
}

}  // namespace

stream_state::stream_state(std::shared_ptr<engine_loop> engine, std::shared_ptr<const request> request,
                           random_stream random)
    : request_state(std::move(engine)),
      request_(std::move(request)),
      deadlines_(*request_, timeline().times(engine_->now()).opened),
      sampling_(random, engine_->allowance()),
      channel_(request_->max_buffered_tokens) {
  admission_.tenant = request_->tenant;
}

// Operations of the handle

net::any_io_executor stream_state::default_executor() const { return engine_->default_executor(); }

bool stream_state::admit(siblings peers) noexcept try {
  check_request();
  std::vector<admission_state*> with;
  for (const auto& each : peers) with.push_back(&each->admission_);
  const auto refused = begin_work(with);
  if (refused) refuse(*refused, peers);
  return !refused;
} catch (...) {
  refuse(diagnostics_of(std::current_exception()), peers);
  return false;
}

void stream_state::check_request() const { check_parameters(*request_, engine_->vocabulary()); }

void stream_state::prepare(request& request, siblings peers) noexcept try {
  if (is_unwanted_ && std::ranges::all_of(peers, [](const auto& peer) { return peer->is_unwanted_.load(); }))
    return refuse(net::error::operation_aborted, peers);
  auto inputs = read(request, engine_->parts(), engine_->responses().syntax(), engine_->vocabulary());
  request.prompt = {};  // it may be many times as large as its tokens
  request.encoder_input.reset();
  request.chat_template_kwargs = {};
  if (!may_compile(request, engine_->formats())) return begin_guided(std::move(inputs), peers, nullptr);
  const auto self = std::static_pointer_cast<stream_state>(shared_from_this());
  engine_->compilations().put(request.tenant, is_unwanted_,
                              [self, inputs = std::move(inputs), peers = std::vector(peers.begin(), peers.end())](
                                  auto& watch) mutable { self->begin_guided(std::move(inputs), peers, &watch); });
} catch (...) {
  refuse(diagnostics_of(std::current_exception()), peers);
}

void stream_state::begin_guided(read_request inputs, siblings peers, grammar::work_watch* watch) noexcept try {
  if (watch) watch->check();
  count_prompt(inputs.prompt.size());
  for (const auto& each : peers) each->count_prompt(inputs.prompt.size());
  const auto guided = guide_of(*request_, inputs, engine_->parts(), engine_->formats(), engine_->responses(), watch);
  const auto prepared =
      std::make_shared<const prepared_request>(request_, inputs.prompt.size(), engine_->parts(), engine_->vocabulary());
  for (const auto& each : peers) each->take(inputs, guided, prepared, true);
  scores_prompt_ = request_->prompt_logprobs;
  take(std::move(inputs), guided, prepared, !peers.empty());
  for (const auto& each : peers) each->become_prepared();
  become_prepared();
  notify_engine();
  for (const auto& each : peers) each->notify_engine();
} catch (...) {
  refuse(diagnostics_of(std::current_exception()), peers);
}

void stream_state::refuse(const diagnostics& why, siblings peers) noexcept {
  fail(why);
  notify_engine();  // so that the refusal is counted
  for (const auto& each : peers) each->refuse(why, {});
}

void stream_state::become_prepared() noexcept {
  const std::lock_guard lock(mutex_);
  if (stage_ == stage::preparing) stage_ = stage::prepared;
}

void stream_state::start_deadlines() noexcept {
  if (deadlines_.any()) engine_->enqueue(shared_from_this());
}

std::shared_ptr<stream_state::next_operation> stream_state::last_next() noexcept {
  std::lock_guard lock(mutex_);
  return std::exchange(last_next_, nullptr);
}

void stream_state::start_next(std::shared_ptr<next_operation> wait, std::optional<clock::duration> limit) {
  completion_lock lock(*this);
  if (busy() || group_waits()) return complete(std::move(wait), conflict(), std::optional<piece>());
  last_next_ = wait;
  next_ = std::move(wait);
  next_limit_ = limit ? later(engine_->now(), *limit) : std::nullopt;
  if (channel_.empty()) channel_.request();
  serve_waiters();
  const bool is_urgent = channel_.is_low() || waits_for_time() || engine_->is_forked();
  lock.unlock();
  if (is_urgent) notify_engine();
}

void stream_state::start_complete(std::shared_ptr<complete_operation> wait) {
  completion_lock lock(*this);
  if (busy() || group_waits()) return complete(wait, conflict(), completion());
  reading_all_ = wait;
  channel_.request_all();
  serve_waiters();
  lock.unlock();
  notify_engine();
}

void stream_state::start_progress(std::shared_ptr<progress_operation> wait) {
  completion_lock lock(*this);
  if (awaits_progress())
    return complete(std::move(wait),
                    {error::operation_in_progress, "an async_prompt_progress() is pending on this stream"},
                    std::optional<prompt_progress>());
  if (group_waits(true)) return complete(std::move(wait), conflict(), std::optional<prompt_progress>());
  next_progress_ = std::move(wait);
  serve_progress();
  if (!next_progress_->completed()) channel_.request();
  const bool is_urgent = channel_.is_low() || engine_->is_forked();
  lock.unlock();
  if (is_urgent) notify_engine();
}

void stream_state::cancel(const pending_operation& wait, net::cancellation_type type) noexcept {
  const completion_lock lock(*this);
  if (next_progress_.get() == &wait)
    return complete(std::exchange(next_progress_, nullptr), net::error::operation_aborted,
                    std::optional<prompt_progress>());
  if (next_.get() == &wait) {
    complete(std::exchange(next_, nullptr), net::error::operation_aborted, std::optional<piece>());
    return offer_to_group();
  }
  if (reading_all_.get() != &wait) return;
  if ((type & net::cancellation_type::terminal) == net::cancellation_type::none) return complete(reading_all_);
  complete(std::exchange(reading_all_, nullptr), net::error::operation_aborted, completion());
  offer_to_group();
}

void stream_state::stop() noexcept {
  {
    const completion_lock lock(*this);
    if (stage_ == stage::ended) return;
    if (wanted_end_ == wanted_end::none) wanted_end_ = wanted_end::stop;
  }
  notify_engine();
}

void stream_state::abort() noexcept {
  is_unwanted_ = true;
  {
    const completion_lock lock(*this);
    wanted_end_ = wanted_end::abort;
    if (stage_ != stage::submitted) leave_engine();  // it will never be submitted
    fail_wait(next_, net::error::operation_aborted, std::optional<piece>());
    fail_wait(reading_all_, net::error::operation_aborted, completion());
    fail_wait(next_progress_, net::error::operation_aborted, std::optional<prompt_progress>());
    offer_to_group();
  }
  engine_->enqueue(shared_from_this());
}

bool stream_state::ended() const {
  std::lock_guard lock(mutex_);
  return stage_ == stage::ended;
}

std::optional<finish_reason> stream_state::finish() const {
  std::lock_guard lock(mutex_);
  return stage_ == stage::ended ? std::optional(reason_) : std::nullopt;
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

std::vector<sampled_token> stream_state::prompt_logprobs() const {
  std::lock_guard lock(mutex_);
  return prompt_logprobs_;
}

std::optional<sampled_token> stream_state::end_token() const {
  std::lock_guard lock(mutex_);
  return end_token_;
}

std::vector<loosened_keyword> stream_state::loosened() const {
  const std::lock_guard lock(mutex_);
  return loosened_;
}

request_metrics stream_state::request_metrics() const { return timeline().times(engine_->now()); }

void stream_state::notify_engine() {
  if (!engine_->enqueue(shared_from_this())) fail(engine_->error());
}

// From request to sequence

/// A request that is refused says how long it is, too.
void stream_state::count_prompt(std::size_t tokens) {
  const completion_lock lock(*this);
  usage_.prompt_tokens = static_cast<int>(tokens);
}

void stream_state::take(read_request inputs, const grammar::guided_response& guided,
                        std::shared_ptr<const prepared_request> prepared, bool shares_prompt) {
  {
    const completion_lock lock(*this);
    loosened_ = guided.loosened;
  }
  prepared_ = std::move(prepared);
  encoder_input_ = std::move(inputs.encoder_input);
  sampling_.parameters = {prepared_, &prepared_->sampling};
  if (guided.start) constrain(guided.start->clone(), inputs.prompt.size());
  text_.emplace(engine_->parts().tokenizer.get(), prepared_->stops,
                inputs.chat_ending ? parts_after(*inputs.chat_ending) : response_parts());
  drafts_.emplace(request_->speculative, draft_target{engine_->parts().tokenizer, engine_->vocabulary(),
                                                      request_->tenant, request_->cache_salt});
  prompt_ = std::move(inputs.prompt);
  checkpoints_ = checkpoints_of(prompt_, engine_->parts());
  shares_prompt_ = shares_prompt;
  reports_prompt_ = request_->echo || scores_prompt_;
  if (reports_prompt_) sampling_.report(prompt_, scores_prompt_.value_or(0));
}

/// The text may end with the request's end tokens only; a model's that it ignores cannot be part of it.
void stream_state::constrain(std::unique_ptr<guide> guide, std::size_t prompt_length) {
  auto text = text_after(prompt_length);
  text.end_tokens = prepared_->end_tokens;
  if (request_->ignore_eos) text.never_sampled = engine_->parts().end_tokens;
  sampling_.constraint = std::make_unique<constraint>(std::move(guide), std::move(text));
  sampling_.ends_with_guide = true;
}

/// Where a chat's response can have parts.
response_parts stream_state::parts_after(std::string_view prompt_ending) const {
  const auto& responses = engine_->responses();
  const auto& syntax = responses.syntax();
  const bool reads_calls = !request_->tools->empty() && syntax.calls;
  if (!reads_calls && !syntax.reasoning) return {};
  return {.syntax = &syntax,
          .control_tokens = responses.control_tokens(),
          .types = response::parameter_types(*request_->tools),
          .options = {.in_reasoning = response::ends_in_reasoning(syntax, prompt_ending),
                      .reads_calls = reads_calls,
                      .parallel_calls = request_->parallel_tool_calls}};
}

void stream_state::submit(loop_view& loop) {
  scheduler::sequence_options options;
  options.end_tokens = prepared_->end_tokens;
  options.max_new_tokens = prepared_->new_tokens;
  options.max_sequence_length = static_cast<int>(prompt_.size()) + prepared_->new_tokens;
  options.encoder_input = encoder_input_;
  options.priority = request_->priority;
  options.tenant = request_->tenant;
  options.prefix_caching = request_->prefix_caching;
  options.cache_salt = salt();
  if (shares_prompt_) options.min_shared_prefix = 1;  // siblings share all of it, through the prefix cache
  if (deadlines_.finish) options.deadline = deadlines_.finish->time_since_epoch();
  options.release_at_end = true;
  id_ = loop.scheduler().submit(options, {.tokens = std::move(prompt_),
                                          .credits = channel_.capacity(),
                                          .checkpoints = std::move(checkpoints_),
                                          .scores_prompt = scores_prompt_.has_value()});
  sampling_.history.extend(loop.scheduler().tokens(*id_));
  if (speculates() || sampling_.constraint || sampling_.parameters->has_processor())
    loop.scheduler().run_ahead(*id_, false);
  sampling_.predicts = speculates() && drafts_->read_predictions();
  loop.join(*id_, shared_from_this());
  if (speculates()) propose_forced(loop);
}

// On the engine thread

void stream_state::set_cached_tokens(int prefix_hit_tokens) noexcept {
  const completion_lock lock(*this);
  usage_.cached_tokens = prefix_hit_tokens;
  reading_.begin(usage_.prompt_tokens, prefix_hit_tokens, engine_->now());
  serve_progress();
}

void stream_state::skip_prompt_progress() {
  const completion_lock lock(*this);
  reading_.skip();
  serve_progress();
}

void stream_state::prefilled(int tokens, clock::time_point time) noexcept {
  const completion_lock lock(*this);
  reading_.advance(tokens, time);
  serve_progress();
}

void stream_state::mark_inexact() noexcept {
  const completion_lock lock(*this);
  usage_.exact = false;
}

void stream_state::process(loop_view& loop) {
  post_again();
  completion_lock lock(*this);
  const bool has_drafts = stage_ == stage::prepared || stage_ == stage::submitted;
  if (wanted_end_ == wanted_end::abort) stage_ = stage::ended;
  if (stage_ == stage::ended) {
    lock.unlock();
    if (has_drafts) drafts_->end();
    timeline().end(loop.now(), request_timeline::ending::cancelled);
    return leave(loop);
  }
  const bool stop = wanted_end_ == wanted_end::stop;
  const int credits = stage_ == stage::preparing ? 0 : channel_.take_credits();
  const auto timer = next_timer();
  lock.unlock();
  if (stop) return finish(loop, finish_reason::aborted);
  if (enforce_deadlines(loop.now(), loop)) return;
  submit_once(loop);
  if (credits > 0) grant(credits, loop);
  if (timer) loop.wake_at(*timer, shared_from_this());
}

void stream_state::submit_once(loop_view& loop) {
  const auto is_wanted = [&] {
    const std::lock_guard lock(mutex_);
    return wanted_end_ != wanted_end::abort && stage_ == stage::prepared;
  };
  if (!is_wanted()) return;
  const bool shares = request_->prefix_caching && !scores_prompt_ && !encoder_input_;
  if (shares && awaits_stored_prefix(prompt_, salt(), loop)) return;
  {
    const std::lock_guard lock(mutex_);
    stage_ = stage::submitted;
  }
  submit(loop);
}

void stream_state::deliver(const scheduler::event& event, row_output& output, loop_view& loop) {
  if (deadlines_.any() && enforce_deadlines(loop.now(), loop)) return;
  switch (event.type) {
    case scheduler::event::kind::token: {
      sampling_.append(output.chosen.id);
      if (reports_prompt_) report_prompt();
      if (event.drafts > 0) count_drafts(event);
      const bool is_end = std::ranges::binary_search(prepared_->end_tokens, output.chosen.id);
      is_end ? take_end(std::move(output.chosen)) : take_token(std::move(output.chosen), loop);
      if (output.ends_text) return finish(loop, finish_reason::eos);
      if (!event.more && !is_end && id_ && speculates()) propose_drafts(event.after_drafts + 1, output.predicted, loop);
      return;
    }
    case scheduler::event::kind::logits:
      return;
    case scheduler::event::kind::finished:
      if (event.reason == scheduler::finish::failed)
        return finish(loop, finish_reason::failed, reason_of(output.error));
      if (reports_prompt_) report_prompt();  // no token was to be generated
      return finish(loop, event.reason == scheduler::finish::end_token ? finish_reason::eos : finish_reason::length);
  }
}

/// Where nothing is left to be sampled since the request says so, that is its own fault.
diagnostics stream_state::reason_of(const diagnostics& failure) const {
  if (failure.code() != make_error_code(error::bad_logits) || !sampling_.constraint) return failure;
  if (filters_tokens(*request_))
    return {error::invalid_request, "bad_words or allowed_token_ids forbid all tokens that the response format allows"};
  const auto forbids = [](const auto& bias) { return bias.second == -std::numeric_limits<double>::infinity(); };
  if (std::ranges::none_of(request_->sampling.logit_bias, forbids)) return failure;
  return {error::invalid_request, "logit_bias forbids all tokens that the response format allows"};
}

/// The piece of the prompt takes no credit, since no token was sampled for it.
void stream_state::report_prompt() {
  reports_prompt_ = false;
  auto prompt = std::move(sampling_.prompt);
  std::string text;
  if (request_->echo)
    for (const auto& each : prompt) text += text_->echo(each.id);
  const completion_lock lock(*this);
  if (request_->echo) {
    next_piece_.tokens.assign(prompt.begin(), prompt.end());
    channel_.return_credit();
    next_piece_.text = std::move(text);
    push_piece();
  }
  if (scores_prompt_) prompt_logprobs_ = std::move(prompt);
}

void stream_state::take_end(sampled_token&& chosen) {
  const std::lock_guard lock(mutex_);
  end_token_ = std::move(chosen);
}

void stream_state::take_token(sampled_token&& chosen, loop_view& loop) {
  using ending = response_text::ending;
  const auto end = text_->push(chosen.id, next_piece_);
  next_piece_.tokens.push_back(std::move(chosen));
  const bool makes_piece = end != ending::none || !is_empty(next_piece_) || !engine_->parts().tokenizer;
  completion_lock lock(*this);
  ++usage_.generated_tokens;
  usage_.time_to_first_token = timeline().record_result();
  if (makes_piece) push_piece();
  if (end != ending::none) {
    lock.unlock();
    return finish(loop, end == ending::stop_string ? finish_reason::stop_string : finish_reason::eos);
  }
  const bool returns_credit = !makes_piece || gathers();
  if (makes_piece && gathers()) channel_.return_credit();
  if (makes_piece) {
    serve_waiters();
    channel_.await_reader(!gathers());
  }
  lock.unlock();
  if (returns_credit) grant(1, loop);
}

void stream_state::grant(int credits, loop_view& loop) {
  if (id_) loop.scheduler().grant(*id_, credits);
}

void stream_state::count_drafts(const scheduler::event& token) {
  const std::lock_guard lock(mutex_);
  if (token.after_drafts == 0) usage_.draft_tokens += token.drafts;
  if (token.more) ++usage_.accepted_draft_tokens;
}

bool stream_state::speculates() const {
  const bool may_have_drafts = drafts_->any() || sampling_.constraint;
  return may_have_drafts && engine_->parts().limits.max_row_drafts() > 0;
}

/// For the row after one that has sampled so many tokens, and after which the model predicted one, or -1.
void stream_state::propose_drafts(int sampled, token predicted, loop_view& loop) try {
  const auto history = sampling_.history.tokens();
  auto drafts = drafts_->after(history, sampled, predicted);
  if (propose_forced(loop)) return;
  drafts.resize(sampling_.allowed_of(drafts));
  if (!drafts.empty()) loop.scheduler().propose(*id_, std::move(drafts), true);
} catch (const generation_error& wrong) {
  finish(loop, finish_reason::failed, wrong.why());
}

/// What a guide forces is nearly always sampled, and saves a row of its own.
bool stream_state::propose_forced(loop_view& loop) {
  auto forced = sampling_.forced();
  const bool any = !forced.empty();
  if (any) loop.scheduler().propose(*id_, std::move(forced));
  return any;
}

void stream_state::finish(loop_view& loop, finish_reason reason, diagnostics why) {
  if (is_prepared()) {
    text_->finish(next_piece_);
    drafts_->end();
  }
  leave(loop);
  const completion_lock lock(*this);
  if (stage_ == stage::ended) return;
  if (!is_empty(next_piece_) || !next_piece_.tokens.empty()) push_piece();
  stage_ = stage::ended;
  is_unwanted_ = true;
  reason_ = reason;
  diagnostics_ = std::move(why);
  usage_.total_time = timeline().end(loop.now(), request_timeline::ending::finished);
  serve_waiters();
  serve_progress();
}

void stream_state::fail(const diagnostics& why) noexcept {
  const completion_lock lock(*this);
  if (stage_ == stage::ended) return;
  stage_ = stage::ended;
  is_unwanted_ = true;
  reason_ = finish_reason::failed;
  diagnostics_ = why;
  usage_.total_time =
      timeline().end(engine_->now(), wanted_end_ == wanted_end::abort ? request_timeline::ending::cancelled
                                                                      : request_timeline::ending::finished);
  leave_engine();
  serve_waiters();
  serve_progress();
}

// Deadlines

std::optional<clock::time_point> stream_state::expire(clock::time_point now, loop_view& loop) {
  if (enforce_deadlines(now, loop)) return std::nullopt;
  const completion_lock lock(*this);
  if (waits_for_time() && *next_limit_ <= now) {
    complete(std::exchange(next_, nullptr), error::timed_out, std::optional<piece>());
    offer_to_group();
  }
  return next_timer();
}

std::optional<clock::time_point> stream_state::next_timer() const {
  if (stage_ == stage::ended) return std::nullopt;
  return earlier(deadlines_.next(usage_.generated_tokens > 0), waits_for_time() ? next_limit_ : std::nullopt);
}

bool stream_state::enforce_deadlines(clock::time_point now, loop_view& loop) {
  deadlines::which passed;
  {
    std::lock_guard lock(mutex_);
    passed = stage_ == stage::ended ? deadlines::which::none : deadlines_.passed(now, usage_.generated_tokens > 0);
  }
  if (passed == deadlines::which::start) end_with({error::deadline_exceeded, deadline_message(now, loop)}, loop);
  if (passed == deadlines::which::finish) finish(loop, finish_reason::deadline_exceeded);
  return passed != deadlines::which::none;
}

std::string stream_state::deadline_message(clock::time_point now, loop_view& loop) const {
  return fmt::format("no token came within start_within, which is {}: for {} it waited {}",
                     seconds(*request_->start_within), seconds(now - timeline().times(now).opened),
                     waiting_reason(loop));
}

std::string stream_state::waiting_reason(loop_view& loop) const {
  if (!is_prepared()) return "for its prompt to be tokenized";
  if (!id_) return "for the engine to take it up between two steps";
  if (loop.scheduler().phase_of(*id_) == scheduler::phase::waiting)
    return fmt::format("for one of {} slots", engine_->parts().limits.slots);
  std::lock_guard lock(mutex_);
  if (channel_.capacity() == 0 && !channel_.is_requested())
    return "for its reader to ask for a token, since its max_buffered_tokens is 0";
  return fmt::format("for its prompt of {} tokens to be read", usage_.prompt_tokens);
}

bool stream_state::is_prepared() const {
  std::lock_guard lock(mutex_);
  return stage_ == stage::prepared || stage_ == stage::submitted;
}

bool stream_state::awaits_client() const {
  const std::lock_guard lock(mutex_);
  return stage_ != stage::ended && wanted_end_ != wanted_end::abort && channel_.awaits_reader();
}

// Pieces, under the lock

bool stream_state::busy() {
  if (next_ && next_->dropped()) next_.reset();
  if (reading_all_ && reading_all_->dropped()) reading_all_.reset();
  return next_ || reading_all_;
}

diagnostics stream_state::conflict() const noexcept {
  const bool is_own = next_ || reading_all_;
  if (!is_own) return {error::operation_in_progress, "an async_next() is pending on the group of this stream"};
  return {error::operation_in_progress,
          next_ ? "an async_next() is pending on this stream" : "an async_complete() is pending on this stream"};
}

void stream_state::push_piece() {
  channel_.push(std::move(next_piece_));
  next_piece_.text.clear();
  next_piece_.tokens.clear();
}

completion stream_state::gather_completion() {
  completion result;
  result.loosened = loosened_;
  std::size_t text = 0, reasoning = 0, tokens = 0;
  for (const auto& each : channel_) {
    text += each.text.size();
    reasoning += each.reasoning.size();
    tokens += each.tokens.size();
    append(result.tool_calls, each.tool_calls);
  }
  result.text.reserve(text);  // from here nothing throws, so no piece is lost
  result.reasoning.reserve(reasoning);
  result.tokens.reserve(tokens);
  while (!channel_.empty()) {
    auto piece = channel_.pop();
    result.text += piece.text;
    result.reasoning += piece.reasoning;
    std::move(piece.tokens.begin(), piece.tokens.end(), std::back_inserter(result.tokens));
  }
  result.reason = reason_;
  result.usage = usage_;
  return result;
}

bool stream_state::awaits_progress() {
  if (next_progress_ && next_progress_->dropped()) next_progress_.reset();
  return next_progress_ != nullptr;
}

/// Each report is of its own step, also where its handler runs later.
void stream_state::serve_progress() {
  if (!awaits_progress()) return offer_to_group();
  if (next_progress_->completed()) return;
  const auto news = reading_.news();
  if (news || reading_.is_over())
    complete(next_progress_, error_code(), news);
  else if (stage_ == stage::ended)
    complete(next_progress_, diagnostics_, std::optional<prompt_progress>());
}

void stream_state::serve_waiters() {
  if (!busy()) return offer_to_group();
  const bool ended = stage_ == stage::ended;
  if (next_ && (ended || !channel_.empty())) complete(next_);
  if (reading_all_ && ended) complete(reading_all_);
}

// Results, taken as their handlers run

void stream_state::settle(pending_operation& called) noexcept {
  completion_lock lock(*this);
  if (&called == next_.get()) settle_piece();
  if (&called == reading_all_.get()) settle_completion();
  if (&called == next_progress_.get()) settle_progress();
  offer_to_group();
  const bool is_urgent = channel_.is_low();
  lock.unlock();
  if (is_urgent) notify_engine();
}

void stream_state::drop(pending_operation&) noexcept {
  const completion_lock lock(*this);
  offer_to_group();
}

void stream_state::settle_piece() {
  const auto wait = std::exchange(next_, nullptr);
  if (channel_.empty())
    wait->set_result(diagnostics_, std::optional<piece>());
  else
    wait->set_result(error_code(), channel_.pop());
}

void stream_state::settle_completion() {
  const auto wait = std::exchange(reading_all_, nullptr);
  if (stage_ == stage::ended && diagnostics_) return wait->set_result(diagnostics_, completion());
  try {
    wait->set_result(error_code(), gather_completion());
  } catch (...) {
    wait->set_result(diagnostics_of(std::current_exception()), completion());
  }
}

void stream_state::settle_progress() {
  next_progress_.reset();
  reading_.take_update();
}

// Its group

void stream_state::join(std::weak_ptr<group_state> group, std::size_t index) {
  const completion_lock lock(*this);
  group_ = std::move(group);
  index_in_group_ = index;
}

void stream_state::ask_for_group() {
  completion_lock lock(*this);
  if (channel_.empty() && !busy() && !is_over()) channel_.request();
  offer_to_group();
  const bool is_urgent = channel_.is_low() || engine_->is_forked();
  lock.unlock();
  if (is_urgent) notify_engine();
}

bool stream_state::give_group(group_state::next_operation& wait, bool events) noexcept {
  completion_lock lock(*this);
  stream_event next{.index = index_in_group_};
  bool is_last = false;
  if (events && !awaits_progress() && (next.progress = reading_.news())) {
    reading_.take_update();
  } else if (!channel_.empty()) {
    next.piece = channel_.pop();
  } else {
    next.finish = reason_;
    is_last = true;
  }
  if (is_last && diagnostics_)
    wait.set_result(diagnostics_, std::optional<stream_event>());
  else
    wait.set_result(error_code(), std::optional(std::move(next)));
  if (!is_last) offer_to_group();
  const bool is_urgent = channel_.is_low();
  lock.unlock();
  if (is_urgent) notify_engine();
  return is_last;
}

void stream_state::post_for_group(std::shared_ptr<pending_operation> completed) noexcept {
  const completion_lock lock(*this);
  keep(std::move(completed));
}

bool stream_state::is_over() const noexcept { return stage_ == stage::ended || wanted_end_ == wanted_end::abort; }

/// Unless an operation of its own waits for it.
void stream_state::offer_to_group() noexcept {
  const auto group = group_.lock();
  if (!group || busy()) return;
  const bool ended = is_over() && channel_.empty();
  const group_state::stream_offer offered{.piece = !channel_.empty(),
                                          .progress = !awaits_progress() && reading_.news().has_value(),
                                          .ended = ended,
                                          .failed = ended && diagnostics_};
  if (!offered) return;
  if (auto completed = group->offer(index_in_group_, offered)) keep(std::move(completed));
}

bool stream_state::group_waits(bool for_progress) const noexcept {
  const auto group = group_.lock();
  return group && group->waits(for_progress);
}

}  // namespace cogen::detail
