#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <functional>

namespace server {

namespace net = boost::asio;

/// Gives the system back what requests have freed, which the heap would keep: a while after they have ended, since the
/// engine frees its part later, and once for all that end meanwhile. For one thread.
class freed_memory {
 public:
  static constexpr std::size_t enough = 1 << 20;  ///< bytes of requests, which take many times as much

  freed_memory(const net::any_io_executor& executor, std::function<void()> give_back,
               std::chrono::milliseconds delay = std::chrono::seconds(1))
      : timer_(executor), give_back_(std::move(give_back)), delay_(delay) {}

  /// A request has ended whose body and answer had so many bytes.
  void add(std::size_t bytes);

 private:
  net::steady_timer timer_;
  const std::function<void()> give_back_;
  const std::chrono::milliseconds delay_;
  std::size_t bytes_ = 0;
  bool waits_ = false;
};

}  // namespace server
