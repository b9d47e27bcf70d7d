#pragma once

#include "engine/participant.hpp"

#include <cogen/event_sink.hpp>
#include <cogen/runner.hpp>

#include <atomic>
#include <functional>
#include <vector>

namespace cogen::detail {

/// A plan between its launch and its absorption, with those it is carried out for.
class step_in_flight final : public step_run {
 public:
  step_in_flight(scheduler::plan plan, std::vector<std::shared_ptr<participant>> owners, transfer_listener& transfers,
                 std::function<void()> wake)
      : plan_(std::move(plan)),
        owners_(std::move(owners)),
        outcomes_(plan_.rows.size()),
        transfers_(transfers),
        wake_(std::move(wake)) {}

  const scheduler::plan& plan() const override { return plan_; }
  std::span<row_outcome> outcomes() override { return outcomes_; }
  drawer& drawer_of(int row) override { return *owners_[static_cast<std::size_t>(row)]; }
  participant& owner_of(std::size_t row) { return *owners_[row]; }

  transfer_listener& transfers() override { return transfers_; }

  void done(std::exception_ptr error = nullptr) noexcept override {
    error_ = std::move(error);
    auto wake = wake_;
    done_.store(true);
    wake();
  }

  bool is_done() const noexcept { return done_.load(); }
  const std::exception_ptr& error() const noexcept { return error_; }

  std::vector<scheduler::row_result> results() const {
    std::vector<scheduler::row_result> results;
    results.reserve(outcomes_.size());
    for (const auto& each : outcomes_) results.push_back({static_cast<bool>(each.error), each.chosen.id});
    return results;
  }

  step_event event{};  ///< as far as it is known

 private:
  scheduler::plan plan_;
  std::vector<std::shared_ptr<participant>> owners_;
  std::vector<row_outcome> outcomes_;
  transfer_listener& transfers_;
  std::function<void()> wake_;
  std::exception_ptr error_;
  std::atomic<bool> done_ = false;
};

}  // namespace cogen::detail
