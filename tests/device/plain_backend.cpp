#include "plain_backend.hpp"

#include "network/backend/pending_callbacks.hpp"
#include "network/backend/reference/reference_operators.hpp"
#include "network/backend/reference/shared_pages.hpp"

#include <ATen/ops/empty.h>

namespace cogen::test {

namespace {

class repeated_work final : public device::graph {
 public:
  repeated_work(const plain_backend& where, std::function<void()> work) : where_(where), work_(std::move(work)) {}

  void replay() override {
    if (where_.hook) where_.hook("replay");
    work_();
  }

 private:
  const plain_backend& where_;
  const std::function<void()> work_;
};

class plain_stream final : public device::stream {
 public:
  explicit plain_stream(const plain_backend& where) : where_(where) {}
  ~plain_stream() override { pending_.wait(); }

  void run_on_stream(const std::function<void()>& work) override {
    tell("run");
    work();
  }

  std::unique_ptr<device::graph> record(const std::function<void()>& work) override {
    tell("record");
    return where_.records ? std::make_unique<repeated_work>(where_, work) : nullptr;
  }

  void then(std::function<void(std::exception_ptr)> done) override {
    tell("then");
    const auto error = std::exchange(lost_, nullptr);
    if (!where_.later) return done(error);
    where_.later([done = pending_.add(std::move(done)), error] { done(error); });
  }

  void wait() override {
    try {
      tell("wait");
    } catch (...) {
      pending_.wait();
      throw;
    }
    pending_.wait();
    if (lost_) std::rethrow_exception(std::exchange(lost_, nullptr));
  }

  void after(stream& other) override {
    if (!lost_) lost_ = std::exchange(static_cast<plain_stream&>(other).lost_, nullptr);
  }

  /// Fails when it is done, not when it is begun.
  void copy_rows(const at::Tensor& target, const at::Tensor& source) override {
    try {
      tell("copy");
      target.copy_(source);
    } catch (...) {
      lost_ = std::current_exception();
    }
  }

 private:
  void tell(const char* operation) const {
    if (where_.hook) where_.hook(operation);
  }

  const plain_backend& where_;
  device::pending_callbacks pending_;
  std::exception_ptr lost_;
};

class plain_pages final : public cache::virtual_memory {
 public:
  plain_pages(const plain_backend& where, std::int64_t bytes)
      : where_(where), pages_(device::make_shared_pages(bytes, where.page)) {}

  std::int64_t page_bytes() const override { return pages_->page_bytes(); }
  at::Tensor bytes() const override { return pages_->bytes(); }
  cache::memory_page allocate() override {
    tell("page");
    return pages_->allocate();
  }
  void map(std::int64_t first, std::span<const cache::memory_page> pages) override {
    tell("map");
    pages_->map(first, pages);
  }
  void unmap(std::int64_t first, std::int64_t count) noexcept override { pages_->unmap(first, count); }

 private:
  void tell(const char* operation) const {
    if (where_.hook) where_.hook(operation);
  }

  const plain_backend& where_;
  const std::unique_ptr<cache::virtual_memory> pages_;
};

}  // namespace

std::unique_ptr<cache::virtual_memory> plain_backend::reserve(std::int64_t bytes, std::int64_t) const {
  if (hook) hook("reserve");
  return std::make_unique<plain_pages>(*this, bytes);
}

std::unique_ptr<device::stream> plain_backend::make_stream() const {
  if (hook) hook("stream");
  return std::make_unique<plain_stream>(*this);
}

std::unique_ptr<device::operators> plain_backend::make_operators() const {
  if (hook) hook("operators");
  return std::make_unique<device::reference_operators>();
}

std::unique_ptr<device::operators> plain_backend::make_batch_invariant_operators() const {
  if (hook) hook("operators");
  return std::make_unique<device::reference_operators>(true);
}

at::Tensor plain_backend::make_host(std::int64_t bytes) const {
  if (hook) hook("host memory");
  return at::empty({bytes}, at::kByte);
}

std::int64_t plain_backend::free_bytes() const {
  if (hook) hook("free bytes");
  return free;
}

void plain_backend::allocate(const std::function<void()>& work) const {
  if (hook) hook("allocate");
  work();
}

void plain_backend::synchronize() const {
  if (hook) hook("synchronize");
}

}  // namespace cogen::test
