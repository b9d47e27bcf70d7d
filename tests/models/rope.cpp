// Rotary frequencies where the golden models do not reach: listed factors, and tables that grow.
#include "network/backend/cpu/rope.hpp"

#include "formats/checkpoint/config_fields.hpp"
#include "formats/checkpoint/rope_config.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <vector>

namespace cogen::test {

BOOST_AUTO_TEST_SUITE(rope)

BOOST_AUTO_TEST_CASE(listed_factors_divide_each_frequency) {
  const load::rope_config config{
      .kind = load::rope_kind::listed, .theta = 100, .rotary_dim = 4, .frequency_factors = {2, 0.5}};
  const auto result = cpu::frequencies(config);
  BOOST_REQUIRE_EQUAL(result.inverse.size(), 2U);
  BOOST_TEST(result.inverse[0] == 0.5, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(result.inverse[1] == 0.2, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(result.attention_scaling == 1);
}

// Llama 4 has one wavelength that parts those that are stretched from those that are not.
BOOST_AUTO_TEST_CASE(the_ends_of_a_llama_3_ramp_may_be_one) {
  const load::rope_config config{.kind = load::rope_kind::llama3,
                                 .theta = 100,
                                 .rotary_dim = 4,
                                 .factor = 8,
                                 .low_freq_factor = 1,
                                 .high_freq_factor = 1,
                                 .original_positions = 32};
  const auto result = cpu::frequencies(config);
  BOOST_TEST(result.inverse[0] == 1);
  BOOST_TEST(result.inverse[1] == 0.1 / 8, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(a_proportional_rotation_turns_the_first_pairs_of_the_whole_head) {
  const auto fields = load::config_fields::from_json(
      R"({"r": {"rope_type": "proportional", "rope_theta": 100, "partial_rotary_factor": 0.5, "factor": 2}})", "test");
  load::model_config shape;
  shape.head_dim = 8;
  const auto config = load::read_rope_config(fields, "r", shape);
  BOOST_TEST(config.rotary_dim == 8);
  const auto result = cpu::frequencies(config);
  BOOST_REQUIRE_EQUAL(result.inverse.size(), 4U);
  BOOST_TEST(result.inverse[0] == 0.5, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(result.inverse[1] == 0.5 * std::pow(100, -0.25), boost::test_tools::tolerance(1e-12));
  BOOST_TEST(result.inverse[2] == 0);
  BOOST_TEST(result.inverse[3] == 0);
}

BOOST_AUTO_TEST_CASE(a_given_attention_factor_replaces_the_computed_one) {
  load::rope_config config{.kind = load::rope_kind::yarn, .rotary_dim = 8, .factor = 4, .original_positions = 32};
  BOOST_TEST(cpu::frequencies(config).attention_scaling == 0.1 * std::log(4.0) + 1,
             boost::test_tools::tolerance(1e-12));
  config.attention_factor = 0.75;
  BOOST_TEST(cpu::frequencies(config).attention_scaling == 0.75);
}

BOOST_AUTO_TEST_CASE(long_texts_may_have_a_magnitude_of_their_own) {
  load::rope_config config{.kind = load::rope_kind::longrope, .rotary_dim = 4, .original_positions = 32};
  config.frequency_factors = config.long_factors = {1, 1};
  config.attention_factor = 1.25;
  BOOST_TEST(cpu::frequencies(config, 33).attention_scaling == 1.25);
  config.long_attention_factor = 0.75;
  BOOST_TEST(cpu::frequencies(config, 32).attention_scaling == 1.25);
  BOOST_TEST(cpu::frequencies(config, 33).attention_scaling == 0.75);
}

BOOST_AUTO_TEST_CASE(a_table_grows_without_changing_and_stops_at_the_longest) {
  const cpu::rope rope({.rotary_dim = 8}, 9000);
  const auto small = rope.covering(10);
  const auto large = rope.covering(8500);
  BOOST_TEST(small->positions() < 8500);
  BOOST_TEST(large->positions() == 9000);
  for (std::int64_t position = 0; position < small->positions(); position += 7) {
    for (int i = 0; i < 2 * small->pairs(); ++i)
      BOOST_TEST(small->angles(position, nullptr)[i] == large->angles(position, nullptr)[i]);
  }
  BOOST_TEST((rope.covering(9000) == large));
  BOOST_TEST((rope.covering(50000) == large));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
