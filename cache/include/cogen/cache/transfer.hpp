#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace cogen::cache {

/// Bytes to be copied from one place to another. Both have the same number; they do not overlap.
struct byte_copy {
  std::span<const std::byte> from;
  std::span<std::byte> to;
};

/// Copies bytes while others compute, and reports the end through a plain call.
class transfer {
 public:
  /// Told how a job went: null, or what stopped it. Must not throw.
  using callback = std::function<void(std::exception_ptr)>;

  virtual ~transfer() = default;

  /// Begins a job: all of `copies`, in order. What they point to stays valid, and what they write to unread, until
  /// `done` is called: once, on any thread, possibly before start() returns. Jobs are done one after the other, in the
  /// order in which they were started: a later one may overwrite what an earlier one reads. Throws
  /// std::invalid_argument, naming both sizes, where the two sides of a copy differ; then `done` is not called.
  virtual void start(std::vector<byte_copy> copies, callback done) = 0;
};

/// One thread that copies. Jobs may be started from any thread; `done` is called on the one that copies. The destructor
/// ends all jobs that were started, then joins; it must not run in a callback.
class worker_transfer final : public transfer {
 public:
  worker_transfer();
  ~worker_transfer() override;
  void start(std::vector<byte_copy> copies, callback done) override;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Copies within start(), on the caller's thread: for programs driven by hand that want no other order of events.
class immediate_transfer final : public transfer {
 public:
  void start(std::vector<byte_copy> copies, callback done) override;
};

/// Copies when it is told to, on the caller's thread: for programs driven by hand, and to try out every order of
/// events. Jobs that were never told to end are dropped with it, their callbacks uncalled. Not thread-safe.
class manual_transfer final : public transfer {
 public:
  manual_transfer();
  ~manual_transfer() override;
  void start(std::vector<byte_copy> copies, callback done) override;

  /// Jobs that have not ended.
  std::size_t waiting() const noexcept;

  /// Copies the oldest job and ends it. Throws std::logic_error where none waits.
  void finish_one();

  /// Ends the oldest job with `error`, half of its copies done. Throws std::logic_error where none waits.
  void fail_one(std::exception_ptr error);

 private:
  struct job;
  job take();

  std::vector<job> jobs_;
};

}  // namespace cogen::cache
