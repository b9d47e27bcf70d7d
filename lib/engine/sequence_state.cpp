#include "engine/sequence_state.hpp"

#include "engine/checked_request.hpp"
#include "engine/engine_loop.hpp"
#include "engine/loop_view.hpp"
#include "engine/runner/diagnostics_of.hpp"
#include "engine/salt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace cogen::detail {

sequence_state::sequence_state(std::shared_ptr<engine_loop> engine, const open_options& options,
                               scheduler::encoder_tokens encoder_input, opened_by opener)
    : request_state(std::move(engine)),
      options_(options),
      opener_(opener),
      encoder_input_(std::move(encoder_input)),
      sampling_(random_stream(engine_->fresh_seed()), engine_->allowance()) {
  admission_.tenant = options_.tenant;
}

// Operations of the handle

engine_executor sequence_state::executor() const { return engine_->executor(); }

net::any_io_executor sequence_state::default_executor() const { return engine_->default_executor(); }

void sequence_state::start_forward(std::shared_ptr<forward_operation> wait, std::vector<token> tokens,
                                   logits_of which) {
  const auto wanted = which == logits_of::all ? scheduler::output::all_logits : scheduler::output::last_logits;
  completion_lock lock(*this);
  if (busy()) return complete(wait, conflict(), logits());
  auto wrong = problem(tokens, 0);
  if (!wrong) wrong = add_run({std::move(tokens), wanted, {}});
  if (wrong) {
    diagnostics_ = std::move(*wrong);
    return complete(wait, diagnostics_, logits());
  }
  forward_ = std::move(wait);
  lock.unlock();
  notify_engine();
}

void sequence_state::start_decode(std::shared_ptr<decode_operation> wait, std::vector<token> tokens,
                                  sampling_params params) {
  start_sampling(decode_, std::move(wait), sampled_token(), std::move(tokens), std::move(params), {});
}

void sequence_state::start_draft(std::shared_ptr<draft_operation> wait, std::vector<token> tokens,
                                 sampling_params params, std::vector<token> drafts) {
  start_sampling(draft_, std::move(wait), std::vector<sampled_token>(), std::move(tokens), std::move(params),
                 std::move(drafts));
}

template <class Operation, class Result>
void sequence_state::start_sampling(std::shared_ptr<Operation>& pending, std::shared_ptr<Operation> wait, Result none,
                                    std::vector<token> tokens, sampling_params params, std::vector<token> drafts) {
  completion_lock lock(*this);
  if (busy()) return complete(wait, conflict(), std::move(none));
  auto wrong = problem(tokens, 1);
  if (!wrong) wrong = outside_vocabulary(drafts);
  if (auto message = params.problem(engine_->vocabulary()); message && !wrong)
    wrong = diagnostics(error::invalid_request, *message);
  if (!wrong)
    wrong =
        add_run({std::move(tokens), scheduler::output::sample,
                 std::make_shared<const sampler>(std::move(params), engine_->vocabulary(), engine_->parts().end_tokens),
                 std::move(drafts)});
  if (wrong) {
    diagnostics_ = std::move(*wrong);
    return complete(wait, diagnostics_, std::move(none));
  }
  pending = std::move(wait);
  lock.unlock();
  notify_engine();
}

/// Nobody will have a sequence that is being opened, also where it is open already.
void sequence_state::cancel(const pending_operation& wait, net::cancellation_type) noexcept {
  completion_lock lock(*this);
  const auto gives_up = [&](auto& pending, auto... none) {
    if (pending.get() != &wait) return false;
    complete(std::exchange(pending, nullptr), net::error::operation_aborted, std::move(none)...);
    return true;
  };
  if (gives_up(plain_)) return;
  if (opening_.get() == &wait) {
    aborted_ = true;
    diagnostics_ = net::error::operation_aborted;
    complete(std::exchange(opening_, nullptr), diagnostics_, sequence(self()));
  } else if (gives_up(forward_, logits()) || gives_up(decode_, sampled_token()) ||
             gives_up(draft_, std::vector<sampled_token>())) {
    withdraw();
    awaits_client_ = false;
    end_work();
  } else {
    return;
  }
  lock.unlock();
  engine_->enqueue(shared_from_this());
}

