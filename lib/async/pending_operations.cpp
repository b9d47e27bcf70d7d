#include <cogen/async/pending_operations.hpp>

#include <boost/asio/execution/context.hpp>
#include <boost/asio/query.hpp>

#include <exception>
#include <utility>

namespace cogen::async {

namespace {

void call_alone(std::shared_ptr<pending_operation> completed) {
  auto& operation = *completed;
  operation.call(std::move(completed));
}

}  // namespace

pending_operations::entry pending_operations::add(std::weak_ptr<pending_operation> operation) {
  std::lock_guard lock(mutex_);
  return waiting_.insert(waiting_.end(), std::move(operation));
}

void pending_operations::remove(entry at) noexcept {
  std::list<std::weak_ptr<pending_operation>> removed;
  std::lock_guard lock(mutex_);
  if (!closed_) removed.splice(removed.end(), waiting_, at);
}

void pending_operations::post(std::shared_ptr<pending_operation> completed) {
  std::lock_guard lock(mutex_);
  const auto* const executor = closed_ ? nullptr : completed->executor();
  if (!executor) return;
  if (first_ && *first_->executor() != *executor)
    return executor->execute([alone = std::move(completed)]() mutable { call_alone(std::move(alone)); });
  if (!sent_) send(*executor);
  sent_ = true;
  auto& place = first_ ? last_->next : first_;
  last_ = completed.get();
  place = std::move(completed);
}

/// Sends a job; `sent_` is set by the caller.
void pending_operations::send(const net::any_io_executor& to) {
  to.execute([self = shared_from_this()] { self->call_first(); });
}

bool pending_operations::send_another(const net::any_io_executor& to) noexcept try {
  send(to);
  return true;
} catch (...) {
  return false;
}

std::pair<std::shared_ptr<pending_operation>, bool> pending_operations::take_first() noexcept {
  std::lock_guard lock(mutex_);
  auto taken = std::exchange(first_, nullptr);
  if (taken) first_ = std::move(taken->next);
  sent_ = first_ != nullptr;
  return {std::move(taken), sent_};
}

/// Without memory for another job this one continues, and is the only one meanwhile: the queue does not run empty.
void pending_operations::call_first() {
  std::exception_ptr thrown;
  for (bool more = true; more;) {
    auto [taken, others] = take_first();
    if (!taken) break;
    more = others && !send_another(*taken->executor());
    try {
      call_alone(std::move(taken));
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
    std::lock_guard lock(mutex_);
    closed_ = true;
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

}  // namespace cogen::async
