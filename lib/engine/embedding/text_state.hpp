#pragma once

#include "engine/embedding/text_queue.hpp"
#include "engine/lone_operation.hpp"

#include <cogen/engine.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace cogen::embedding {

template <class Result>
using text_face = detail::engine_face<detail::operation<std::vector<Result>>, std::vector<encoder_input>>;

template <class Result>
using text_operation_state =
    detail::lone_operation<text_face<Result>, detail::operation<std::vector<Result>>, std::vector<Result>>;

/// A pending async_embed(), or async_score() where a result is one number.
template <class Result>
class text_state final : public text_operation_state<Result>, public text_request {
 public:
  using text_operation = detail::operation<std::vector<Result>>;

  text_state(std::shared_ptr<detail::engine_loop> engine, std::uint64_t tenant)
      : text_operation_state<Result>(std::move(engine)) {
    this->admission_.tenant = tenant;
  }

  void start(std::shared_ptr<text_operation> wait, std::vector<encoder_input> inputs) override;  // any thread
  void process(detail::loop_view& loop) override;

  bool is_wanted() const noexcept override;
  const std::vector<encoder_text>& texts() const noexcept override { return texts_; }
  void set_vector(std::size_t text, std::vector<float> vector) override;
  void fail(const diagnostics& why) noexcept override { text_operation_state<Result>::fail(why); }
  void finish() noexcept override;

 private:
  void prepare(const std::vector<encoder_input>& inputs) noexcept;
  void read(const std::vector<encoder_input>& inputs);

  std::vector<encoder_text> texts_;  // set before the engine thread has it
  std::vector<Result> results_;      // [texts], the engine thread's
};

}  // namespace cogen::embedding
