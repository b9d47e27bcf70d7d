#include "network/backend/reference/reference_backend.hpp"

#include "network/backend/reference/reference_operators.hpp"
#include "network/backend/reference/shared_pages.hpp"

#include <ATen/ops/empty.h>

#include <utility>

namespace cogen::device {

namespace {

class repeated_work final : public graph {
 public:
  explicit repeated_work(std::function<void()> work) : work_(std::move(work)) {}
  void replay() override { work_(); }

 private:
  const std::function<void()> work_;
};

class immediate_stream final : public stream {
 public:
  void run_on_stream(const std::function<void()>& work) override { work(); }
  std::unique_ptr<graph> record(const std::function<void()>& work) override {
    return std::make_unique<repeated_work>(work);
  }
  void then(std::function<void(std::exception_ptr)> done) override { done(nullptr); }
  void wait() override {}
  void after(stream&) override {}
  void copy_rows(const at::Tensor& target, const at::Tensor& source) override { target.copy_(source); }
};

class reference_backend final : public backend {
 public:
  at::Device device() const override { return at::kCPU; }
  std::string name() const override { return "reference"; }
  std::string description() const override { return "LibTorch's operators on the processor"; }
  std::unique_ptr<stream> make_stream() const override { return std::make_unique<immediate_stream>(); }
  std::unique_ptr<operators> make_operators() const override { return std::make_unique<reference_operators>(); }
  std::unique_ptr<operators> make_batch_invariant_operators() const override {
    return std::make_unique<reference_operators>(true);
  }
  at::Tensor make_host(std::int64_t bytes) const override { return at::empty({bytes}, at::kByte); }
  std::int64_t free_bytes() const override { return std::int64_t{1} << 30; }
  std::int64_t page_bytes() const override { return std::int64_t{64} << 10; }
  std::unique_ptr<cache::virtual_memory> reserve(std::int64_t bytes, std::int64_t) const override {
    return make_shared_pages(bytes, page_bytes());
  }
  bool reads_any_cache_type() const override { return true; }
  at::ScalarType number_format(at::ScalarType) const override { return at::kFloat; }
};

}  // namespace

std::shared_ptr<const backend> make_reference_backend() { return std::make_shared<const reference_backend>(); }

}  // namespace cogen::device
