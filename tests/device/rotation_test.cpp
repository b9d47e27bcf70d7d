#include "network/backend/cpu/rope.hpp"
#include "network/backend/rotation_tables.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <random>

namespace cogen::test {

namespace {

BOOST_AUTO_TEST_SUITE(device_rotation)

/// What the position turns pair `pair` by, made of two turns as devices make it.
std::pair<double, double> turned(const device::rotation& turn, std::int64_t position, std::int64_t pair) {
  const auto pairs = turn.near.size(1) / 2;
  const auto lookup = [&](const at::Tensor& table, std::int64_t row) {
    const float* angles = table.const_data_ptr<float>() + row * 2 * pairs + pair;
    return std::pair<double, double>{angles[0], angles[pairs]};
  };
  const auto [cosine, sine] = lookup(turn.near, position % turn.near.size(0));
  const auto [far_cosine, far_sine] = lookup(turn.far, position / turn.near.size(0));
  return {cosine * far_cosine - sine * far_sine, sine * far_cosine + cosine * far_sine};
}

BOOST_AUTO_TEST_CASE(positions_turn_by_their_frequencies_however_far_they_are) {
  const load::rope_config standard{.theta = 10000, .rotary_dim = 32};
  const load::rope_config yarn{
      .kind = load::rope_kind::yarn, .theta = 500000, .rotary_dim = 16, .factor = 8, .original_positions = 4096};
  for (const auto& config : {standard, yarn})
    for (const std::int64_t kept : {100, 1 << 16, 1 << 20}) {
      const auto turn = device::make_rotation(config, kept, at::kCPU);
      const auto expected = cpu::frequencies(config);
      std::mt19937 random(3);
      std::uniform_int_distribution<std::int64_t> any(0, 1 << 30);
      std::vector<std::int64_t> positions{0, 1, turn.near.size(0) - 1, turn.near.size(0), (1 << 30) - 1, 1 << 30};
      for (int i = 0; i < 100; ++i) positions.push_back(any(random));
      for (const auto position : positions)
        for (std::size_t pair = 0; pair < expected.inverse.size(); ++pair) {
          const double angle = static_cast<double>(position) * expected.inverse[pair];
          const auto [cosine, sine] = turned(turn, position, static_cast<std::int64_t>(pair));
          BOOST_TEST(std::abs(cosine - std::cos(angle) * expected.attention_scaling) < 1e-6, "position " << position);
          BOOST_TEST(std::abs(sine - std::sin(angle) * expected.attention_scaling) < 1e-6, "position " << position);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
