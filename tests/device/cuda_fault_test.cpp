// A device that fails for good: every operation fails. In a process of its own, which has no device afterwards.
#include "a_device.hpp"
#include "device_models.hpp"
#include "engine/model_engines.hpp"
#include "engine/parts/device_engine.hpp"
#include "trap.hpp"

#include <ATen/cuda/CUDAContext.h>
#include <boost/asio/bind_executor.hpp>

#include <atomic>

namespace cogen::test {

namespace {

/// CUDA streams, one of which starts a kernel that traps on request.
class failing_backend final : public device::backend {
 public:
  explicit failing_backend(std::shared_ptr<const device::backend> delegate) : delegate_(std::move(delegate)) {}

  at::Device device() const override { return delegate_->device(); }
  std::string description() const override { return delegate_->description(); }
  std::unique_ptr<device::stream> make_stream() const override {
    return std::make_unique<trapping>(delegate_->make_stream(), armed);
  }
  std::unique_ptr<device::operators> make_operators() const override { return delegate_->make_operators(); }
  at::Tensor make_host(std::int64_t bytes) const override { return delegate_->make_host(bytes); }
  std::int64_t free_bytes() const override { return delegate_->free_bytes(); }
  void allocate(const std::function<void()>& work) const override { delegate_->allocate(work); }
  std::int64_t max_vocabulary() const override { return delegate_->max_vocabulary(); }
  void synchronize() const override { delegate_->synchronize(); }

  mutable std::atomic<bool> armed = false;

 private:
  class trapping final : public device::stream {
   public:
    trapping(std::unique_ptr<device::stream> delegate, std::atomic<bool>& armed)
        : delegate_(std::move(delegate)), armed_(armed) {}

    void run_on_stream(const std::function<void()>& work) override {
      delegate_->run_on_stream([&] {
        if (armed_.exchange(false)) trap(at::cuda::getCurrentCUDAStream().stream());
        work();
      });
    }
    std::unique_ptr<device::graph> record(const std::function<void()>& work) override {
      return delegate_->record(work);
    }
    void then(std::function<void(std::exception_ptr)> done) override { delegate_->then(std::move(done)); }
    void wait() override { delegate_->wait(); }
    void after(stream& other) override { delegate_->after(*static_cast<trapping&>(other).delegate_); }
    void copy_rows(const at::Tensor& target, const at::Tensor& source) override {
      delegate_->copy_rows(target, source);
    }

   private:
    std::unique_ptr<device::stream> delegate_;
    std::atomic<bool>& armed_;
  };

  const std::shared_ptr<const device::backend> delegate_;
};

BOOST_AUTO_TEST_SUITE(cuda_faults, *boost::unit_test::disabled() * boost::unit_test::precondition(a_device()))

BOOST_AUTO_TEST_CASE(every_operation_fails_when_the_device_fails) {
  const auto where = std::make_shared<failing_backend>(device::backend_named("cuda"));
  const auto model = seeded_model_on(where, at::kBFloat16);
  engine_options options;
  options.batching.slots = 3;
  options.limits.max_sequence_length = 900;
  std::string logged;
  options.log = [&](std::string_view line) { logged += line; };
  engine running(model, options);
  net::io_context context;
  std::vector<token_stream> streams;
  int received = 0;
  streams.push_back(running.generate({.prompt = token_ids{1, 2, 3}, .max_tokens = 800, .ignore_eos = true}));
  streams[0].async_next(
      net::bind_executor(context, [&](error_code, const std::optional<piece>&) { where->armed = true; }));
  for (int i = 0; i < 7; ++i) {
    streams.push_back(
        running.generate({.prompt = token_ids(some_tokens(*model, 20, 1)), .max_tokens = 800, .ignore_eos = true}));
    streams.back().async_complete(net::bind_executor(context, [&](error_code code, const completion&) {
      BOOST_TEST(code == make_error_code(error::device_failed));
      ++received;
    }));
  }
  context.run();
  BOOST_TEST(received == 7);
  BOOST_TEST(running.error().code() == make_error_code(error::device_failed));
  BOOST_TEST(running.error().message().find("CUDA") != std::string::npos, running.error().message());
  BOOST_TEST(logged.find("a step failed") != std::string::npos, logged);
  BOOST_CHECK_THROW(engine(model, options), std::exception);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(cuda_wait_faults, *boost::unit_test::disabled() * boost::unit_test::precondition(a_device()))

/// A callback that held up the launch of the kernel could keep it from ever being loaded, so it comes behind it.
BOOST_AUTO_TEST_CASE(a_wait_that_throws_has_waited_for_the_callbacks) {
  const auto stream = device::backend_named("cuda")->make_stream();
  stream->run_on_stream([] { trap(at::cuda::getCurrentCUDAStream().stream()); });
  int enqueued = 0;
  std::atomic<int> called = 0;
  try {
    for (; enqueued < 20; ++enqueued)
      stream->then([&](const std::exception_ptr& error) { called += error != nullptr; });
  } catch (const std::exception&) {  // the device was quicker
  }
  BOOST_CHECK_THROW(stream->wait(), std::exception);
  BOOST_TEST(called == enqueued);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
