// A router that gives NaN ends the requests whose rows it is given for, and no other.
#include "../models/golden_copy.hpp"
#include "kept_engines.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

constexpr int routed_tokens = 8;
constexpr int prompts_asked = 16;

struct overflowing_router {
  std::string golden;
  std::string weight;  ///< of the router of one layer
};

std::ostream& operator<<(std::ostream& out, const overflowing_router& router) { return out << router.golden; }

std::vector<overflowing_router> routers() {
  return {{"mixtral_published", "model.layers.0.block_sparse_moe.gate.weight"},
          {"jamba_tiny", "model.layers.1.feed_forward.router.weight"},
          {"granite4_moe_published", "model.layers.0.block_sparse_moe.router.layer.weight"},
          {"gpt_oss_published", "model.layers.0.mlp.router.weight"}};
}

/// The model with two weights of an expert so large that the router's products overflow for some rows, in both
/// directions.
std::shared_ptr<const model> with_overflow(const overflowing_router& router, const std::string& device) {
  const golden_copy folder(router.golden);
  folder.set_number(router.weight, 0, 0x7f60);
  folder.set_number(router.weight, 1, 0xff60);
  return load_model(folder.path(), {.threads = 1, .device = device});
}

/// What a request ends with.
struct ending {
  std::vector<token> tokens;
  std::string error;

  friend bool operator==(const ending&, const ending&) = default;
};

std::ostream& operator<<(std::ostream& out, const ending& result) {
  for (const auto id : result.tokens) out << id << ' ';
  return out << result.error;
}

std::vector<ending> ask(engine& running, const std::vector<std::vector<token>>& prompts) {
  net::io_context context;
  std::vector<token_stream> streams;
  std::vector<ending> endings(prompts.size());
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    streams.push_back(
        running.generate({.prompt = token_ids(prompts[i]), .max_tokens = routed_tokens, .ignore_eos = true}));
    streams[i].async_complete(net::bind_executor(context, [&, i](error_code code, const completion& whole) {
      for (const auto& each : whole.tokens) endings[i].tokens.push_back(each.id);
      if (code) endings[i].error = streams[i].error().message();
    }));
  }
  settle(running, context);
  BOOST_TEST(!running.error());
  return endings;
}

std::vector<std::pair<std::string, keep>> cache_kinds() {
  return {{"plain", [](engine_options&) {}},
          {"int8", quantized(cache::int8())},
          {"kivi2", quantized(cache::kivi2())},
          {"sinks", [](engine_options& options) { options.kv.sinks = {.sinks = 4, .window = 12}; }},
          {"offloaded", [](auto& options) { options.kv.offload = true; }},
          {"fast products", [](auto& options) { options.compute_type = compute_type::int8; }}};
}

/// Each in an engine of its own, whose slots no other request has used.
std::vector<ending> alone(const std::shared_ptr<const model>& model, const engine_options& options,
                          const std::vector<std::vector<token>>& prompts) {
  std::vector<ending> endings;
  for (const auto& each : prompts) {
    engine other(model, options);
    endings.push_back(ask(other, {each}).front());
  }
  return endings;
}

void check(const std::shared_ptr<const model>& model, const engine_options& options) {
  std::vector<std::vector<token>> prompts;
  for (unsigned seed = 0; seed < prompts_asked; ++seed) prompts.push_back(some_tokens(*model, 2 + seed % 5, seed));
  const auto expected = alone(model, options, prompts);
  const auto failed = std::ranges::count_if(expected, [](const ending& result) {
    return result.error == "a logit is NaN or plus infinity, so no token can be chosen";
  });
  BOOST_TEST(failed > 0);
  BOOST_TEST(failed < prompts_asked);
  BOOST_TEST(failed == std::ranges::count_if(expected, [](const ending& result) { return !result.error.empty(); }));
  engine running(model, options);
  for (int round = 0; round < 2; ++round)
    BOOST_TEST(ask(running, prompts) == expected, boost::test_tools::per_element());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(invalid_routers)

BOOST_DATA_TEST_CASE(end_the_requests_of_their_rows_alone, data::make(devices) * data::make(routers()), device, each) {
  const auto model = with_overflow(each, device);
  check(model, tiny_engine(*model));
}

BOOST_AUTO_TEST_CASE(leave_no_trace_in_any_kind_of_cache) {
  for (const auto& router : {routers().at(0), routers().at(1)})
    for (const auto& [name, keep] : cache_kinds()) {
      BOOST_TEST_CONTEXT(router << " " << name) {
        const auto model = with_overflow(router, "cpu");
        auto options = tiny_engine(*model);
        keep(options);
        check(model, options);
      }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
