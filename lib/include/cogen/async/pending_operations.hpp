#pragma once

#include <cogen/net.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>

#include <list>
#include <memory>
#include <mutex>
#include <utility>

namespace cogen::async {

/// An operation that waits on behalf of a handler of some execution context.
class pending_operation {
 public:
  virtual ~pending_operation() = default;

  /// Destroys the handler without calling it, because its context is being destroyed.
  virtual void drop() noexcept = 0;

  /// Retries to post the handler of a completed operation after memory was short. Returns false if it still is.
  virtual bool post_again() noexcept = 0;

  /// Where the handler runs, never within execute(). Null if the wait is over.
  virtual const net::any_io_executor* executor() const noexcept = 0;

  /// Calls the handler of a completed operation, on that executor, after releasing `self`, which is this operation.
  virtual void call(std::shared_ptr<pending_operation> self) = 0;

  /// Links operations that are completed or still have to be posted.
  std::shared_ptr<pending_operation> next;
};

/// The pending operations of one execution context. They release the context before it is destroyed; otherwise a
/// handler still pending when its `io_context` ends would access the dead context.
///
/// It also posts their completions. Completed operations of one executor form a queue. While the queue is not empty,
/// one job is posted to that executor: it takes the first operation, posts another job for the rest, and calls the
/// handler. So completing many operations at once posts one job, and the context's threads share the work. If there is
/// no memory for another job, or a handler throws, the job calls the next handlers itself; the first exception is
/// rethrown at the end. Operations of an executor other than the queue's are posted one by one.
class pending_operations : public std::enable_shared_from_this<pending_operations> {
 public:
  using entry = std::list<std::weak_ptr<pending_operation>>::iterator;

  /// Registers an operation.
  entry add(std::weak_ptr<pending_operation> operation);

  /// Removes it; does nothing after close().
  void remove(entry at) noexcept;

  /// Has the executor of `completed` call it, unless the context has shut down. Throws std::bad_alloc, and has then
  /// changed nothing.
  void post(std::shared_ptr<pending_operation> completed);

  /// Drops all operations: their context is being destroyed.
  void close() noexcept;

 private:
  void send(const net::any_io_executor& to);
  bool send_another(const net::any_io_executor& to) noexcept;  // false: memory is short
  void call_first();
  std::pair<std::shared_ptr<pending_operation>, bool> take_first() noexcept;  // whether others stand behind it

  std::mutex mutex_;  // guards those below
  std::list<std::weak_ptr<pending_operation>> waiting_;
  std::shared_ptr<pending_operation> first_;  // of those in line
  pending_operation* last_ = nullptr;
  bool sent_ = false;  // a job is on its way to the line, or goes on with it
  bool closed_ = false;
};

/// The registry of the context that `executor` belongs to. It outlives the context while it is referenced.
std::shared_ptr<pending_operations> pending_operations_of(const net::any_io_executor& executor);

}  // namespace cogen::async
