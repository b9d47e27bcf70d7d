#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>

namespace cogen::device {

/// Captured work that one call replays on the same tensors.
class graph {
 public:
  virtual ~graph() = default;

  /// On the current stream.
  virtual void replay() = 0;
};

/// Work on one device, in order. Members throw the device's errors, also those of earlier work. Used by one thread at a
/// time. The destructor waits, too, and throws nothing.
class stream {
 public:
  virtual ~stream() = default;

  /// Runs `work` with this stream as the current one: what it enqueues comes after all earlier work of this stream.
  virtual void run_on_stream(const std::function<void()>& work) = 0;

  /// Captures what `work` enqueues. Null if the device cannot: then `work` has to be run each time. Throws what `work`
  /// throws; the stream can be used and record again afterwards.
  virtual std::unique_ptr<graph> record(const std::function<void()>& work) = 0;

  /// Calls `done` on any thread when all work enqueued so far has ended: with null, or its error. `done` must not use
  /// the device, and must not throw.
  virtual void then(std::function<void(std::exception_ptr)> done) = 0;

  /// Waits until all work enqueued so far has ended. Whether it returns or throws, all callbacks given to then() have
  /// been called.
  virtual void wait() = 0;

  /// Orders later work of this stream after all earlier work of `other`, and passes its errors on.
  virtual void after(stream& other) = 0;

  /// Enqueues a copy of contiguous rows of the same length: [rows, …]. Tensors that are not on the device are in
  /// memory of make_host(); if they are in pageable memory, the call may wait until the copy has ended.
  virtual void copy_rows(const at::Tensor& target, const at::Tensor& source) = 0;
};

}  // namespace cogen::device
