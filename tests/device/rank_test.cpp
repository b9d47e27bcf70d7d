// The engine of a rank whose device ends its work although another rank has failed.
#include "../engine/model_engines.hpp"
#include "../test_data.hpp"
#include "device_models.hpp"
#include "network/model/model_text.hpp"
#include "plain_backend.hpp"

#include <cogen/load/checkpoint.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::test {

namespace {

/// Of a model that rank 0 has as a whole. Others can fail.
class lone_rank final : public device::collectives {
 public:
  parallel::place place() const override { return {}; }
  void sum(const at::Tensor&) override {}
  void gather(const at::Tensor&, const std::vector<at::Tensor>&) override {}
  bool gathers() const override { return true; }
  void fail(std::string_view) noexcept override {}
  void broadcast(const at::Tensor&) override { ++broadcasts; }
  std::exception_ptr failure() const noexcept override {
    return broadcasts < last ? nullptr : std::make_exception_ptr(parallel::rank_error("rank 1 has failed: no power"));
  }

  std::atomic<int> broadcasts = 0;
  int last = 1 << 30;  ///< the broadcast that never ends
};

std::shared_ptr<const model> model_with(const std::shared_ptr<lone_rank>& ranks) {
  auto network =
      golden_network_on(std::make_shared<plain_backend>(), "llama_default", at::kFloat, device_weights::whole, ranks);
  return std::make_shared<const model>(load::checkpoint(golden_folder("llama_default")).config(), nn::model_text{},
                                       std::move(network));
}

/// What a stream of 9 tokens ends with; empty: well. With a processor the host samples.
std::string end_of_stream(engine& running, bool on_host) {
  net::io_context context;
  std::string end = "it has not ended";
  auto wanted = request{.prompt = token_ids({1, 2, 3}), .max_tokens = 9, .ignore_eos = true};
  if (on_host) wanted.sampling.processor = [](auto, auto) {};
  auto stream = running.generate(wanted);
  stream.async_complete(net::bind_executor(
      context, [&](error_code code, const completion&) { end = code ? stream.error().message() : ""; }));
  settle(running, context);
  return end;
}

BOOST_AUTO_TEST_SUITE(device_ranks)

BOOST_DATA_TEST_CASE(tokens_are_told_after_each_step_that_samples, boost::unit_test::data::make({false, true}),
                     on_host) {
  const auto ranks = std::make_shared<lone_rank>();
  const auto model = model_with(ranks);
  engine running(model, tiny_engine(*model));
  BOOST_TEST(end_of_stream(running, on_host) == "");
  BOOST_TEST(ranks->broadcasts >= 9);
}

BOOST_DATA_TEST_CASE(a_step_ends_with_the_failure_of_another_rank, boost::unit_test::data::make({false, true}),
                     on_host) {
  const auto ranks = std::make_shared<lone_rank>();
  const auto model = model_with(ranks);
  engine running(model, tiny_engine(*model));
  ranks->last = 4;
  BOOST_TEST(end_of_stream(running, on_host) == "a step failed: rank 1 has failed: no power");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
