#pragma once

#include "engine/request_state.hpp"

#include <cogen/extend/runner.hpp>
#include <cogen/metrics.hpp>

#include <atomic>
#include <functional>
#include <vector>

namespace cogen::detail {

/// A plan between launch and absorption, with the owners of its rows. Its memory is reused for later plans.
class step_in_flight final : public step_in_progress {
 public:
  step_in_flight(swap_listener& transfers, std::function<void()> wake)
      : transfers_(transfers), wake_(std::move(wake)) {}

  // While no runner has the step.

  /// The plan to fill in. Then call belongs_to() for each of its rows, in order.
  scheduler::step& to_plan() noexcept { return plan_; }
  request_state& belongs_to(std::shared_ptr<request_state> owner) {
    outcomes_.emplace_back();
    return *owners_.emplace_back(std::move(owner));
  }

  request_state& owner_of(std::size_t row) { return *owners_[row]; }
  const std::exception_ptr& error() const noexcept { return error_; }

  /// The results of the rows, for the scheduler. Valid until the next call.
  std::span<const scheduler::row_result> results() {
    results_.clear();
    for (const auto& each : outcomes_) results_.push_back({static_cast<bool>(each.error), each.chosen.id});
    return results_;
  }

  step_event event{};  ///< complete once the step has ended

  /// Resets the step for reuse, and moves the owners of its rows to `owners`, which must be empty.
  void recycle(std::vector<std::shared_ptr<request_state>>& owners) noexcept {
    owners.swap(owners_);
    outcomes_.clear();
    event = {};
    done_.store(false);
  }

  // For the runner.

  const scheduler::step& plan() const override { return plan_; }
  std::span<row_output> outcomes() override { return outcomes_; }
  row_sampler& sampler_of(int row) override { return *owners_[static_cast<std::size_t>(row)]->as_sampler(); }
  swap_listener& transfers() override { return transfers_; }

  void done(std::exception_ptr error = nullptr) noexcept override {
    error_ = std::move(error);
    auto wake = wake_;
    done_.store(true);
    wake();
  }

  bool is_done() const noexcept { return done_.load(); }

 private:
  scheduler::step plan_;
  std::vector<std::shared_ptr<request_state>> owners_;
  std::vector<row_output> outcomes_;
  std::vector<scheduler::row_result> results_;
  swap_listener& transfers_;
  std::function<void()> wake_;
  std::exception_ptr error_;
  std::atomic<bool> done_ = false;
};

}  // namespace cogen::detail
