#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <functional>

namespace server {

namespace net = boost::asio;

/// Gives the system back what requests have freed, which the heap would keep: soon after they have ended, once for all
/// that end meanwhile, and again a while later, since the engine frees its part then. For one thread.
class freed_memory {
 public:
  static constexpr std::size_t enough = 1 << 20;  ///< bytes of requests, which take many times as much

  freed_memory(const net::any_io_executor& executor, std::function<void()> give_back,
               std::chrono::milliseconds first_delay = std::chrono::milliseconds(100),
               std::chrono::milliseconds second_delay = std::chrono::seconds(1))
      : timer_(executor), give_back_(std::move(give_back)), first_delay_(first_delay), second_delay_(second_delay) {}

  /// A request has ended whose body and answer had so many bytes.
  void add(std::size_t bytes);

 private:
  void wait_for_first();
  void wait_for_second();

  net::steady_timer timer_;
  const std::function<void()> give_back_;
  const std::chrono::milliseconds first_delay_, second_delay_;
  std::size_t bytes_ = 0;
  bool first_waits_ = false;
};

}  // namespace server
