#include "runner/rank_worker.hpp"

#include "runner/leading_runner.hpp"
#include "runner/message.hpp"
#include "runner/step_message.hpp"

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <utility>
#include <vector>

namespace cogen::detail {

namespace {

/// Notes the swaps that fail. They have ended when the step has.
class failed_swaps final : public swap_listener {
 public:
  void transferred(scheduler::swap_id name, std::exception_ptr error) noexcept override {
    if (error) names_.push_back(name);
  }
  void go_on(std::function<void()> job) noexcept override { jobs_.push_back(std::move(job)); }

  /// Runs what is left of the swaps.
  void finish() {
    while (!jobs_.empty())
      for (const auto& job : std::exchange(jobs_, {})) job();
  }
  std::vector<scheduler::swap_id> take() { return std::exchange(names_, {}); }

 private:
  std::vector<scheduler::swap_id> names_;
  std::vector<std::function<void()>> jobs_;
};

class worker {
 public:
  worker(runner& own, parallel::rank_group& ranks) : own_(own), ranks_(ranks) {}

  void run() {
    ranks_.gather_at_rank_0();
    own_.start();
    while (obey(ranks_.listen())) {
    }
  }

 private:
  /// False if there is nothing more to do.
  bool obey(std::span<const std::byte> message) {
    message_reader from(message);
    switch (from.read<rank_command>()) {
      case rank_command::run:
        read_step(from, step_);
        launch();
        return true;
      case rank_command::snapshot:
        ranks_.answer(bytes_of(from.read<scheduler::swap_id>()));
        return true;
      case rank_command::keep: {
        const auto name = from.read<scheduler::swap_id>();
        const auto encoder_input = from.read<int>();
        own_.keep(name, own_.make_snapshot({from.rest().begin(), from.rest().end()}, encoder_input));
        return true;
      }
      case rank_command::end:
        return false;
    }
    throw std::runtime_error("rank 0 told something unknown");
  }

  void launch() {
    own_.launch(step_);
    swaps_.finish();
    if (!is_answered(step_)) return;
    std::vector<int> failed;
    for (std::size_t index = 0; index < step_.checkpoints.size(); ++index)
      if (step_.checkpoints[index].failed) failed.push_back(static_cast<int>(index));
    answer(swaps_.take(), failed);
  }

  std::vector<std::byte> bytes_of(scheduler::swap_id name) const {
    const auto snapshot = own_.snapshot(name);
    if (!snapshot) throw std::runtime_error("there is no snapshot of a swap that rank 0 has one of");
    std::vector<std::byte> bytes;
    bytes.reserve(snapshot->size());
    const auto read = snapshot->read();
    for (auto piece = read(); !piece.empty(); piece = read()) bytes.insert(bytes.end(), piece.begin(), piece.end());
    return bytes;
  }

  void answer(const auto&... values) {
    std::vector<std::byte> message;
    message_writer to(message);
    (to.add(values), ...);
    ranks_.answer(message);
  }

  runner& own_;
  parallel::rank_group& ranks_;
  failed_swaps swaps_;
  const std::function<void()> on_done_ = [] {};
  step step_{swaps_, on_done_};
};

}  // namespace

void run_steps(runner& own, parallel::rank_group& ranks) try {
  worker(own, ranks).run();
} catch (const std::exception& error) {
  ranks.fail(error.what());
  throw;
}

}  // namespace cogen::detail
