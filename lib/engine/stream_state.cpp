#include "engine/stream_state.hpp"

#include "engine/checked_source.hpp"
#include "engine/draw_outcome.hpp"
#include "engine/driver.hpp"
#include "engine/failure_of.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cogen::detail {
namespace {

std::string no_chat(const std::string& why) {
  if (why.empty()) return "the prompt is a chat, and the model brings no chat template: give plain text or tokens";
  return fmt::format("the prompt is a chat, and the model's chat template is not understood: {}", why);
}

}  // namespace

stream_state::stream_state(std::shared_ptr<driver> engine, request what)
    : participant(std::move(engine)), request_(std::move(what)), opened_(engine_->now()) {}

// What the handle asks for

async::engine_executor stream_state::executor() const { return engine_->executor(); }

net::any_io_executor stream_state::default_executor() const { return engine_->default_executor(); }

void stream_state::begin() noexcept {
  try {
    prepare();
  } catch (...) {
    return fail(failure_of(std::current_exception()));
  }
  want_attention();
}

void stream_state::start_next(std::shared_ptr<next_operation> wait, std::optional<clock::duration> limit) {
  locked lock(*this);
  if (busy()) return complete(wait, make_error_code(error::operation_in_progress), std::optional<piece>());
  next_ = wait;
  next_limit_ = limit ? std::optional(engine_->now() + *limit) : std::nullopt;
  if (ready_.empty()) ask();
  serve_waiters();
  const bool in_need = owed_ >= std::max(1, lookahead() / 2) || (next_ && next_limit_);
  lock.unlock();
  if (in_need) want_attention();
}

void stream_state::cancel_next(const next_operation& wait) noexcept {
  const locked lock(*this);
  if (next_.get() != &wait) return;
  complete(std::exchange(next_, nullptr), net::error::operation_aborted, std::optional<piece>());
}

void stream_state::start_complete(std::shared_ptr<complete_operation> wait) {
  locked lock(*this);
  if (busy()) return complete(wait, make_error_code(error::operation_in_progress), completion());
  whole_ = wait;
  thinking_ = false;
  const int uncredited = static_cast<int>(ready_.size()) - std::exchange(credited_, static_cast<int>(ready_.size()));
  if (lookahead() > 0) owed_ += uncredited;
  ask();
  serve_waiters();
  lock.unlock();
  want_attention();
}

void stream_state::cancel_complete(const complete_operation& wait, net::cancellation_type type) noexcept {
  const locked lock(*this);
  if (whole_.get() != &wait) return;
  if ((type & net::cancellation_type::terminal) != net::cancellation_type::none)
    complete(std::exchange(whole_, nullptr), net::error::operation_aborted, completion());
  else
    complete_whole();
}

void stream_state::stop() noexcept {
  {
    const locked lock(*this);
    if (ended_) return;
    stop_asked_ = true;
  }
  want_attention();
}

void stream_state::abort() noexcept {
  {
    const locked lock(*this);
    aborted_ = true;
    if (next_) complete(std::exchange(next_, nullptr), net::error::operation_aborted, std::optional<piece>());
    if (whole_) complete(std::exchange(whole_, nullptr), net::error::operation_aborted, completion());
  }
  engine_->mail(shared_from_this());
}

bool stream_state::ended() const {
  std::lock_guard lock(mutex_);
  return ended_;
}

finish_reason stream_state::reason() const {
  std::lock_guard lock(mutex_);
  return reason_;
}

cogen::usage stream_state::usage() const {
  std::lock_guard lock(mutex_);
  return usage_;
}

failure stream_state::error() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

void stream_state::want_attention() {
  if (!engine_->mail(shared_from_this())) fail(engine_->error());
}

// From request to sequence

void stream_state::prepare() {
  check();
  const auto& parts = engine_->parts();
  source_ = checked_source(source_tokens(), parts, engine_->vocabulary());
  auto prompt = parts.sources ? answer_tokens() : prompt_tokens();
  if (prompt.empty()) throw std::invalid_argument("the prompt is empty: it must hold at least one token");
  for (const token id : prompt)
    if (id < 0 || id >= engine_->vocabulary())
      throw std::invalid_argument(
          fmt::format("the prompt holds token {}; the vocabulary ends at {}", id, engine_->vocabulary() - 1));
  if (static_cast<int>(prompt.size()) >= parts.limits.max_length)
    throw boost::system::system_error(
        make_error_code(error::does_not_fit),
        fmt::format("the prompt has {} tokens; a sequence holds {} at most, with at least one generated", prompt.size(),
                    parts.limits.max_length));
  if (!request_.ignores_end()) end_tokens_ = parts.end_tokens;
  end_tokens_.insert(end_tokens_.end(), request_.stop_tokens().begin(), request_.stop_tokens().end());
  sampler_.emplace(request_.sampling(), engine_->vocabulary(), end_tokens_);
  cutter_.emplace(parts.tokenizer.get(), request_.stop_strings());
  random_ = random_stream(request_.sampling().seed().value_or(engine_->fresh_seed()));
  history_.append_given(prompt);
  const locked lock(*this);
  usage_.prompt_tokens = static_cast<int>(prompt.size());
}

