#include "engine/runner/rank_worker.hpp"

#include "engine/runner/leading_runner.hpp"
#include "engine/runner/message.hpp"
#include "engine/runner/step_message.hpp"

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

namespace cogen::detail {

namespace {

/// The swaps of one step at a time. Devices report their ends on other threads.
class step_swaps final : public swap_listener {
 public:
  void on_swap_done(scheduler::swap_id name, std::exception_ptr error) noexcept override {
    const std::lock_guard lock(mutex_);
    ++ended_;
    if (error) failed_.push_back(name);
    changed_.notify_one();
  }
  void post_to_engine_thread(std::function<void()> job) noexcept override {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    changed_.notify_one();
  }

  /// Runs what is left of a step's swaps, and waits for their ends. Those that have failed.
  std::vector<scheduler::swap_id> finish(std::size_t count) {
    std::unique_lock lock(mutex_);
    while (ended_ < count || !jobs_.empty()) {
      changed_.wait(lock, [&] { return ended_ >= count || !jobs_.empty(); });
      const auto jobs = std::exchange(jobs_, {});
      lock.unlock();
      for (const auto& job : jobs) job();
      lock.lock();
    }
    ended_ = 0;
    return std::exchange(failed_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t ended_ = 0;
  std::vector<scheduler::swap_id> failed_;
  std::vector<std::function<void()>> jobs_;
};

/// Steps take turns in their memory, which a device may use until they have ended.
class steps_in_turn {
 public:
  explicit steps_in_turn(swap_listener& swaps) : first_(swaps, on_done_), second_(swaps, on_done_) {
    first_.done(), second_.done();
  }

  /// The memory of the step before the last one, which has ended. Throws its error.
  step& next() {
    std::swap(next_, last_);
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return next_->is_done(); });
    if (next_->error()) std::rethrow_exception(next_->error());
    return *next_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  const std::function<void()> on_done_ = [this] {
    const std::lock_guard lock(mutex_);
    ended_.notify_one();
  };
  step first_, second_;
  step* next_ = &first_;
  step* last_ = &second_;
};

class worker {
 public:
  worker(std::unique_ptr<runner> own, parallel::rank_group& ranks) : ranks_(ranks), own_(std::move(own)) {}

  void run() {
    ranks_.gather_at_rank_0();
    own_->start();
    while (obey(ranks_.listen())) {
    }
  }

 private:
  /// False if there is nothing more to do.
  bool obey(std::span<const std::byte> message) {
    message_reader reader(message);
    switch (reader.read<rank_command>()) {
      case rank_command::run:
        launch(reader);
        return true;
      case rank_command::snapshot:
        ranks_.answer(bytes_of(reader.read<scheduler::swap_id>()));
        return true;
      case rank_command::keep: {
        const auto name = reader.read<scheduler::swap_id>();
        const auto encoder_input = reader.read<int>();
        own_->keep(name, own_->make_snapshot({reader.rest().begin(), reader.rest().end()}, encoder_input));
        unchecked_.insert(name);
        return true;
      }
      case rank_command::trim:
        own_->trim();
        return true;
      case rank_command::end:
        return false;
    }
    throw std::runtime_error("rank 0 told something unknown");
  }

  void launch(message_reader& reader) {
    auto& step = steps_.next();
    read_step(reader, step);
    for (const auto& each : step.swap_ins) check_numbers(each);
    for (const auto name : step.drops) unchecked_.erase(name);
    own_->launch(step);
    const auto failed_swaps = swaps_.finish(step.swap_outs.size() + step.swap_ins.size());
    if (!is_answered(step)) return;
    std::vector<int> failed;
    for (std::size_t index = 0; index < step.checkpoints.size(); ++index)
      if (step.checkpoints[index].failed) failed.push_back(static_cast<int>(index));
    answer(failed_swaps, failed);
  }

  /// A session is from anywhere, and rank 0 has looked at its own part of it: one whose numbers are not finite becomes
  /// one of no bytes, which cannot be swapped in.
  void check_numbers(const scheduler::swapping_in& swap) {
    if (unchecked_.erase(swap.name) == 0) return;
    const auto is_finite = own_->check_of_numbers();
    const int encoder_input = own_->snapshot(swap.name)->encoder_input();
    if (is_finite && !is_finite(bytes_of(swap.name), swap.length, encoder_input))
      own_->keep(swap.name, own_->make_snapshot({}, encoder_input));
  }

  std::vector<std::byte> bytes_of(scheduler::swap_id name) const {
    const auto snapshot = own_->snapshot(name);
    if (!snapshot) throw std::runtime_error("there is no snapshot of a swap that rank 0 has one of");
    std::vector<std::byte> bytes;
    bytes.reserve(snapshot->size());
    const auto read = snapshot->read();
    for (auto piece = read(); !piece.empty(); piece = read()) bytes.insert(bytes.end(), piece.begin(), piece.end());
    return bytes;
  }

  void answer(const auto&... values) {
    std::vector<std::byte> message;
    message_writer writer(message);
    (writer.add(values), ...);
    ranks_.answer(message);
  }

  parallel::rank_group& ranks_;
  std::set<scheduler::swap_id> unchecked_;  // what was kept, and not yet swapped in
  step_swaps swaps_;
  steps_in_turn steps_{swaps_};
  const std::unique_ptr<runner> own_;  // ends before what its steps use
};

}  // namespace

/// Its runner waits for its device when it ends, which may wait for other ranks: they are told first.
void run_steps(std::unique_ptr<runner> own, parallel::rank_group& ranks) {
  worker follower(std::move(own), ranks);
  try {
    follower.run();
  } catch (const std::exception& error) {
    ranks.fail(error.what());
    throw;
  }
}

}  // namespace cogen::detail
