#pragma once

#include "engine/lone_operation.hpp"

#include <cogen/engine.hpp>

namespace cogen::detail {

/// A pending async_drain(). It takes no place.
class drain_state final : public lone_operation<> {
 public:
  using lone_operation::lone_operation;

  void start(std::shared_ptr<operation_type> wait);
  void process(loop_view&) override;

 private:
  void leave_engine() noexcept override;
};

}  // namespace cogen::detail