void stream_state::check() const {
  if (request_.max_tokens() < 1 && request_.max_tokens() != request::whole_context)
    throw std::invalid_argument(fmt::format("max_tokens is {}; it must be at least 1", request_.max_tokens()));
  if (lookahead() < 0) throw std::invalid_argument(fmt::format("lookahead is {}; it must be at least 0", lookahead()));
  for (const token id : request_.stop_tokens())
    if (id < 0 || id >= engine_->vocabulary())
      throw std::invalid_argument(
          fmt::format("stop token {} does not exist; the vocabulary ends at {}", id, engine_->vocabulary() - 1));
}

std::vector<token> stream_state::source_tokens() const {
  if (const auto* ids = std::get_if<request::ids>(&request_.source())) return *ids;
  const auto* text = std::get_if<std::string>(&request_.source());
  if (!text) return {};
  const auto& tokenizer = engine_->parts().tokenizer;
  if (!tokenizer) throw std::invalid_argument("the source is text, and this engine has no tokenizer");
  return tokenizer->encode(*text, {.add_special = true});
}

/// How the answer beside a source begins: with the start token, once.
std::vector<token> stream_state::answer_tokens() const {
  const auto& parts = engine_->parts();
  const auto* text = std::get_if<std::string>(&request_.prompt());
  auto begun = text && parts.tokenizer ? parts.tokenizer->encode(*text) : prompt_tokens();
  if (begun.empty() || begun.front() != parts.sources->start) begun.insert(begun.begin(), parts.sources->start);
  return begun;
}

std::vector<token> stream_state::prompt_tokens() const {
  if (const auto* ids = std::get_if<request::ids>(&request_.prompt())) return *ids;
  const auto& parts = engine_->parts();
  const auto* messages = std::get_if<request::messages>(&request_.prompt());
  if (messages && !parts.chat) throw std::invalid_argument(no_chat(parts.chat_error));
  if (!parts.tokenizer) throw std::invalid_argument("the prompt is text, and this engine has no tokenizer");
  if (!messages) return parts.tokenizer->encode(std::get<std::string>(request_.prompt()), {.add_special = true});
  text::template_options options;
  if (const auto bos = parts.tokenizer->bos()) options.bos = parts.tokenizer->token_text(*bos);
  if (const auto eos = parts.tokenizer->eos(); !eos.empty()) options.eos = parts.tokenizer->token_text(eos.front());
  const auto segments = parts.chat->render_segments(*messages, options);
  return parts.tokenizer->encode(segments, {.parse_special = true});
}

void stream_state::submit() {
  if (engine_->full())
    throw boost::system::system_error(
        make_error_code(error::queue_full),
        fmt::format("the engine holds {} sequences, as many as it may", engine_->options().max_sequences));
  const auto prompt = history_.tokens();
  const int held = static_cast<int>(prompt.size());
  const int room = engine_->parts().limits.max_length - held;
  scheduler::sequence_options options;
  options.end_tokens = end_tokens_;
  options.max_new_tokens =
      request_.max_tokens() == request::whole_context ? room : std::min(request_.max_tokens(), room);
  options.max_length = held + options.max_new_tokens;
  options.source = source_;
  options.priority = request_.priority();
  options.tenant = request_.tenant();
  options.release_at_end = true;
  id_ = engine_->plans().submit(options, {{prompt.begin(), prompt.end()}, scheduler::output::sample, lookahead()});
  engine_->join(*id_, shared_from_this());
}

// What the engine's thread does

void stream_state::attend() {
  post_again();
  locked lock(*this);
  if (aborted_) {
    ended_ = true;
    lock.unlock();
    return leave();
  }
  if (ended_) return;
  const bool first = !std::exchange(submitted_, true);
  const bool stop = stop_asked_;
  const int credits = std::exchange(owed_, 0);
  if (credits > 0) thinking_ = false;
  const auto limit = next_ ? next_limit_ : std::nullopt;
  lock.unlock();
  if (stop) return finish(finish_reason::stopped);
  if (first) submit();
  if (credits > 0) engine_->plans().grant(*id_, credits);
  if (limit) engine_->wake_at(*limit, weak_from_this());
}