void sequence_state::settle(pending_operation& called) noexcept {
  const completion_lock lock(*this);
  if (&called == opening_.get()) return std::exchange(opening_, nullptr)->set_result(error_code(), sequence(self()));
  if (&called != forward_.get() && &called != decode_.get() && &called != draft_.get()) return;
  held_ = sampling_.history.length();
  forward_.reset();
  decode_.reset();
  draft_.reset();
}

std::shared_ptr<sequence_state> sequence_state::fork() {
  auto child = std::make_shared<sequence_state>(engine_, options_, encoder_input_, opener_);
  {
    const completion_lock lock(*this);
    if (busy()) throw generation_error(conflict());
    child->held_ = held_;
    child->sampling_.history = sampling_.history.first(held_);
    child->exact_ = exact_;
    child->ended_ = ended_;
    child->diagnostics_ = diagnostics_;
    if (ended_) return child;
    child->awaits_fork_ = true;
    commands_.push_back(fork_command{child});
    engine_->admissions().fork(admission_, child->admission_);
  }
  notify_engine();
  return child;
}

void sequence_state::truncate(int length) {
  {
    const completion_lock lock(*this);
    if (busy()) throw generation_error(conflict());
    if (length < 0 || static_cast<std::size_t>(length) > held_)
      throw std::out_of_range(fmt::format("cannot cut a sequence of {} tokens to {}", held_, length));
    commands_.push_back(truncate_command{length});
    held_ = static_cast<std::size_t>(length);
  }
  notify_engine();
}

void sequence_state::constrain(std::unique_ptr<guide> guide) {
  {
    const completion_lock lock(*this);
    if (busy()) throw generation_error(conflict());
    commands_.push_back(constrain_command{std::move(guide)});
  }
  notify_engine();
}

std::vector<token> sequence_state::tokens() const {
  std::lock_guard lock(mutex_);
  const auto held = sampling_.history.tokens().first(held_);
  return {held.begin(), held.end()};
}

diagnostics sequence_state::error() const {
  std::lock_guard lock(mutex_);
  return diagnostics_;
}

bool sequence_state::exact() const {
  std::lock_guard lock(mutex_);
  return exact_;
}

void sequence_state::mark_inexact() noexcept {
  const std::lock_guard lock(mutex_);
  exact_ = false;
}

request_metrics sequence_state::request_metrics() const { return timeline().times(engine_->now()); }

void sequence_state::abort() noexcept {
  {
    const completion_lock lock(*this);
    aborted_ = true;
    complete_waiter(net::error::operation_aborted);
  }
  engine_->enqueue(shared_from_this());
}

void sequence_state::notify_engine() {
  if (!engine_->enqueue(shared_from_this())) fail(engine_->error());
}

// Under the lock

bool sequence_state::busy() {
  if (plain_ && plain_->dropped()) plain_.reset();
  const auto dropped = [](const auto& pending) { return pending && pending->dropped(); };
  if (dropped(forward_) || dropped(decode_) || dropped(draft_)) {
    forward_.reset();
    decode_.reset();
    draft_.reset();
    withdraw();
    end_work();
  }
  return forward_ || decode_ || draft_ || plain_;
}

diagnostics sequence_state::conflict() const noexcept {
  return {error::operation_in_progress, forward_ ? "an async_forward() is pending on this sequence"
                                        : decode_ || draft_
                                            ? "an async_decode() is pending on this sequence"
                                            : "an async_suspend() or async_save() is pending on this sequence"};
}

std::optional<diagnostics> sequence_state::problem(const std::vector<token>& fed, int sampled) const {
  if (ended_) return diagnostics_;
  if (auto wrong = outside_vocabulary(fed)) return wrong;
  if (fed.empty() && held_ == 0)
    return diagnostics(error::invalid_request, "the sequence is empty: at least one token must be fed to it first");
  const auto length = static_cast<int>(held_ + fed.size()) + sampled;
  if (length > *options_.max_sequence_length)
    return diagnostics(error::does_not_fit, fmt::format("the sequence would hold {} tokens; it holds {} at most",
                                                        length, *options_.max_sequence_length));
  return std::nullopt;
}

std::optional<diagnostics> sequence_state::outside_vocabulary(const std::vector<token>& tokens) const {
  for (const token id : tokens)
    if (id < 0 || id >= engine_->vocabulary())
      return diagnostics(error::invalid_request, fmt::format("token {} does not exist; the vocabulary ends at {}", id,
                                                             engine_->vocabulary() - 1));
  return std::nullopt;
}

