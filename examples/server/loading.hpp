#pragma once

#include "application.hpp"

#include <atomic>
#include <exception>
#include <functional>
#include <thread>

namespace server {

/// Loads the models on a thread of its own, while the server already listens. Then the application's thread has them.
class loading {
 public:
  /// Calls `done` on the application's thread: with null when all models are there, else with what went wrong.
  loading(application& app, std::function<void(std::exception_ptr)> done);
  ~loading();  ///< ends it

 private:
  void run();

  application& app_;
  std::function<void(std::exception_ptr)> done_;
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

}  // namespace server