void stream_state::take(const scheduler::event& event, row_outcome& outcome) {
  switch (event.what) {
    case scheduler::event::kind::token:
      return take_token(std::move(outcome.chosen),
                        std::find(end_tokens_.begin(), end_tokens_.end(), event.sampled) != end_tokens_.end());
    case scheduler::event::kind::logits:
      return;
    case scheduler::event::kind::finished:
      if (event.reason == scheduler::finish::failed) return finish(finish_reason::failed, outcome.error);
      return finish(event.reason == scheduler::finish::end_token ? finish_reason::end : finish_reason::length);
  }
}

void stream_state::take_token(token_choice chosen, bool is_end) {
  if (is_end) return;
  auto cut = cutter_->push(chosen.id);
  uncut_.push_back(std::move(chosen));
  const bool makes_piece = !cut.text.empty() || !engine_->parts().tokenizer;
  {
    const locked lock(*this);
    if (usage_.generated_tokens++ == 0) usage_.time_to_first_token = engine_->now() - opened_;
    if (makes_piece && !cut.stopped) push_piece(std::move(cut.text));
  }
  if (cut.stopped) {
    cutter_->flush();
    {
      const locked lock(*this);
      push_piece(std::move(cut.text));
    }
    return finish(finish_reason::stop_string);
  }
  if (!makes_piece) return engine_->plans().grant(*id_, 1);
  locked lock(*this);
  const bool read_already = whole_ != nullptr;
  if (read_already) ++credited_;
  serve_waiters();
  thinking_ = lookahead() == 0 && !whole_;
  lock.unlock();
  if (read_already) engine_->plans().grant(*id_, 1);
}

void stream_state::finish(finish_reason reason, failure why) {
  auto last = cutter_ ? cutter_->flush() : text_cutter::cut{};
  leave();
  const locked lock(*this);
  if (ended_) return;
  if (!last.text.empty() || !uncut_.empty()) push_piece(std::move(last.text));
  ended_ = true;
  thinking_ = false;
  reason_ = reason;
  failure_ = std::move(why);
  usage_.total_time = engine_->now() - opened_;
  serve_waiters();
}

void stream_state::fail(const failure& why) noexcept {
  const locked lock(*this);
  if (ended_) return;
  ended_ = true;
  thinking_ = false;
  reason_ = finish_reason::failed;
  failure_ = why;
  usage_.total_time = engine_->now() - opened_;
  serve_waiters();
}

void stream_state::expire(clock::time_point now) {
  const locked lock(*this);
  if (!next_ || !next_limit_ || *next_limit_ > now) return;
  complete(std::exchange(next_, nullptr), make_error_code(error::timed_out), std::optional<piece>());
}

bool stream_state::owner_is_thinking() const {
  const locked lock(*this);
  return thinking_ && !aborted_;
}

/// The token counts at once: where two steps are in flight, the next one is drawn before this one is taken.
row_outcome stream_state::draw(std::span<float> scores) noexcept try {
  const auto key = random_.key(static_cast<std::uint32_t>(history_.length()));
  auto outcome = draw_outcome(*sampler_, scores, history_, key);
  if (!outcome.error) history_.append_generated(outcome.chosen.id);
  return outcome;
} catch (...) {
  return {failure_of(std::current_exception()), {}, {}};
}

// Pieces, under the lock

bool stream_state::busy() {
  if (next_ && next_->dropped()) next_.reset();
  if (whole_ && whole_->dropped()) whole_.reset();
  return next_ || whole_;
}

void stream_state::ask() {
  if (lookahead() == 0 && !std::exchange(asked_, true)) ++owed_;
}

void stream_state::push_piece(std::string text) {
  ready_.push_back({std::move(text), std::exchange(uncut_, {})});
  asked_ = false;
}

piece stream_state::read_piece() {
  auto front = std::move(ready_.front());
  ready_.pop_front();
  if (credited_ > 0)
    --credited_;
  else if (lookahead() > 0)
    ++owed_;
  return front;
}

completion stream_state::gather_completion() {
  completion all;
  std::size_t bytes = 0, tokens = 0;
  for (const auto& each : ready_) bytes += each.text.size(), tokens += each.tokens.size();
  all.text.reserve(bytes);  // from here on nothing throws, and no piece is lost
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
    complete(std::exchange(next_, nullptr), error_code(), std::optional(read_piece()));
  else if (next_ && ended_)
    complete(std::exchange(next_, nullptr), failure_.code(), std::optional<piece>());
  else if (whole_ && ended_ && failure_)
    complete(std::exchange(whole_, nullptr), failure_.code(), completion());
  else if (whole_ && ended_)
    complete_whole();
}

void stream_state::complete_whole() {
  auto waiting = std::exchange(whole_, nullptr);
  try {
    auto all = gather_completion();
    complete(std::move(waiting), error_code(), std::move(all));
  } catch (...) {
    complete(std::move(waiting), failure_of(std::current_exception()).code(), completion());
  }
}

}  // namespace cogen::detail
