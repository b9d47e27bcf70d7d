#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>

namespace cogen::device {

/// Work that was recorded once and is begun again with one call, on the same tensors.
class graph {
 public:
  virtual ~graph() = default;

  /// On the queue that is current.
  virtual void replay() = 0;
};

/// Work of one device, done in order. Members throw what the device says is wrong, also with work that was begun
/// earlier. One thread at a time.
class stream {
 public:
  virtual ~stream() = default;

  /// Runs `work` with this queue being the current one: what it begins on the device comes after all that was begun
  /// here before.
  virtual void run_on_stream(const std::function<void()>& work) = 0;

  /// Records what `work` begins. Null where the device cannot: then `work` has to be done each time.
  virtual std::unique_ptr<graph> record(const std::function<void()>& work) = 0;

  /// Calls `done` on any thread when all that was begun here has ended: with null, or with what went wrong. `done` must
  /// not use the device, and not throw.
  virtual void then(std::function<void(std::exception_ptr)> done) = 0;

  /// Waits until all that was begun here has ended.
  virtual void wait() = 0;

  /// What is begun here from now on comes after all that `other` was given so far, and where something is wrong with
  /// that, it is wrong here, too.
  virtual void after(stream& other) = 0;

  /// Begins to copy rows of the same length, each of them whole: [rows, …] with the rows' elements side by side. What
  /// is not on the device is in memory of make_host().
  virtual void copy_rows(const at::Tensor& to, const at::Tensor& from) = 0;
};

}  // namespace cogen::device
