#include <cogen/async/pending_operations.hpp>

#include <boost/asio/execution/context.hpp>
#include <boost/asio/query.hpp>

#include <vector>

namespace cogen::async {

pending_operations::entry pending_operations::add(std::weak_ptr<pending_operation> operation) {
  std::lock_guard lock(mutex_);
  return waiting_.insert(waiting_.end(), std::move(operation));
}

void pending_operations::remove(entry at) noexcept {
  std::list<std::weak_ptr<pending_operation>> removed;
  std::lock_guard lock(mutex_);
  if (!closed_) removed.splice(removed.end(), waiting_, at);
}

void pending_operations::close() noexcept {
  std::list<std::weak_ptr<pending_operation>> waiting;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
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
