#include "sampling/softmax.hpp"

#include "rows.hpp"

#include <boost/test/unit_test.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>

using namespace cogen;

namespace {

struct weighed {
  std::vector<std::uint32_t> weights;
  std::vector<std::uint64_t> block_sums;
  std::uint64_t total = 0;
  bool operator==(const weighed&) const = default;
};

weighed weigh_by(const row_passes& passes, std::span<const float> logits, const softmax_scale& scale) {
  std::vector<float> weights(logits.size());
  std::vector<double> block_sums((logits.size() + 63) / 64);
  weighed result;
  result.total = std::bit_cast<std::uint64_t>(passes.weigh(logits, scale, weights.data(), block_sums.data()));
  for (const float each : weights) result.weights.push_back(std::bit_cast<std::uint32_t>(each));
  for (const double each : block_sums) result.block_sums.push_back(std::bit_cast<std::uint64_t>(each));
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(weights_are_the_same_bits_by_every_instruction_set) {
  const auto available = available_row_passes();
  BOOST_REQUIRE(!available.empty());
  for (const std::size_t count : {1, 7, 63, 64, 65, 200, 4099}) {
    auto logits = some_logits(count, static_cast<unsigned>(count), 40);
    logits[count / 2] = -std::numeric_limits<float>::infinity();
    const float largest = *std::max_element(logits.begin(), logits.end());
    for (const float inverse_temperature : {1.0F, 1.25F, 0.4F}) {
      const softmax_scale scale{largest, inverse_temperature};
      const auto expected = weigh_by(available.front(), logits, scale);
      for (const auto& passes : available) BOOST_TEST((weigh_by(passes, logits, scale) == expected));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_row_is_weighed_as_its_entries_one_by_one) {
  const auto logits = some_logits(1000, 5, 10);
  const softmax_scale scale{*std::max_element(logits.begin(), logits.end()), 0.7F};
  for (const auto& passes : available_row_passes()) {
    std::vector<float> weights(logits.size());
    std::vector<double> block_sums(16);
    const double total = passes.weigh(logits, scale, weights.data(), block_sums.data());
    for (std::size_t i = 0; i < logits.size(); ++i) BOOST_TEST(weights[i] == weight_of(logits[i], scale));
    BOOST_TEST(total == std::accumulate(block_sums.begin(), block_sums.end(), 0.0));
    BOOST_TEST(total == std::accumulate(weights.begin(), weights.end(), 0.0), boost::test_tools::tolerance(1e-12));
  }
}

BOOST_AUTO_TEST_CASE(every_instruction_set_finds_the_indices_of_the_weights_above_a_bound) {
  for (const std::size_t count : {1, 15, 16, 17, 64, 65, 1000, 4099}) {
    const auto logits = some_logits(count, static_cast<unsigned>(count), 20);
    const softmax_scale scale{*std::max_element(logits.begin(), logits.end())};
    std::vector<float> weights;
    std::vector<double> block_sums;
    weigh_row(logits, scale, weights, block_sums);
    for (const float bound : {0.0F, weights[count / 2], 0x1p-12F, 1.0F}) {
      std::vector<std::uint32_t> expected, memory;
      for (std::size_t i = 0; i < count; ++i)
        if (weights[i] >= bound) expected.push_back(static_cast<std::uint32_t>(i));
      for (const auto& passes : available_row_passes()) {
        std::vector<std::uint32_t> ids(count + index_padding);
        ids.resize(passes.indices_above(weights, block_sums, bound, ids.data()));
        BOOST_TEST(ids == expected, boost::test_tools::per_element());
      }
      BOOST_TEST(indices_above(weights, block_sums, bound, memory) == expected, boost::test_tools::per_element());
    }
  }
}
