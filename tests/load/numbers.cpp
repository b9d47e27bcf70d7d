
#include "../test_data.hpp"
#include "formats/checkpoint/dequantize.hpp"
#include "formats/checkpoint/safetensors.hpp"

#include <cogen/detail/half.hpp>

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

using namespace cogen::load;
using cogen::bf16_to_f32, cogen::f16_to_f32, cogen::f32_to_bf16, cogen::f32_to_f16;

namespace {

std::filesystem::path data(const char* name) { return cogen::test::test_data() / "load/data" / name; }

const safetensors_file& reference(const std::string& name) {
  static const safetensors_file numbers(data("numbers.safetensors")), k_quants(data("k_quants.safetensors")),
      low_bit_quants(data("low_bit_quants.safetensors")), few_bit_quants(data("few_bit_quants.safetensors"));
  if (few_bit_quants.find(name) != nullptr) return few_bit_quants;
  if (low_bit_quants.find(name) != nullptr) return low_bit_quants;
  return k_quants.find(name) != nullptr ? k_quants : numbers;
}

template <class T>
std::vector<T> values(const std::string& name) {
  const auto* tensor = reference(name).find(name);
  BOOST_REQUIRE_MESSAGE(tensor != nullptr, name);
  std::vector<T> read(tensor->bytes / sizeof(T));
  reference(name).read(*tensor, 0, std::as_writable_bytes(std::span(read)));
  return read;
}

bool same_bits(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }

}  // namespace

BOOST_AUTO_TEST_SUITE(numbers)

BOOST_AUTO_TEST_CASE(blocks_have_the_values_of_the_gguf_package) {
  for (const auto type : {cogen::element_type::q4_0,    cogen::element_type::q4_1,   cogen::element_type::q5_0,
                          cogen::element_type::q5_1,    cogen::element_type::q8_0,   cogen::element_type::q4_k,
                          cogen::element_type::q5_k,    cogen::element_type::q6_k,   cogen::element_type::q2_k,
                          cogen::element_type::q3_k,    cogen::element_type::iq4_nl, cogen::element_type::iq4_xs,
                          cogen::element_type::mxfp4,   cogen::element_type::iq1_s,  cogen::element_type::iq1_m,
                          cogen::element_type::iq2_xxs, cogen::element_type::iq2_xs, cogen::element_type::iq2_s,
                          cogen::element_type::iq3_xxs, cogen::element_type::iq3_s,  cogen::element_type::tq1_0,
                          cogen::element_type::tq2_0,   cogen::element_type::nvfp4,  cogen::element_type::q1_0,
                          cogen::element_type::q2_0}) {
    const std::string name(to_string(type));
    const auto blocks = values<std::byte>(name + ".blocks");
    const auto expected = values<float>(name + ".values");
    std::vector<float> got(expected.size());
    dequantize(type, blocks, got);
    std::size_t different = 0;
    for (std::size_t i = 0; i < got.size(); ++i) different += !same_bits(got[i], expected[i]);
    BOOST_CHECK_MESSAGE(different == 0, name << ": " << different << " of " << got.size() << " values differ");
  }
}

BOOST_AUTO_TEST_CASE(plain_types_have_their_values) {
  const std::vector<std::uint16_t> f16{0x3C00, 0xC000, 0x0001};
  const std::vector<std::uint16_t> bf16{0x3F80, 0xC000, 0x7F7F};
  const std::vector<double> f64{1.5, -2, 0.1};
  std::vector<float> out(3);
  dequantize(cogen::element_type::f16, std::as_bytes(std::span(f16)), out);
  BOOST_TEST(out == (std::vector<float>{1, -2, 0x1p-24F}), boost::test_tools::per_element());
  dequantize(cogen::element_type::bf16, std::as_bytes(std::span(bf16)), out);
  BOOST_TEST(out == (std::vector<float>{1, -2, 0x1.FEp127F}), boost::test_tools::per_element());
  dequantize(cogen::element_type::f64, std::as_bytes(std::span(f64)), out);
  BOOST_TEST(out == (std::vector<float>{1.5F, -2, 0.1F}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(blocks_may_stand_at_any_address) {
  const auto blocks = values<std::byte>("q5_1.blocks");
  std::vector<std::byte> moved(blocks.size() + 1);
  std::memcpy(moved.data() + 1, blocks.data(), blocks.size());
  std::vector<float> expected(values<float>("q5_1.values").size());
  std::vector<float> got(expected.size());
  dequantize(cogen::element_type::q5_1, blocks, expected);
  dequantize(cogen::element_type::q5_1, std::span(moved).subspan(1), got);
  BOOST_TEST(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)) == 0);
}

BOOST_AUTO_TEST_CASE(sizes_that_do_not_fit_are_refused) {
  const std::vector<std::byte> bytes(40);
  std::vector<float> out(64);
  dequantize(cogen::element_type::q4_1, bytes, out);
  BOOST_CHECK_THROW(dequantize(cogen::element_type::q4_1, std::span(bytes).first(39), out), std::invalid_argument);
  BOOST_CHECK_THROW(dequantize(cogen::element_type::q4_1, bytes, std::span(out).first(63)), std::invalid_argument);
  BOOST_CHECK_THROW(dequantize(cogen::element_type::q4_1, std::span(bytes).first(20), out), std::invalid_argument);
  BOOST_CHECK_THROW(dequantize(cogen::element_type::i32, bytes, std::span(out).first(10)), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(floats_round_to_halves_as_in_numpy_and_torch) {
  const auto floats = values<float>("half.f32");
  const auto f16 = values<std::uint16_t>("half.f16");
  const auto bf16 = values<std::uint16_t>("half.bf16");
  std::size_t different = 0;
  for (std::size_t i = 0; i < floats.size(); ++i) {
    different += f32_to_f16(floats[i]) != f16[i];
    different += f32_to_bf16(floats[i]) != bf16[i];
  }
  BOOST_TEST(different == 0U);
  BOOST_TEST(floats.size() > 3000U);
}

BOOST_AUTO_TEST_CASE(every_half_survives_the_way_to_float_and_back) {
  std::size_t different = 0;
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const bool f16_nan = (bits & 0x7FFFU) > 0x7C00U;
    const bool bf16_nan = (bits & 0x7FFFU) > 0x7F80U;
    different += f32_to_f16(f16_to_f32(half)) != (f16_nan ? half | 0x0200U : half);
    different += f32_to_bf16(bf16_to_f32(half)) != (bf16_nan ? half | 0x0040U : half);
  }
  BOOST_TEST(different == 0U);
  BOOST_TEST(std::isnan(f16_to_f32(0x7E00)));
  BOOST_TEST(std::isinf(f16_to_f32(0xFC00)));
}

BOOST_AUTO_TEST_SUITE_END()