std::optional<diagnostics> sequence_state::add_run(run_command run) {
  commands_.reserve(commands_.size() + 1);
  if (auto refused = begin_work({}, opener_ == opened_by::strategy)) {
    refused_ = engine_->enqueue(shared_from_this());
    return refused;
  }
  fed_ = run.fed.size();
  commands_.push_back(std::move(run));
  return std::nullopt;
}

void sequence_state::withdraw() noexcept {
  if (!commands_.empty() && is_run(commands_.back()))
    commands_.pop_back();
  else
    undo_to_ = held_;
  fed_ = 0;
}

void sequence_state::complete_waiter(const diagnostics& why) {
  fail_wait(forward_, why, logits());
  fail_wait(decode_, why, sampled_token());
  fail_wait(draft_, why, std::vector<sampled_token>());
  fail_wait(plain_, why);
  if (opening_ && !opening_->completed()) complete(std::exchange(opening_, nullptr), why, sequence(self()));
  end_work();
}

// On the engine thread

void sequence_state::process(loop_view& loop) {
  post_again();
  completion_lock lock(*this);
  if (std::exchange(refused_, false) && !id_) timeline().refuse(loop.now());
  if (awaits_late() || awaits_fork_) return;  // all that follows needs the sampler
  const bool leaves = aborted_;
  if (std::exchange(ended_, ended_ || leaves)) {
    lock.unlock();
    return leaves ? leave(loop) : void();
  }
  const auto undone = std::exchange(undo_to_, std::nullopt);
  auto commands = std::exchange(commands_, {});
  if (!leaves && awaits_stored_prefix(commands, loop)) {
    commands_.push_back(std::move(commands.back()));
    commands.pop_back();
  }
  auto read = std::exchange(read_, std::nullopt);
  if (leaves) std::erase_if(commands, is_run);  // forks are still carried out
  if (std::any_of(commands.begin(), commands.end(), is_operation)) awaits_client_ = false;
  lock.unlock();
  if (read && !leaves) restore(*read, loop);
  if (undone) undo(*undone, loop);
  for (auto& each : commands) std::visit([&](auto& item) { execute(item, loop); }, each);
  if (leaves) {
    timeline().end(loop.now(), request_timeline::ending::cancelled);
    leave(loop);
  }
}

/// Whether the last command is the first run, and has to wait.
bool sequence_state::awaits_stored_prefix(const std::vector<command>& commands, loop_view& loop) {
  const bool shares = options_.prefix_caching && !encoder_input_ && !id_ && !commands.empty();
  const auto* const run = shares ? std::get_if<run_command>(&commands.back()) : nullptr;
  if (!run || run->wanted == scheduler::output::all_logits) return false;
  return request_state::awaits_stored_prefix(run->fed, served_as().cache_salt, loop);
}

void sequence_state::undo(std::size_t length, loop_view& loop) {
  truncate_history(length);
  gathered_ = logits();
  sampled_.clear();
  if (!id_) return;
  loop.scheduler().abandon(*id_);
  if (loop.scheduler().tokens(*id_).size() > length) loop.scheduler().truncate(*id_, static_cast<int>(length));
}

void sequence_state::extend_history(const scheduler::token_list& tokens) {
  const std::lock_guard lock(mutex_);
  sampling_.history.extend(tokens);
}

void sequence_state::truncate_history(std::size_t length) {
  const std::lock_guard lock(mutex_);
  sampling_.truncate(length);
}

scheduler::sequence_options sequence_state::served_as() const {
  scheduler::sequence_options served;
  served.max_sequence_length = *options_.max_sequence_length;
  served.encoder_input = encoder_input_;
  served.priority = options_.priority;
  served.tenant = options_.tenant;
  served.prefix_caching = options_.prefix_caching;
  served.cache_salt = salt_of(options_.tenant, options_.cache_salt);
  return served;
}

