#pragma once

#include <cogen/net.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>

#include <list>
#include <memory>
#include <mutex>
#include <utility>

namespace cogen::async {

/// Something that waits on behalf of a handler of some execution context.
class pending_operation {
 public:
  virtual ~pending_operation() = default;

  /// Destroys the handler without calling it: its context is going.
  virtual void drop() noexcept = 0;

  /// Posts the handler of a completed operation that could not be posted for want of memory. False: again in vain.
  virtual bool post_again() noexcept = 0;

  /// Where the handler runs, never within execute(). Null where nobody waits any more.
  virtual const net::any_io_executor* executor() const noexcept = 0;

  /// Calls the handler of a completed operation, on that executor, after letting go of `self`, which is this one.
  virtual void call(std::shared_ptr<pending_operation> self) = 0;

  /// Links operations that are completed, or are still to be posted.
  std::shared_ptr<pending_operation> next;
};

/// The operations that wait on behalf of one execution context, so that they let go of it before it is destroyed.
/// Without this, a handler that is still pending when its `io_context` ends would touch the dead context.
///
/// It posts them, too. Completed operations of one executor stand in a line, and while there is one a single job is on
/// its way to that executor: it takes the first, sends another job for the others, and calls it. So whoever completes
/// many at once posts once, and the context's threads share the rest of the work. Where there is no memory for another
/// job, it calls the next one itself, also where a handler throws, which it passes on in the end: the first that was
/// thrown. Those of another executor than the line's go by themselves.
class pending_operations : public std::enable_shared_from_this<pending_operations> {
 public:
  using entry = std::list<std::weak_ptr<pending_operation>>::iterator;

  entry add(std::weak_ptr<pending_operation> operation);
  void remove(entry at) noexcept;

  /// Has `completed` called by its executor, unless the context has shut down. Throws std::bad_alloc, and has changed
  /// nothing then.
  void post(std::shared_ptr<pending_operation> completed);

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

/// The registry of the context that `executor` belongs to; it outlives the context for as long as somebody holds it.
std::shared_ptr<pending_operations> pending_operations_of(const net::any_io_executor& executor);

}  // namespace cogen::async
