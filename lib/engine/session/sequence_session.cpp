#include "engine/checked_encoder_input.hpp"
#include "engine/engine_loop.hpp"
#include "engine/runner/diagnostics_of.hpp"
#include "engine/sequence_state.hpp"
#include "engine/snapshot/session_file.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace cogen::detail {

// Suspending and saving

void sequence_state::start_suspend(std::shared_ptr<plain_operation> wait) { start_plain(wait, suspend_command{wait}); }

void sequence_state::start_save(std::shared_ptr<plain_operation> wait, std::filesystem::path path) {
  start_copy(std::move(wait),
             [path = std::move(path)](const auto&... session) { return write_session(path, session...); });
}

void sequence_state::start_copy(std::shared_ptr<plain_operation> wait, session_target target) {
  start_plain(wait, save_command{wait, std::move(target)});
}

void sequence_state::start_plain(std::shared_ptr<plain_operation> wait, command item) {
  completion_lock lock(*this);
  if (busy()) return complete(std::move(wait), conflict());
  if (ended_) return complete(std::move(wait), diagnostics_);
  commands_.push_back(std::move(item));
  plain_ = std::move(wait);
  lock.unlock();
  notify_engine();
}

bool sequence_state::awaits(const std::shared_ptr<plain_operation>& wait) const {
  const std::lock_guard lock(mutex_);
  return plain_ == wait && !wait->dropped();
}

void sequence_state::execute(suspend_command& suspension, loop_view& loop) {
  suspending_ = std::move(suspension.wait);
  continue_suspending(loop);
}

/// Suspends the sequence. While its KV cache is being swapped or copied, waits for swap_ended(), which calls this
/// again.
void sequence_state::continue_suspending(loop_view& loop) {
  if (id_) loop.scheduler().suspend(*id_);
  if (id_ && loop.scheduler().in_transfer(*id_)) return;
  complete_plain(std::exchange(suspending_, nullptr));
}

void sequence_state::complete_plain(const std::shared_ptr<plain_operation>& wait, const diagnostics& why) {
  const completion_lock lock(*this);
  if (plain_ != wait) return;
  if (why) diagnostics_ = why;
  complete(std::exchange(plain_, nullptr), why);
}

void sequence_state::swap_ended(loop_view& loop) {
  if (suspending_) continue_suspending(loop);
  if (saving_) continue_saving(loop);
}

void sequence_state::execute(save_command& save, loop_view& loop) {
  saving_ = std::move(save);
  continue_saving(loop);
}

/// Saves the sequence. While its KV cache is being swapped or copied, waits for swap_ended(), which calls this again.
void sequence_state::continue_saving(loop_view& loop) {
  auto& scheduler = loop.scheduler();
  if (!awaits(saving_->wait)) return saving_.reset();
  if (!id_) return write(nullptr, {});
  if (scheduler.in_transfer(*id_)) return;
  auto at_hand = scheduler.stored(*id_);
  if (!at_hand) at_hand = saving_->copy;
  if (at_hand) return write(loop.runner().snapshot(at_hand->name), at_hand->snapshot);
  if (!engine_->snapshot_format().empty()) saving_->copy = scheduler.copy_out(*id_);
  if (!saving_->copy) write(nullptr, {});
}

void sequence_state::write(const std::shared_ptr<const kv_snapshot>& snapshot, const scheduler::snapshot& extent) {
  auto state = saved_state();
  if (snapshot) state.snapshot = extent;
  auto saved = std::exchange(saving_, std::nullopt).value();
  engine_->offload(
      [self = self(), wait = saved.wait, target = std::move(saved.target), state = std::move(state), snapshot] {
        diagnostics why;
        try {
          why = target(state, snapshot, [&] { return !self->awaits(wait); });
        } catch (...) {
          why = diagnostics_of(std::current_exception());
        }
        self->complete_plain(wait, why);
      });
}

void sequence_state::report(const diagnostics& why) noexcept {
  const std::lock_guard lock(mutex_);
  diagnostics_ = why;
}

