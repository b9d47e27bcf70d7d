// Models that are split over devices: what ranks read of quantized weights, and what their caches hold.
#include "engine/model_engines.hpp"
#include "engine/parts/rank_agreement.hpp"
#include "network/backend/backend.hpp"
#include "network/backend/tensor_weights.hpp"
#include "network/model/load_rank.hpp"
#include "network/parallel/rank_group.hpp"
#include "test_data.hpp"
#include "thread_transport.hpp"

#include <cogen/load/checkpoint.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cogen::test {
namespace {

const std::vector<token> prompt{3, 1, 4, 1, 5, 9, 2, 6, 5};

load_options on_reference(device_weights bits) { return {.threads = 1, .device = "reference", .device_weights = bits}; }

std::vector<float> logits_of(const model& model) {
  auto cache = model.make_cache({.slots = 1, .max_sequence_length = 64});
  return model.forward(prompt, cache);
}

float greatest_distance(const std::vector<float>& a, const std::vector<float>& b) {
  float distance = 0;
  for (std::size_t i = 0; i < a.size(); ++i) distance = std::max(distance, std::abs(a[i] - b[i]));
  return distance;
}

/// The greatest difference of a logit over two ranks from that of one process.
float distance_when_split(const std::string& golden, device_weights bits) {
  const auto whole = logits_of(*load_model(golden_folder(golden), on_reference(bits)));
  float distance = 0;
  run_ranks(2, [&](auto transport) {
    const auto group = std::make_shared<parallel::rank_group>(std::move(transport), 2, 1);
    const auto split = logits_of(*nn::load_rank(golden_folder(golden), on_reference(bits), group));
    if (group->leads()) distance = greatest_distance(split, whole);
  });
  return distance;
}

BOOST_AUTO_TEST_SUITE(split_over_devices)

BOOST_AUTO_TEST_CASE(weights_are_split_before_they_are_quantized) {
  BOOST_TEST(distance_when_split("llama_gguf", device_weights::whole) < 2e-4F);
  BOOST_TEST(distance_when_split("llama_gguf", device_weights::stored) < 2e-4F);
  BOOST_TEST(distance_when_split("llama_gguf", device_weights::int8) < 0.1F);  // each is nearer to the model
}

BOOST_AUTO_TEST_CASE(columns_of_4_bits_are_those_of_the_whole) {
  const load::checkpoint files(golden_folder("llama_gguf"));
  const auto ops = device::backend_named("reference")->make_operators();
  device::stored_weights weights(files, at::TensorOptions().dtype(at::kFloat), {},
                                 {.bits = device_weights::int4, .ops = ops.get()});
  const auto columns = [&](std::int64_t first, std::int64_t count) {
    const weights::named_rows rows{
        .name = "model.layers.0.mlp.down_proj.weight", .rows = 96, .stored_inputs = 64, .first_input = first};
    return weights.projection(std::span(&rows, 1), count);
  };
  const auto whole = columns(0, 64);
  for (const std::int64_t half : {0, 1}) {
    const auto part = columns(32 * half, 32);
    BOOST_TEST(part.weights.equal(whole.weights.narrow(1, 32 * half, 32)));
    BOOST_TEST(part.scales.equal(whole.scales.narrow(1, half, 1)));
  }
}

// Of heads of 16 numbers, 3 have no whole groups.
BOOST_AUTO_TEST_CASE(columns_without_whole_groups_are_refused_in_4_bits) {
  try {
    distance_when_split("llama_gguf", device_weights::int4);
    BOOST_FAIL("not refused");
  } catch (const std::invalid_argument& error) {
    BOOST_TEST(std::string(error.what()).starts_with("rows of 48 numbers cannot be quantized in 4 bits"), error.what());
  }
}

/// What ranks say, by their number, of which one makes an engine.
std::vector<std::string> said_by(int count, const std::function<std::string(parallel::rank_group&)>& say) {
  std::vector<std::string> said(static_cast<std::size_t>(count));
  run_ranks(count, [&](auto transport) {
    parallel::rank_group group(std::move(transport), count, 1);
    auto& own = said[static_cast<std::size_t>(group.rank())];
    try {
      own = say(group);
    } catch (const std::invalid_argument& error) {
      own = error.what();
    }
  });
  return said;
}

BOOST_AUTO_TEST_CASE(ranks_agree_on_the_least) {
  const auto min_of = [](const std::vector<int>& found) {
    return said_by(static_cast<int>(found.size()), [&](auto& group) {
      return std::to_string(detail::agree_on_least(group, [&] {
        const int own = found[static_cast<std::size_t>(group.rank())];
        if (own == 0) throw std::invalid_argument("nothing fits");
        return own;
      }));
    });
  };
  using texts = std::vector<std::string>;
  for (const auto& found : {std::vector{7, 5, 9}, {5, 7, 9}, {9, 7, 5}})
    BOOST_TEST(min_of(found) == (texts{"5", "5", "5"}), boost::test_tools::per_element());
  for (const auto& found : {std::vector{0, 5}, {5, 0}, {0, 0}})
    BOOST_TEST(min_of(found) == (texts{"nothing fits", "nothing fits"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(caches_that_do_not_fit_on_one_rank_are_refused_on_all) {
  std::vector<std::string> said(2);
  run_ranks(2, [&](auto transport) {
    const auto group = std::make_shared<parallel::rank_group>(std::move(transport), 2, 1);
    const auto model = nn::load_rank(golden_folder("llama_default"), on_reference(device_weights::whole), group);
    auto options = tiny_engine(*model);
    options.kv.bytes = group->leads() ? 1 << 24 : 1 << 14;
    try {
      if (!group->leads()) return run_worker(model, options);
      engine(model, options);
    } catch (const std::invalid_argument& error) {
      said[static_cast<std::size_t>(group->rank())] = error.what();
    }
  });
  BOOST_TEST(said[0] == said[1]);
  BOOST_TEST(said[0].starts_with("engine_options.limits.max_sequence_length is"), said[0]);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
