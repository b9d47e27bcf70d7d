#include "engine/async/pending_operations.hpp"

#include "engine/async/process_executor.hpp"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/query.hpp>

#include <exception>
#include <utility>

namespace cogen::detail {

namespace {

void call(std::shared_ptr<pending_operation> completed) {
  auto& operation = *completed;
  operation.call(std::move(completed));
}

}  // namespace

/// Keeps close() from returning, and thus the context alive. Begins under the lock, and ends without it.
class pending_operations::posting {
 public:
  explicit posting(pending_operations& owner) : owner_(owner) { ++owner_.posting_; }
  posting(const posting&) = delete;
  posting& operator=(const posting&) = delete;
  ~posting() {
    const std::lock_guard lock(owner_.mutex_);
    if (--owner_.posting_ == 0 && owner_.closed_) owner_.none_posting_.notify_all();
  }

 private:
  pending_operations& owner_;
};

pending_operations::entry pending_operations::add(std::weak_ptr<pending_operation> operation) {
  const std::lock_guard lock(mutex_);
  return waiting_.insert(waiting_.end(), std::move(operation));
}

void pending_operations::remove(entry position) noexcept {
  std::list<std::weak_ptr<pending_operation>> removed;
  const std::lock_guard lock(mutex_);
  if (!closed_) removed.splice(removed.end(), waiting_, position);
}

void pending_operations::post(const std::shared_ptr<pending_operation>& completed) {
  std::unique_lock lock(mutex_);
  if (closed_) return;
  const bool alone = first_ && first_->executor() != completed->executor();
  if (!alone) {
    (first_ ? last_->next : first_) = completed;
    last_ = completed.get();
    if (std::exchange(has_job_, true)) return;
  }
  const posting now(*this);
  const auto executor = completed->executor();  // a copy: the handler may have run before execute() returns
  lock.unlock();
  if (alone) return executor.execute([self = completed]() mutable { call(std::move(self)); });
  try {
    post_job(executor);
  } catch (...) {
    withdraw(*completed);
    throw;
  }
}

void pending_operations::post_job(const net::any_io_executor& executor) {
  executor.execute([self = shared_from_this()] { self->call_first(); });
}

/// The queue's job could not be posted. Other operations in the queue get theirs with the next post().
void pending_operations::withdraw(const pending_operation& completed) noexcept {
  std::shared_ptr<pending_operation> withdrawn;  // released after unlocking
  const std::lock_guard lock(mutex_);
  has_job_ = false;
  pending_operation* previous = nullptr;
  auto* link = &first_;
  while (*link && link->get() != &completed) {
    previous = link->get();
    link = &previous->next;
  }
  if (!*link) return;  // the context has been closed
  withdrawn = std::exchange(*link, nullptr);
  *link = std::move(withdrawn->next);
  if (last_ == &completed) last_ = previous;
}

bool pending_operations::post_next_job(const net::any_io_executor& executor) noexcept try {
  post_job(executor);
  return true;
} catch (...) {
  return false;
}

std::pair<std::shared_ptr<pending_operation>, bool> pending_operations::take_first() noexcept {
  const std::lock_guard lock(mutex_);
  auto taken = std::exchange(first_, nullptr);
  if (taken) first_ = std::move(taken->next);
  has_job_ = first_ != nullptr;
  return {std::move(taken), has_job_};
}

/// Without memory for another job this one goes on, and is the only one meanwhile: the queue does not run empty.
void pending_operations::call_first() {
  std::exception_ptr thrown;
  for (bool goes_on = true; goes_on;) {
    auto [taken, has_more] = take_first();
    if (!taken) break;
    goes_on = has_more && !post_next_job(taken->executor());
    try {
      call(std::move(taken));
    } catch (...) {
      if (!thrown) thrown = std::current_exception();
    }
  }
  if (thrown) std::rethrow_exception(thrown);
}

void pending_operations::close() noexcept {
  std::list<std::weak_ptr<pending_operation>> waiting;
  std::shared_ptr<pending_operation> completed;
  {
    std::unique_lock lock(mutex_);
    closed_ = true;
    none_posting_.wait(lock, [this] { return posting_ == 0; });
    waiting.swap(waiting_);
    completed = std::move(first_);
  }
  for (const auto& each : waiting)
    if (auto operation = each.lock()) operation->drop();
  while (completed) completed = std::move(completed->next);
}

namespace {

class registry_service final : public net::execution_context::service {
 public:
  using key_type = registry_service;
  static inline net::execution_context::id id;

  explicit registry_service(net::execution_context& context)
      : service(context), registry_(std::make_shared<pending_operations>()) {}

  const std::shared_ptr<pending_operations>& registry() const { return registry_; }

 private:
  void shutdown() override { registry_->close(); }

  std::shared_ptr<pending_operations> registry_;
};

}  // namespace

std::shared_ptr<pending_operations> pending_operations_of(const net::any_io_executor& executor) {
  return net::use_service<registry_service>(net::query(executor, net::execution::context)).registry();
}

net::any_io_executor pending_operation::live(net::any_io_executor executor) {
  return in_this_process(std::move(executor));
}

pending_operation::pending_operation(const net::any_io_executor& executor)
    : context_(&net::query(executor, net::execution::context)), registry_(pending_operations_of(executor)) {}

pending_operation::~pending_operation() {
  if (entry_) registry_->remove(*entry_);
}

void pending_operation::add_to_registry() { entry_ = registry_->add(weak_from_this()); }

bool pending_operation::complete() noexcept { return std::exchange(completed_, true); }

bool pending_operation::post_again() noexcept try {
  registry_->post(shared_from_this());
  return true;
} catch (...) {
  return false;
}

bool pending_operation::is_of_context(const net::any_io_executor& executor) const {
  return context_ == &net::query(executor, net::execution::context);
}

}  // namespace cogen::detail