session sequence_state::saved_state() const {
  session state;
  state.model = engine_->parts().fingerprint;
  state.cache = engine_->snapshot_format();
  state.seed = sampling_.random.seed();
  state.branch = sampling_.random.branch();
  state.forks = sampling_.random.forks();
  state.truncations = sampling_.truncations;
  state.tokens.assign(sampling_.history.tokens().begin(), sampling_.history.tokens().end());
  for (std::size_t i = 0; i < state.tokens.size(); ++i) state.generated.push_back(sampling_.history.was_generated(i));
  if (encoder_input_) state.encoder_input = *encoder_input_;
  state.exact = exact();
  return state;
}

// Opening

void sequence_state::start_open(std::shared_ptr<open_operation> wait, std::filesystem::path path) {
  if (begin_open(std::move(wait))) engine_->offload([self = self(), path = std::move(path)] { self->read(path); });
}

bool sequence_state::begin_open(std::shared_ptr<open_operation> wait) {
  {
    const completion_lock lock(*this);
    opening_ = std::move(wait);
  }
  const auto refused = begin_work();
  if (refused) fail_opening(*refused);
  return !refused;
}

session_limits sequence_state::limits() const {
  const auto& parts = engine_->parts();
  return {.model = parts.fingerprint,
          .cache = engine_->snapshot_format(),
          .vocabulary = engine_->vocabulary(),
          .max_sequence_length = *options_.max_sequence_length,
          .max_encoder_input = parts.encoder_inputs ? parts.encoder_inputs->longest : 0};
}

void sequence_state::drop(pending_operation& dropped) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (opening_.get() != &dropped) return;
    opening_.reset();
    aborted_ = true;
  }
  engine_->enqueue(shared_from_this());
}

void sequence_state::read(const std::filesystem::path& path) try {
  check_and_finish_open("session " + path.string(), read_session_file(path, limits()));
} catch (...) {
  fail_opening(diagnostics_of(std::current_exception()));
}

void sequence_state::check_and_finish_open(const std::string& name, read_session found) noexcept try {
  if (found.saved.snapshot) check_numbers(name, found);
  finish_open(std::move(found));
} catch (...) {
  fail_opening(diagnostics_of(std::current_exception()));
}

void sequence_state::check_numbers(const std::string& name, const read_session& found) const {
  const auto refuse = [&](const char* why) { throw session_error(name, make_error_code(error::bad_session), why); };
  const auto& is_finite = engine_->check_of_numbers();
  bool finite = true;
  try {
    finite = !is_finite || is_finite(found.bytes, found.saved.snapshot->length, found.snapshot_source);
  } catch (const std::runtime_error& error) {  // its parts are not those of the ranks
    refuse(error.what());
  }
  if (!finite) refuse("it holds a number that is not finite");
}

void sequence_state::finish_open(read_session found) {
  {
    const std::lock_guard lock(mutex_);
    if (!opening_) return leave_engine();
    read_ = std::move(found);
  }
  notify_engine();
}

void sequence_state::restore(read_session& loaded, loop_view& loop) try {
  auto& saved = loaded.saved;
  sampling_.random = random_stream(saved.seed, saved.branch, saved.forks);
  sampling_.truncations = saved.truncations;
  if (!saved.encoder_input.empty())
    encoder_input_ = std::make_shared<const std::vector<token>>(std::move(saved.encoder_input));
  const auto sampled = static_cast<int>(std::ssize(saved.generated) - std::ranges::count(saved.generated, 0));
  id_ = loop.scheduler().resume(served_as(), {std::move(saved.tokens), sampled, saved.snapshot, saved.exact});
  if (const auto kept = loop.scheduler().stored(*id_))
    loop.runner().keep(kept->name, loop.runner().make_snapshot(std::move(loaded.bytes), loaded.snapshot_source));
  loop.join(*id_, shared_from_this());
  const completion_lock lock(*this);
  sampling_.history = token_history(loop.scheduler().tokens(*id_), saved.generated);
  held_ = sampling_.history.length();
  exact_ = saved.exact;
  if (opening_) complete(opening_);
  end_work();
} catch (const std::length_error& e) {
  fail_opening(diagnostics(error::does_not_fit, e.what()));
}

void sequence_state::fail_opening(const diagnostics& why) {
  const completion_lock lock(*this);
  if (!opening_ || opening_->completed()) return;
  ended_ = true;
  diagnostics_ = why;
  complete(std::exchange(opening_, nullptr), why, sequence(self()));
  leave_engine();
}

}  // namespace cogen::detail
