#include "network/kernels/convert.hpp"

#include <ATen/core/Tensor.h>
#include <boost/test/unit_test.hpp>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

namespace cogen::kernels {
namespace {

BOOST_AUTO_TEST_SUITE(convert_test)

BOOST_AUTO_TEST_CASE(every_16_bit_number_reads_as_in_c10_and_comes_back) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float f16 = f16_to_float(half), bf16 = bf16_to_float(half);
    if (std::isnan(f16)) {
      BOOST_REQUIRE(std::isnan(f16_to_float(float_to_f16(f16))));
    } else {
      BOOST_REQUIRE(f16 == static_cast<float>(c10::Half(half, c10::Half::from_bits())));
      BOOST_REQUIRE(float_to_f16(f16) == half);
    }
    if (std::isnan(bf16)) {
      BOOST_REQUIRE(std::isnan(bf16_to_float(float_to_bf16(bf16))));
    } else {
      BOOST_REQUIRE(bf16 == static_cast<float>(c10::BFloat16(half, c10::BFloat16::from_bits())));
      BOOST_REQUIRE(float_to_bf16(bf16) == half);
    }
  }
}

BOOST_AUTO_TEST_CASE(rounding_agrees_with_c10) {
  std::mt19937 engine(7);
  for (int round = 0; round < 200000; ++round) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(engine()));
    if (std::isnan(value)) continue;
    BOOST_REQUIRE(float_to_f16(value) == c10::Half(value).x);
    BOOST_REQUIRE(float_to_bf16(value) == c10::BFloat16(value).x);
  }
  for (const float halfway : {0x1p-25F, 0x1.8p-24F, 65519.0F, 65520.0F, 2049.0F, 2051.0F, -2049.0F})
    BOOST_TEST(float_to_f16(halfway) == c10::Half(halfway).x);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels
