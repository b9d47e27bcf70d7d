#pragma once

#include <cogen/detail/operation.hpp>
#include <cogen/fwd.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

namespace cogen::detail {

/// The pending operations of one execution context. They release the context before it is destroyed; otherwise a
/// handler still pending when its `io_context` ends would access the dead context.
///
/// It also posts their completions, with no lock held. Each handler runs in a job of its own. Completed operations of
/// one executor form a queue with one job at a time: it takes the first operation, posts the job for the next one, and
/// calls the handler. So a step that completes many operations posts one job, which reuses the memory of the last one,
/// and the context's threads share the work. If there is no memory for another job, the job calls the next handlers
/// itself; the first exception is rethrown at the end. Operations of an executor other than the queue's are posted
/// alone.
class pending_operations : public std::enable_shared_from_this<pending_operations> {
 public:
  using entry = std::list<std::weak_ptr<pending_operation>>::iterator;

  /// Registers an operation.
  entry add(std::weak_ptr<pending_operation> operation);

  /// Removes it; does nothing after close().
  void remove(entry position) noexcept;

  /// Has the executor of `completed` call it, unless the context is being destroyed. Throws std::bad_alloc, and has
  /// then changed nothing.
  void post(const std::shared_ptr<pending_operation>& completed);

  /// Drops all operations, once no post() is in progress: their context is being destroyed.
  void close() noexcept;

 private:
  class posting;

  void post_job(const net::any_io_executor& executor);
  bool post_next_job(const net::any_io_executor& executor) noexcept;  // false: memory is short
  void call_first();
  std::pair<std::shared_ptr<pending_operation>, bool> take_first() noexcept;  // and whether there are more
  void withdraw(const pending_operation& completed) noexcept;

  std::mutex mutex_;  // guards those below
  std::condition_variable none_posting_;
  std::list<std::weak_ptr<pending_operation>> waiting_;
  std::shared_ptr<pending_operation> first_;  // of the queue
  pending_operation* last_ = nullptr;
  bool has_job_ = false;  // a job for the queue is posted, or runs on
  int posting_ = 0;       // calls that use the context
  bool closed_ = false;
};

/// The registry of the context that `executor` belongs to. It outlives the context while it is referenced.
std::shared_ptr<pending_operations> pending_operations_of(const net::any_io_executor& executor);

}  // namespace cogen::detail
