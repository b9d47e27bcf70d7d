// Streams and graphs of a GPU.
#include "a_device.hpp"
#include "device_models.hpp"
#include "engine/model_engines.hpp"
#include "network/backend/backend.hpp"
#include "network/backend/cuda/cuda_stream_handle.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <set>
#include <stdexcept>
#include <vector>

namespace cogen::test {

namespace {

constexpr std::int64_t much = 256 << 20;

BOOST_AUTO_TEST_SUITE(cuda_streams, *boost::unit_test::precondition(a_device()))

/// Records nothing, as `work` throws.
void fail_to_record(device::stream& stream, const std::function<void()>& work) {
  BOOST_CHECK_THROW(stream.run_on_stream([&] { stream.record(work); }), std::exception);
}

BOOST_AUTO_TEST_CASE(a_recording_that_throws_leaves_the_device_as_it_was) {
  const auto where = device::backend_named("cuda");
  const auto number = at::zeros({1}, at::TensorOptions(at::kCUDA).dtype(at::kFloat));
  const auto take = [](std::int64_t bytes) {
    return at::empty({bytes}, at::TensorOptions(at::kCUDA).dtype(at::kByte));
  };
  const auto record_in_vain = [&] {
    const auto stream = where->make_stream();
    const auto add = [&] { number.add_(1); };
    number.zero_();
    where->synchronize();
    fail_to_record(*stream, [&] {
      const auto taken = take(much);
      add();
      throw std::runtime_error("not recorded");
    });
    fail_to_record(*stream, [&] {
      add();
      stream->wait();  // which no graph can do
    });
    stream->run_on_stream(add);
    std::unique_ptr<device::graph> graph;
    stream->run_on_stream([&] {
      graph = stream->record([&] {
        const auto taken = take(much);
        add();
      });
      graph->replay();
      graph->replay();
    });
    stream->wait();
    BOOST_TEST(number.item<float>() == 3);
  };
  record_in_vain();
  const auto free = where->free_bytes();
  record_in_vain();
  BOOST_TEST(std::abs(where->free_bytes() - free) < much / 4);
  for (const auto share : {3, 6, 4})  // what is unused is given back for the next
    BOOST_CHECK_NO_THROW(take(free / 8 * share));
  BOOST_TEST(std::abs(where->free_bytes() - free) < much / 4);
}

BOOST_AUTO_TEST_CASE(rows_are_copied_over_any_distance) {
  const auto where = device::backend_named("cuda");
  const auto stream = where->make_stream();
  const auto bytes = at::TensorOptions(at::kCUDA).dtype(at::kByte);
  constexpr std::int64_t apart = (std::int64_t{1} << 32) + 16;
  for (const std::int64_t distance : {std::int64_t{16}, apart}) {
    const auto memory = at::empty({2 * distance}, bytes);
    const auto rows = memory.as_strided({3, 5}, {distance / 2, 1});
    rows.copy_(at::tensor({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, bytes).view({3, 5}));
    where->synchronize();
    const auto copied = where->make_host(15).view({3, 5});
    stream->copy_rows(copied, rows);
    stream->wait();
    BOOST_TEST(copied.equal(rows.to(at::kCPU)));
  }
}

BOOST_AUTO_TEST_CASE(any_number_of_streams_are_different_and_used_again) {
  const auto make_streams = [] {
    std::vector<std::unique_ptr<device::cuda_stream_handle>> handles;
    std::set<cudaStream_t> streams;
    for (int i = 0; i < 45; ++i) {
      handles.push_back(std::make_unique<device::cuda_stream_handle>(0));
      streams.insert(handles.back()->get().stream());
    }
    return streams;
  };
  const auto first = make_streams();
  BOOST_TEST(first.size() == 45u);
  BOOST_TEST((make_streams() == first));
}

/// The logits after each of some tokens.
at::Tensor read(const std::shared_ptr<const model>& model, const std::vector<token>& tokens) {
  engine_options options;
  options.batching.slots = 4;
  options.limits.max_sequence_length = 300;
  engine running(model, options);
  std::vector<float> values;
  net::io_context context;
  net::co_spawn(
      context,
      [&]() -> net::awaitable<void> {
        auto sequence = running.open();
        const auto read = co_await sequence.async_forward(tokens, logits_of::all);
        for (int row = 0; row < read.rows(); ++row) values.insert(values.end(), read[row].begin(), read[row].end());
      },
      [](std::exception_ptr error) {
        if (error) std::rethrow_exception(error);
      });
  context.run();
  return at::tensor(values, at::kFloat);
}

at::Tensor read_alone(const std::shared_ptr<const model>& model) { return read(model, some_tokens(*model, 40, 5)); }

bool is_near(const at::Tensor& tensor, const at::Tensor& other) {
  return (tensor - other).norm().item<float>() < 1e-3F * other.norm().item<float>();
}

BOOST_AUTO_TEST_CASE(engines_that_are_made_at_once_say_what_one_says_alone) {
  const auto model = seeded_model_on(device::backend_named("cuda"), at::kBFloat16);
  const auto expected = read_alone(model);
  std::vector<std::future<at::Tensor>> results;
  for (int i = 0; i < 12; ++i) results.push_back(std::async(std::launch::async, [&] { return read_alone(model); }));
  for (auto& each : results) BOOST_TEST(is_near(each.get(), expected));
}

/// Whose zeros are written late.
BOOST_AUTO_TEST_CASE(an_engine_waits_for_what_the_default_stream_does) {
  const auto model = seeded_model_on(device::backend_named("cuda"), at::kBFloat16);
  const auto expected = read_alone(model);
  const auto ones = at::ones({8192, 8192}, at::TensorOptions(at::kCUDA).dtype(at::kFloat));
  auto product = ones;
  for (int i = 0; i < 60; ++i) product = product.mm(ones);
  BOOST_TEST(is_near(read_alone(model), expected));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
