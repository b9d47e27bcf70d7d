#pragma once

#include "engine/embedding/text_queue.hpp"
#include "engine/lone_operation.hpp"

#include <cogen/engine.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace cogen::embedding {

/// A pending async_embed(), or async_score() where a result is one number.
template <class Result>
class text_state final : public detail::lone_operation<std::vector<Result>>, public text_request {
 public:
  using base = detail::lone_operation<std::vector<Result>>;

  text_state(std::shared_ptr<detail::engine_loop> engine, std::uint64_t tenant) : base(std::move(engine)) {
    this->admission_.tenant = tenant;
  }

  void start(std::shared_ptr<typename base::operation_type> wait, std::vector<encoder_input> inputs);  // any thread
  void process(detail::loop_view& loop) override;

  bool is_wanted() const noexcept override;
  const std::vector<encoder_text>& texts() const noexcept override { return texts_; }
  void set_vector(std::size_t text, std::vector<float> vector) override;
  void fail(const diagnostics& why) noexcept override { base::fail(why); }
  void finish() noexcept override;

 private:
  void prepare(const std::vector<encoder_input>& inputs) noexcept;
  void read(const std::vector<encoder_input>& inputs);

  std::vector<encoder_text> texts_;  // set before the engine thread has it
  std::vector<Result> results_;      // [texts], the engine thread's
};

}  // namespace cogen::embedding
