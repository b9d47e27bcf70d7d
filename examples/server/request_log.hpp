#pragma once

#include "application.hpp"

#include <chrono>

namespace server {

/// Writes a line of JSON about a request when it ends, if the server logs requests.
class request_log {
 public:
  explicit request_log(const call& client) noexcept : call_(client) {}
  request_log(const request_log&) = delete;
  request_log& operator=(const request_log&) = delete;
  ~request_log();

 private:
  const call& call_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace server
