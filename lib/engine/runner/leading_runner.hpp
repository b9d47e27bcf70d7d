#pragma once

#include "network/parallel/rank_group.hpp"

#include <cogen/extend/runner.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cogen::detail {

/// What rank 0 tells the others.
enum class rank_command : std::uint8_t {
  run,       ///< a step: where is_answered(step), they answer with the swaps and the checkpoints that failed
  snapshot,  ///< a swap's name: they answer with its bytes
  keep,      ///< a swap's name, and for each rank its bytes
  trim,
  end,
};

/// Whether other ranks may fail at parts of a step that it survives.
bool is_answered(const scheduler::step& step);

/// Reports the end of a swap on rank 0 once it is known how it ended on the others.
class ranked_swaps final : public swap_listener {
 public:
  /// From now on, ends of swaps wait for release(). Then `listener` gets them.
  void hold(swap_listener& listener);
  void release(const std::vector<scheduler::swap_id>& failed_elsewhere) noexcept;

  void on_swap_done(scheduler::swap_id name, std::exception_ptr error) noexcept override;
  void post_to_engine_thread(std::function<void()> job) noexcept override;

  /// The swaps that were reported to have failed since the last call.
  std::vector<scheduler::swap_id> take_failed();

 private:
  struct end {
    scheduler::swap_id name;
    std::exception_ptr error;
  };
  void pass_on(end swap) noexcept;

  std::mutex mutex_;
  swap_listener* listener_ = nullptr;
  bool held_ = false;
  std::vector<end> waiting_;
  std::vector<scheduler::swap_id> failed_elsewhere_;  // and not yet ended here
  std::vector<scheduler::swap_id> failed_;
};

/// Rank 0's runner of a model that is split over processes: tells the others each step, and executes its own part.
/// Where one rank fails, the others do, too: parallel::rank_error.
class leading_runner final : public runner {
 public:
  /// `ranks` live as long as `own`.
  leading_runner(std::unique_ptr<runner> own, parallel::rank_group& ranks);
  ~leading_runner() override;

  int vocabulary() const override { return own_->vocabulary(); }
  void start() override;
  void launch(step& step) override;
  void finish() override;
  void trim() override;
  std::string snapshot_format() const override;
  std::shared_ptr<const kv_snapshot> snapshot(scheduler::swap_id name) const override;
  void keep(scheduler::swap_id name, std::shared_ptr<const kv_snapshot> snapshot) override;
  std::shared_ptr<const kv_snapshot> make_snapshot(std::vector<std::byte> bytes, int encoder_input) const override;

  /// Looks at the part of this rank alone; the others look at theirs before they swap them in.
  finite_check check_of_numbers() const override;

 private:
  void tell(rank_command command, const auto&... values) const;
  template <class Work>
  auto attempt(const Work& work) const;
  void run(step& step);
  void undo_failed_swaps(step& step);
  std::vector<scheduler::swap_id> take_failures(step& step);

  ranked_swaps swaps_;  // outlives the transfers of `own_`
  std::unique_ptr<runner> own_;
  parallel::rank_group& ranks_;
  std::map<scheduler::swap_id, int> filled_slots_;  // of the swap-ins that have not been reported to have failed
};

}  // namespace cogen::detail
