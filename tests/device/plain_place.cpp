#include "plain_place.hpp"

#include "plain_operators.hpp"

#include <ATen/ops/empty.h>

namespace cogen::test {

namespace {

class repeated_work final : public device::recording {
 public:
  repeated_work(const plain_place& where, std::function<void()> work) : where_(where), work_(std::move(work)) {}

  void play() override {
    if (where_.before) where_.before("play");
    work_();
  }

 private:
  const plain_place& where_;
  const std::function<void()> work_;
};

class plain_queue final : public device::queue {
 public:
  explicit plain_queue(const plain_place& where) : where_(where) {}

  void within(const std::function<void()>& work) override { work(); }

  std::unique_ptr<device::recording> record(const std::function<void()>& work) override {
    return where_.records ? std::make_unique<repeated_work>(where_, work) : nullptr;
  }

  void then(std::function<void(std::exception_ptr)> done) override {
    tell("then");
    done(std::exchange(lost_, nullptr));
  }

  void wait() override { tell("wait"); }
  void after(queue& other) override {
    if (!lost_) lost_ = static_cast<plain_queue&>(other).lost_;
  }

  /// Fails when it is done, not when it is begun.
  void copy_rows(const at::Tensor& to, const at::Tensor& from) override {
    try {
      tell("copy");
      to.copy_(from);
    } catch (...) {
      lost_ = std::current_exception();
    }
  }

 private:
  void tell(const char* what) const {
    if (where_.before) where_.before(what);
  }

  const plain_place& where_;
  std::exception_ptr lost_;
};

}  // namespace

std::unique_ptr<device::queue> plain_place::make_queue() const { return std::make_unique<plain_queue>(*this); }

std::unique_ptr<device::operators> plain_place::make_operators() const { return std::make_unique<plain_operators>(); }

at::Tensor plain_place::make_host(std::int64_t bytes) const {
  if (before) before("host memory");
  return at::empty({bytes}, at::kByte);
}

}  // namespace cogen::test
