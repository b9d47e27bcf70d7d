#include <cogen/async/operation.hpp>

#include <boost/asio/execution/context.hpp>
#include <boost/asio/query.hpp>

#include <utility>

namespace cogen::async {

/// Keeps close() from returning, and thus the context alive, unless it is closed already.
class pending_operations::posting {
 public:
  explicit posting(pending_operations& of) : of_(of) {
    const std::lock_guard lock(of_.mutex_);
    allowed_ = !of_.closed_;
    if (allowed_) ++of_.posting_;
  }
  posting(const posting&) = delete;
  posting& operator=(const posting&) = delete;
  ~posting() {
    if (!allowed_) return;
    const std::lock_guard lock(of_.mutex_);
    if (--of_.posting_ == 0 && of_.closed_) of_.none_posting_.notify_all();
  }

  bool allowed() const noexcept { return allowed_; }

 private:
  pending_operations& of_;
  bool allowed_;
};

pending_operations::entry pending_operations::add(std::weak_ptr<pending_operation> operation) {
  const std::lock_guard lock(mutex_);
  return waiting_.insert(waiting_.end(), std::move(operation));
}

void pending_operations::remove(entry at) noexcept {
  std::list<std::weak_ptr<pending_operation>> removed;
  const std::lock_guard lock(mutex_);
  if (!closed_) removed.splice(removed.end(), waiting_, at);
}

void pending_operations::post(const std::shared_ptr<pending_operation>& completed) {
  const posting now(*this);
  if (!now.allowed()) return;
  const auto executor = completed->executor();  // a copy: the handler may have run before execute() returns
  executor.execute([self = completed]() mutable {
    auto& operation = *self;
    operation.call(std::move(self));
  });
}

void pending_operations::close() noexcept {
  std::list<std::weak_ptr<pending_operation>> waiting;
  {
    std::unique_lock lock(mutex_);
    closed_ = true;
    none_posting_.wait(lock, [this] { return posting_ == 0; });
    waiting.swap(waiting_);
  }
  for (const auto& each : waiting)
    if (auto operation = each.lock()) operation->drop();
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
