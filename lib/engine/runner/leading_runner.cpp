#include "engine/runner/leading_runner.hpp"

#include "engine/runner/rank_snapshot.hpp"
#include "engine/runner/step_message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

namespace cogen::detail {

bool is_answered(const scheduler::step& step) {
  return !step.swap_outs.empty() || !step.swap_ins.empty() || !step.checkpoints.empty();
}

void ranked_swaps::hold(swap_listener& listener) {
  const std::lock_guard lock(mutex_);
  if (&listener != this) listener_ = &listener;
  held_ = true;
}

void ranked_swaps::release(const std::vector<scheduler::swap_id>& failed_elsewhere) noexcept {
  std::vector<end> ended;
  {
    const std::lock_guard lock(mutex_);
    failed_elsewhere_.insert(failed_elsewhere_.end(), failed_elsewhere.begin(), failed_elsewhere.end());
    held_ = false;
    ended.swap(waiting_);
  }
  for (auto& each : ended) pass_on(std::move(each));
}

void ranked_swaps::on_swap_done(scheduler::swap_id name, std::exception_ptr error) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (held_) return waiting_.push_back({name, std::move(error)});
  }
  pass_on({name, std::move(error)});
}

void ranked_swaps::post_to_engine_thread(std::function<void()> job) noexcept {
  std::unique_lock lock(mutex_);
  auto* const listener = listener_;
  lock.unlock();
  listener->post_to_engine_thread(std::move(job));
}

void ranked_swaps::pass_on(end swap) noexcept {
  swap_listener* listener = nullptr;
  {
    const std::lock_guard lock(mutex_);
    listener = listener_;
    const bool failed = std::erase(failed_elsewhere_, swap.name) > 0;
    if (failed && !swap.error)
      swap.error = std::make_exception_ptr(std::runtime_error("another rank could not swap its part of the slot"));
    if (swap.error) failed_.push_back(swap.name);
  }
  listener->on_swap_done(swap.name, std::move(swap.error));
}

std::vector<scheduler::swap_id> ranked_swaps::take_failed() {
  const std::lock_guard lock(mutex_);
  return std::exchange(failed_, {});
}

/// What fails here ends the others' waits.
template <class Work>
auto leading_runner::attempt(const Work& work) const {
  try {
    return work();
  } catch (const std::exception& error) {
    ranks_.fail(error.what());
    throw;
  }
}

leading_runner::leading_runner(std::unique_ptr<runner> own, parallel::rank_group& ranks)
    : own_(std::move(own)), ranks_(ranks) {
  ranks_.gather_at_rank_0();
}

leading_runner::~leading_runner() {
  try {
    attempt([&] {
      own_->finish();
      tell(rank_command::end);
      ranks_.flush();
    });
  } catch (const std::exception&) {  // the others have failed, or know now that this rank has
  }
}

void leading_runner::tell(rank_command command, const auto&... values) const {
  std::vector<std::byte> message;
  message_writer writer(message);
  writer.add(command);
  (writer.add(values), ...);
  ranks_.tell(message);
}

void leading_runner::start() {
  attempt([&] { own_->start(); });
}

void leading_runner::launch(step& step) {
  attempt([&] { run(step); });
}

void leading_runner::finish() {
  attempt([&] { own_->finish(); });
}

void leading_runner::trim() {
  attempt([&] {
    tell(rank_command::trim);
    ranks_.flush();
    own_->trim();
  });
}

void leading_runner::run(step& step) {
  undo_failed_swaps(step);
  swaps_.hold(step.swaps());
  step.report_swaps_to(swaps_);
  for (const auto& each : step.swap_ins) filled_slots_[each.name] = each.slot;
  std::vector<std::byte> message;
  message_writer writer(message);
  writer.add(rank_command::run);
  write_step(step, writer);
  ranks_.tell(message);
  own_->launch(step);
  if (step.rows.empty()) ranks_.flush();
  swaps_.release(is_answered(step) ? take_failures(step) : std::vector<scheduler::swap_id>());
}

/// Ranks where a swap went well forget it, too.
void leading_runner::undo_failed_swaps(step& step) {
  for (const auto name : swaps_.take_failed()) {
    step.drops.push_back(name);
    if (const auto filled = filled_slots_.extract(name)) step.clears.push_back(filled.mapped());
  }
}

std::vector<scheduler::swap_id> leading_runner::take_failures(step& step) {
  std::vector<scheduler::swap_id> swaps;
  for (const auto& answer : ranks_.answers()) {
    message_reader reader(answer);
    const auto failed = reader.read<std::vector<scheduler::swap_id>>();
    swaps.insert(swaps.end(), failed.begin(), failed.end());
    for (const auto index : reader.read<std::vector<int>>())
      step.checkpoints.at(static_cast<std::size_t>(index)).failed = true;
  }
  return swaps;
}

std::string leading_runner::snapshot_format() const {
  return fmt::format("{}, of {} tensor ranks in {} stages", own_->snapshot_format(), ranks_.tensor().count,
                     ranks_.stage().count);
}

std::shared_ptr<const kv_snapshot> leading_runner::snapshot(scheduler::swap_id name) const {
  auto own = own_->snapshot(name);
  if (!own) return nullptr;
  auto remote = attempt([&] {
    tell(rank_command::snapshot, name);
    return ranks_.answers();
  });
  return std::make_shared<const rank_snapshot>(std::move(own), std::move(remote));
}

void leading_runner::keep(scheduler::swap_id name, std::shared_ptr<const kv_snapshot> snapshot) {
  const auto whole = std::dynamic_pointer_cast<const rank_snapshot>(snapshot);
  if (!whole) throw std::invalid_argument("a snapshot of one process is not a snapshot of several ranks");
  for (int rank = 1; rank < ranks_.size(); ++rank) {
    std::vector<std::byte> message;
    message_writer writer(message);
    writer.add(rank_command::keep), writer.add(name), writer.add(whole->encoder_input());
    writer.add_bytes(whole->of_rank(rank));
    attempt([&] { ranks_.tell(rank, message); });
  }
  attempt([&] { ranks_.flush(); });
  own_->keep(name, whole->own());
}

runner::finite_check leading_runner::check_of_numbers() const {
  return [check = own_->check_of_numbers(), ranks = ranks_.size()](std::span<const std::byte> bytes, int length,
                                                                   int source) {
    return !check || check(rank_parts(bytes, ranks).front(), length, source);
  };
}

std::shared_ptr<const kv_snapshot> leading_runner::make_snapshot(std::vector<std::byte> bytes,
                                                                 int encoder_input) const {
  const auto parts = rank_parts(bytes, ranks_.size());
  std::vector<std::vector<std::byte>> remote;
  for (const auto& each : std::span(parts).subspan(1)) remote.emplace_back(each.begin(), each.end());
  auto own = own_->make_snapshot({parts.front().begin(), parts.front().end()}, encoder_input);
  return std::make_shared<const rank_snapshot>(std::move(own), std::move(remote));
}

}  // namespace cogen::detail
