#pragma once

#include "engine/participant.hpp"

#include <cogen/engine.hpp>

namespace cogen::detail {

/// One wait for the end of all work. It takes no place in the batch; what it has of a participant is that the driving
/// thread sees to it.
class drain_state final : public participant, public drain_face {
 public:
  using participant::participant;

  net::any_io_executor default_executor() const override;
  void start(std::shared_ptr<drain_operation> wait) override;
  void cancel() noexcept override;

  void attend() override;
  void take(const scheduler::event&, row_outcome&) override {}
  std::optional<clock::time_point> expire(clock::time_point) override { return std::nullopt; }
  void fail(const failure& why) noexcept override;
  failure error() const override { return {}; }
  bool owner_is_thinking() const override { return false; }
  row_outcome draw(std::span<float>) noexcept override { return {}; }

 private:
  void tell(error_code code) noexcept;

  std::mutex mutex_;
  std::shared_ptr<drain_operation> wait_;  // guarded by mutex_; null once it has been told
};

}  // namespace cogen::detail
