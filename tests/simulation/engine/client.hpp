#pragma once

#include "simulation/engine/world.hpp"

#include <cogen/detail/operation.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace cogen::engine_simulation {

/// What an operation was completed with.
template <class Value>
struct received {
  error_code code;
  Value value;
};

/// A client of the engine: a coroutine, on a context of its own or on the engine's executor, that goes on when it
/// is given a turn, and may be interfered with while it waits for an operation.
class client : public std::enable_shared_from_this<client> {
 public:
  client(world& stage, std::string name, net::any_io_executor where)
      : stage_(stage), name_(std::move(name)), executor_(std::move(where)) {}
  client(const client&) = delete;
  client& operator=(const client&) = delete;
  virtual ~client() = default;

  void begin();

  /// Its coroutine has ended, or went with its executor.
  bool gone() const { return gone_; }

  /// Its coroutine has come to its end.
  bool finished() const { return finished_; }

  /// It can be given a turn.
  bool waits_for_turn() const { return turn_ && !turn_->dropped(); }

  /// Its coroutine goes on soon, and samples from `chance`.
  void take_turn(random chance);

  /// Something that happens from outside, whether or not an operation is pending.
  virtual void interfere(random& chance) = 0;

  /// The device fails, or the engine is stopped or destroyed, now.
  virtual void meet(misfortune event) = 0;

  /// After every action: throws std::logic_error where something is wrong.
  virtual void check() const = 0;

  /// What it is at, in words.
  virtual std::string status() const = 0;

  const std::string& name() const { return name_; }

  void be_ranked_by(std::uint64_t number) { number_ = number; }

  /// Who has the highest of a sample is chosen: so it does not matter who else is there.
  std::uint64_t rank(std::uint64_t draw) const { return random(draw ^ number_).next(); }

 protected:
  virtual net::awaitable<void> live() = 0;

  net::awaitable<random> turn();

  /// Starts an operation with `start(handler)` and waits for it, within reach of `cancel()`. Sees to it that it is
  /// completed once, and not by the call that starts it.
  template <class Value, class Start>
  net::awaitable<received<Value>> wait_for(Start start) {
    return net::async_initiate<const net::use_awaitable_t<>, void(received<Value>)>(
        [self = shared_from_this()](auto handler, Start begin_operation) {
          auto whole = std::make_shared<decltype(handler)>(std::move(handler));
          self->begin_operation();
          begin_operation(net::bind_cancellation_slot(
              self->signal_.slot(),
              net::bind_executor(self->executor_, [raw = self.get(), whole](error_code code, Value value = {}) mutable {
                raw->end_operation();
                auto resume = std::exchange(whole, nullptr);
                std::move (*resume)(received<Value>{code, std::move(value)});
              })));
          self->starting_ = false;
        },
        net::use_awaitable, std::move(start));
  }

  void cancel(net::cancellation_type type);
  int pending() const { return pending_; }
  bool cancelled() const { return cancelled_ != net::cancellation_type::none; }
  bool cancelled(net::cancellation_type type) const { return (cancelled_ & type) != net::cancellation_type::none; }

  /// Throws std::logic_error with the client's name and what it is at.
  void require(bool holds, const std::string& message) const;

  net::any_io_executor executor() const { return executor_; }

  world& stage_;

 private:
  static net::awaitable<void> life(std::shared_ptr<client> self, std::shared_ptr<void> end);
  void begin_operation();
  void end_operation();

  const std::string name_;
  const net::any_io_executor executor_;
  std::shared_ptr<detail::operation<random>> turn_;
  net::cancellation_signal signal_;
  net::cancellation_type cancelled_ = net::cancellation_type::none;  // emitted since the operation began
  std::uint64_t number_ = 0;
  int pending_ = 0;
  bool starting_ = false;
  bool finished_ = false;
  bool gone_ = false;
};

}  // namespace cogen::engine_simulation
