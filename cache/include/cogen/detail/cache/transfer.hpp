#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace cogen::cache {

/// Bytes to copy. Both spans have the same size and do not overlap.
struct byte_copy {
  std::span<const std::byte> source;
  std::span<std::byte> target;
};

/// Copies bytes asynchronously and reports completion through a callback.
class transfer {
 public:
  /// Called with null, or with the error of the job. Must not throw.
  using callback = std::function<void(std::exception_ptr)>;

  virtual ~transfer() = default;

  /// Starts a job: all of `copies`, in order. Sources must stay valid, and destinations unread, until `done` is called:
  /// once, on any thread, possibly before start() returns. Jobs run one after the other, in the order in which they
  /// were started: a later one may overwrite what an earlier one reads. Throws std::invalid_argument, naming both
  /// sizes, if the two sides of a copy differ; then `done` is not called.
  virtual void start(std::vector<byte_copy> copies, callback done) = 0;
};

/// Copies on one worker thread. Jobs may be started from any thread; `done` is called on the worker. The destructor
/// finishes all started jobs, then joins; it must not run in a callback.
class worker_transfer final : public transfer {
 public:
  worker_transfer();
  ~worker_transfer() override;
  void start(std::vector<byte_copy> copies, callback done) override;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Copies within start(), on the caller's thread: for single-threaded programs that need a fixed order of events.
class immediate_transfer final : public transfer {
 public:
  void start(std::vector<byte_copy> copies, callback done) override;
};

/// Copies on request, on the caller's thread: for tests that try every order of events. Its destructor drops pending
/// jobs without calling their callbacks. Not thread-safe.
class manual_transfer final : public transfer {
 public:
  manual_transfer();
  ~manual_transfer() override;
  void start(std::vector<byte_copy> copies, callback done) override;

  /// Jobs that have not ended.
  std::size_t waiting() const noexcept;

  /// Copies the oldest job and ends it. Throws std::logic_error if there is none.
  void finish_one();

  /// Ends the oldest job with `error`, half of its copies done. Throws std::logic_error if there is none.
  void fail_one(std::exception_ptr error);

 private:
  struct job;
  job take();

  std::vector<job> jobs_;
};

}  // namespace cogen::cache
