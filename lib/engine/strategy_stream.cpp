#include "engine/strategy_stream.hpp"

#include "engine/async/call_member.hpp"
#include "engine/engine_loop.hpp"
#include "engine/sequence_state.hpp"
#include "engine/token_filter.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace cogen {
namespace detail {
namespace {

void check_for_strategy(const request& request) {
  if (request.prompt_logprobs) throw std::invalid_argument("prompt_logprobs is set; a strategy does not report them");
  if (request.echo) throw std::invalid_argument("echo is set; the streams of a strategy do not begin with the prompt");
  if (request.response_format) throw std::invalid_argument("response_format is set; strategies take no format");
  if (request.tool_choice.type != tool_choice::kind::automatic || request.reasoning_budget)
    throw std::invalid_argument("tool_choice or reasoning_budget is set; strategies take neither");
  if (filters_tokens(request))
    throw std::invalid_argument("bad_words or allowed_token_ids is set; strategies take neither");
  if (request.max_tokens == 0) throw std::invalid_argument("max_tokens is 0; strategies generate at least 1 token");
}

}  // namespace

strategy_stream::strategy_stream(std::shared_ptr<engine_loop> engine, std::shared_ptr<const request> request,
                                 random_stream random, std::shared_ptr<strategy_run> run)
    : stream_state(std::move(engine), std::move(request), random),
      run_(std::move(run)),
      credits_(request_->max_buffered_tokens) {}

// From request to strategy

void strategy_stream::check_request() const {
  stream_state::check_request();
  check_for_strategy(*request_);
}

void strategy_stream::submit(loop_view&) {
  engine_->admissions().schedule(admission_);
  skip_prompt_progress();
  engine_->wait_until_idle(shared_from_this());  // so that it fails if the engine ends
  run_->start(engine_->executor(), input());
}

strategy_input strategy_stream::input() {
  return {.request = *request_,
          .prompt = std::move(prompt_),
          .end_tokens = prepared_->end_tokens,
          .max_tokens = prepared_->new_tokens,
          .vocabulary = engine_->vocabulary(),
          .open = opener()};
}

std::function<sequence(int)> strategy_stream::opener() const {
  open_options options{.priority = request_->priority,
                       .tenant = request_->tenant,
                       .prefix_caching = request_->prefix_caching,
                       .cache_salt = request_->cache_salt};
  return [engine = engine_, read = encoder_input_, options](int max_sequence_length) mutable {
    options.max_sequence_length = std::min(max_sequence_length, engine->parts().limits.max_sequence_length);
    return sequence(std::make_shared<sequence_state>(engine, options, read, sequence_state::opened_by::strategy));
  };
}

// From strategy to stream

void strategy_stream::write(sampled_token next) {
  if (ended()) return;
  timeline().set_result_time(engine_->now());
  add_credits(-1);
  take_token(std::move(next), engine_->view());
  if (ended()) engine_->enqueue(shared_from_this());
}

void strategy_stream::close(finish_reason reason, std::optional<float> score) {
  {
    const completion_lock lock(*this);
    if (stage_ == stage::ended) return;
    score_ = score;
  }
  finish(engine_->view(), reason);
  engine_->enqueue(shared_from_this());
}

void strategy_stream::close(const diagnostics& why) noexcept {
  const auto ended = engine_->error();
  fail(ended ? ended : why);
  engine_->enqueue(shared_from_this());
}

std::optional<float> strategy_stream::score() const {
  const std::lock_guard lock(mutex_);
  return stage_ == stage::ended ? score_ : std::nullopt;
}

// Its reader's pace

void strategy_stream::start_ready(std::shared_ptr<operation<>> wait) {
  const completion_lock lock(*this);
  if (ready_ && !ready_->dropped())
    return complete(std::move(wait), {error::operation_in_progress, "an async_ready() is pending on this output"});
  ready_ = std::move(wait);
  if (credits_ > 0 || stage_ == stage::ended) complete(ready_, error_code());
}

void strategy_stream::cancel(const pending_operation& wait, net::cancellation_type type) noexcept {
  stream_state::cancel(wait, type);
  const completion_lock lock(*this);
  if (ready_.get() == &wait) complete(std::exchange(ready_, nullptr), net::error::operation_aborted);
}

void strategy_stream::settle(pending_operation& called) noexcept {
  stream_state::settle(called);
  const std::lock_guard lock(mutex_);
  if (&called == ready_.get()) ready_.reset();
}

void strategy_stream::grant(int credits, loop_view&) { add_credits(credits); }

void strategy_stream::add_credits(int credits) {
  const completion_lock lock(*this);
  credits_ += credits;
  if (credits_ > 0 && ready_) complete(ready_, error_code());
}

void strategy_stream::complete_ready() noexcept {
  const completion_lock lock(*this);
  if (ready_) complete(ready_, error_code());
}

// Its end

void strategy_stream::leave(loop_view& loop) {
  stream_state::leave(loop);
  engine_->cancel_wait(*this);
  complete_ready();
  if (const auto run = std::exchange(run_, nullptr)) run->leave();
}

void strategy_stream::fail(const diagnostics& why) noexcept {
  stream_state::fail(why);
  complete_ready();
}

}  // namespace detail

// What a strategy has of it

strategy_output::~strategy_output() {
  if (shared_) shared_->close({error::out_of_memory, "the strategy was destroyed before it finished the stream"});
}

void strategy_output::write(sampled_token next) {
  if (shared_) shared_->write(std::move(next));
}

void strategy_output::finish(finish_reason reason, std::optional<float> score) {
  if (shared_) shared_->close(reason, score);
}

void strategy_output::fail(const diagnostics& why) noexcept {
  if (shared_) shared_->close(why);
}

bool strategy_output::ended() const { return !shared_ || shared_->ended(); }

detail::initiation<void()> strategy_output::ready_initiation() const {
  return {shared_, detail::call_member<&detail::strategy_stream::start_ready>};
}

}  // namespace cogen