void sequence_state::execute(run_command& run, loop_view& loop) try {
  if (!id_) {
    id_ = loop.scheduler().submit(served_as());
    loop.join(*id_, shared_from_this());
  }
  const int length = static_cast<int>(sampling_.history.length());
  auto checkpoints = checkpoints_of(run.fed, engine_->parts(), length);
  const auto most = 1 + static_cast<int>(run.drafts.size());
  loop.scheduler().start(*id_, {run.fed, run.wanted, most, 1, std::move(checkpoints)});
  if (!run.drafts.empty()) loop.scheduler().propose(*id_, std::move(run.drafts));
  extend_history(loop.scheduler().tokens(*id_));
  if (run.sampled_by) sampling_.parameters = std::move(run.sampled_by);
} catch (const std::length_error& e) {
  end_run(diagnostics(error::does_not_fit, e.what()), loop);
}

void sequence_state::execute(truncate_command& truncation, loop_view& loop) {
  ++sampling_.truncations;
  truncate_history(static_cast<std::size_t>(truncation.length));
  if (id_) loop.scheduler().truncate(*id_, truncation.length);
}

void sequence_state::execute(constrain_command& replacement, loop_view&) {
  sampling_.constraint.reset();
  if (!replacement.next_guide) return;
  sampling_.constraint =
      std::make_unique<constraint>(std::move(replacement.next_guide), text_after(sampling_.history.length()));
}

/// If the fork fails, the child ends with the error.
void sequence_state::execute(fork_command& fork, loop_view& loop) try {
  auto& child = *fork.child;
  child.awaits_fork_ = false;
  engine_->enqueue(fork.child);
  child.sampling_.random = sampling_.random.fork();
  if (sampling_.constraint) child.sampling_.constraint = std::make_unique<constraint>(sampling_.constraint->clone());
  if (!id_) return;
  child.id_ = loop.scheduler().fork(*id_);
  loop.join(*child.id_, fork.child);
  if (!loop.scheduler().exact(*child.id_)) child.mark_inexact();
} catch (...) {
  fork.child->end_with(diagnostics_of(std::current_exception()), loop);
}

void sequence_state::deliver(const scheduler::event& event, row_output& output, loop_view& loop) {
  switch (event.type) {
    case scheduler::event::kind::finished:
      if (event.reason == scheduler::finish::failed) end_run(output.error, loop);
      return;
    case scheduler::event::kind::logits: {
      gathered_.append(output.scores);
      if (!event.last) return;
      auto result = std::exchange(gathered_, logits());
      timeline().record_result();
      const completion_lock lock(*this);
      if (!forward_ || undo_to_) return;
      result.keep_last(std::max(1, static_cast<int>(fed_)));  // tokens held before may have been recomputed
      awaits_client_ = true;
      complete(forward_, error_code(), std::move(result));
      return end_work();
    }
    case scheduler::event::kind::token: {
      timeline().record_result();
      const completion_lock lock(*this);
      if (!(decode_ || draft_) || undo_to_) return;
      sampling_.append(output.chosen.id);
      if (draft_) sampled_.push_back(std::move(output.chosen));
      if (event.more) return;
      awaits_client_ = true;
      if (decode_) complete(decode_, error_code(), std::move(output.chosen));
      if (draft_) complete(draft_, error_code(), std::exchange(sampled_, {}));
      return end_work();
    }
  }
}

void sequence_state::end_run(diagnostics why, loop_view& loop) {
  std::size_t length;
  {
    std::lock_guard lock(mutex_);
    length = undo_to_.value_or(held_);
  }
  undo(length, loop);
  if (!id_) timeline().refuse(loop.now());
  const completion_lock lock(*this);
  if (undo_to_) return;
  diagnostics_ = std::move(why);
  fed_ = 0;
  complete_waiter(diagnostics_);
}

void sequence_state::fail(const diagnostics& why) noexcept {
  completion_lock lock(*this);
  if (ended_) return;
  ended_ = true;
  awaits_client_ = false;
  diagnostics_ = why;
  timeline().end(engine_->now(), aborted_ ? request_timeline::ending::cancelled : request_timeline::ending::finished);
  complete_waiter(why);
  leave_engine();
  const auto left = std::exchange(commands_, {});
  lock.unlock();
  for (const auto& item : left)
    if (const auto* const fork = std::get_if<fork_command>(&item)) fork->child->fail(why);
}

bool sequence_state::is_unwanted() const noexcept {
  const std::lock_guard lock(mutex_);
  return aborted_ || ended_ || undo_to_;
}

bool sequence_state::awaits_client() const {
  std::lock_guard lock(mutex_);
  return awaits_client_ && !aborted_;
}

}  // namespace cogen::detail
