#pragma once

#include "engine/strategy_run.hpp"
#include "engine/stream_state.hpp"

namespace cogen::detail {

/// A generation whose tokens a strategy writes. It has no sequence of its own: those that the strategy opens are in the
/// batch.
class strategy_stream final : public stream_state, public output_face {
 public:
  strategy_stream(std::shared_ptr<engine_loop> engine, std::shared_ptr<const request> request, random_stream random,
                  std::shared_ptr<strategy_run> run);

  net::any_io_executor default_executor() const override { return stream_state::default_executor(); }
  bool ended() const override { return stream_state::ended(); }
  std::optional<float> score() const override;
  void fail(const diagnostics& why) noexcept override;

  void start_ready(std::shared_ptr<detail::operation<>> wait) override;
  void cancel_ready(const detail::operation<>& wait) noexcept override;
  void settle(detail::pending_operation& called) noexcept override;
  void write(sampled_token next) override;
  void close(finish_reason reason, std::optional<float> score) override;
  void close(const diagnostics& why) noexcept override;

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
  std::shared_ptr<detail::operation<>> ready_;
  std::optional<float> score_;
};

}  // namespace cogen::detail
