#pragma once

#include "embedding/text_queue.hpp"
#include "engine/request_state.hpp"

#include <cogen/engine.hpp>

#include <memory>
#include <vector>

namespace cogen::embedding {

template <class Result>
using text_face = detail::engine_face<async::operation<std::vector<Result>>, std::vector<encoder_input>>;

/// A pending async_embed(), or async_score() where a result is one number. It has no sequence; it is a request_state so
/// that the engine thread processes it.
template <class Result>
class text_state final : public detail::request_state, public text_face<Result>, public text_request {
 public:
  using text_operation = async::operation<std::vector<Result>>;
  using request_state::request_state;

  // Of the operation. Any thread.
  net::any_io_executor default_executor() const override;
  void start(std::shared_ptr<text_operation> wait, std::vector<encoder_input> inputs) override;
  void cancel() noexcept override;

  void process() override;
  void deliver(const scheduler::event&, row_output&) override {}
  std::optional<clock::time_point> expire(clock::time_point) override { return std::nullopt; }
  void fail(const diagnostics& why) noexcept override;
  diagnostics error() const override { return {}; }
  bool awaits_client() const override { return false; }

  bool is_wanted() const noexcept override;
  const std::vector<encoder_text>& texts() const noexcept override { return texts_; }
  void set_vector(std::size_t text, std::vector<float> vector) override;
  void finish() noexcept override;

 private:
  void prepare(const std::vector<encoder_input>& inputs) noexcept;
  void read(const std::vector<encoder_input>& inputs);
  void complete_wait(const diagnostics& why, std::vector<Result> results) noexcept;

  std::shared_ptr<text_operation> wait_;  // under the lock; null once it is completed
  std::vector<encoder_text> texts_;       // set before the engine thread has it
  std::vector<Result> results_;           // [texts], the engine thread's
};

}  // namespace cogen::embedding
