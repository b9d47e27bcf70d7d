#include "simulation/engine/client.hpp"

#include <boost/asio/co_spawn.hpp>

namespace cogen::engine_simulation {

void client::begin() {
  const std::shared_ptr<void> end(nullptr, [self = shared_from_this()](void*) { self->gone_ = true; });
  net::co_spawn(executor_, life(shared_from_this(), end), [&stage = stage_](std::exception_ptr error) {
    if (error) stage.blame(std::move(error));
  });
}

/// `end` goes with the coroutine, also where it never begins.
net::awaitable<void> client::life(std::shared_ptr<client> self, std::shared_ptr<void>) {
  co_await self->live();
  self->require(self->pending_ == 0, "it has ended with an operation pending");
  self->finished_ = true;
}

net::awaitable<random> client::turn() {
  return net::async_initiate<const net::use_awaitable_t<>, void(error_code, random)>(
      [self = shared_from_this()](auto handler) {
        self->turn_ = detail::operation<random>::make(std::move(handler), self->executor_);
      },
      net::use_awaitable);
}

void client::take_turn(random chance) {
  const auto turn = std::exchange(turn_, nullptr);
  turn->set_result(error_code(), chance);
  turn->post_again();
}

void client::cancel(net::cancellation_type type) {
  stage_.say("{}: cancel {}", name_, static_cast<int>(type));
  cancelled_ |= type;
  signal_.emit(type);
}

void client::begin_operation() {
  ++pending_;
  cancelled_ = net::cancellation_type::none;
  starting_ = true;
}

void client::end_operation() {
  require(!starting_, "an operation was completed by the call that started it");
  require(--pending_ == 0, "an operation was completed twice");
}

void client::require(bool holds, const std::string& message) const {
  if (!holds) throw std::logic_error(name_ + " (" + status() + "): " + message);
}

}  // namespace cogen::engine_simulation
