#pragma once

#include "engine/strategy_run.hpp"
#include "engine/stream_state.hpp"

namespace cogen::detail {

/// A generation whose tokens a strategy writes. It has no sequence of its own: those that the strategy opens are in the
/// batch.
class strategy_stream final : public stream_state {
 public:
  strategy_stream(std::shared_ptr<engine_loop> engine, std::shared_ptr<const request> request, random_stream random,
                  std::shared_ptr<strategy_run> run);

  std::optional<float> score() const override;
  void fail(const diagnostics& why) noexcept override;

  void cancel(const pending_operation& wait, net::cancellation_type type) noexcept override;
  void settle(pending_operation& called) noexcept override;

  // For its output.
  void start_ready(std::shared_ptr<operation<>> wait);
  void write(sampled_token next);
  void close(finish_reason reason, std::optional<float> score);
  void close(const diagnostics& why) noexcept;

 private:
  void check_request() const override;
  void submit(loop_view& loop) override;
  void grant(int credits, loop_view& loop) override;
  void leave(loop_view& loop) override;
  void add_credits(int credits);
  strategy_input input();
  std::function<sequence(int)> opener() const;
  void complete_ready() noexcept;

  std::shared_ptr<strategy_run> run_;  // the engine thread only; null once it has left

  // Under the lock.
  int credits_;  // tokens that may be written before the reader is too far behind; below 0: it is
  std::shared_ptr<operation<>> ready_;
  std::optional<float> score_;
};

}  // namespace cogen::detail
