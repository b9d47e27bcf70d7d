// The built-in codec against a plain quantizer, and against a reader written from its documentation.
#include "says.hpp"

#include <cogen/extend/kv_codec.hpp>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <ostream>
#include <random>
#include <stdexcept>
#include <vector>

namespace cogen::cache {

std::ostream& operator<<(std::ostream& out, group_axis axis) {
  return out << (axis == group_axis::token ? "axis token" : "axis channel");
}

std::ostream& operator<<(std::ostream& out, row_order order) {
  return out << (order == row_order::token ? "order token" : "order channel");
}

}  // namespace cogen::cache

namespace cogen::cache::test {

BOOST_AUTO_TEST_SUITE(codecs)
namespace {

namespace data = boost::unit_test::data;

const auto every_form = data::make({8, 4, 2}) * data::make({group_axis::token, group_axis::channel}) *
                        data::make({row_order::token, row_order::channel});

std::vector<int> groups_for(group_axis axis) {
  return axis == group_axis::channel ? std::vector<int>{32, 64} : std::vector<int>{1, 7, 16, 32, 64, 200};
}

const std::vector<int> awkward_head_dims{1, 5, 16, 31, 40, 64, 72, 96, 130};

/// [64, head_dim]
at::Tensor random(int head_dim, unsigned seed, float scale = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.3F, scale);
  const at::Tensor result = at::empty({64, head_dim}, at::kFloat);
  std::generate_n(result.data_ptr<float>(), result.numel(), [&] { return normal(random); });
  return result;
}

std::vector<std::byte> quantized(const codec& codec, const at::Tensor& values) {
  const int head_dim = static_cast<int>(values.size(1));
  std::vector<std::byte> bytes(static_cast<std::size_t>(codec.quantized_bytes(head_dim)), std::byte(0xa5));
  codec.quantize(values.const_data_ptr<float>(), head_dim, bytes.data());
  return bytes;
}

at::Tensor unquantized(const codec& codec, const std::vector<std::byte>& bytes, int head_dim) {
  const at::Tensor values = at::full({64, head_dim}, NAN, at::kFloat);
  codec.dequantize(bytes.data(), head_dim, values.data_ptr<float>());
  return values;
}

at::Tensor through(const group_format& format, const at::Tensor& values) {
  const auto codec = make_group_codec(format);
  return unquantized(*codec, quantized(*codec, values), static_cast<int>(values.size(1)));
}

at::Tensor in_half(const at::Tensor& values) { return values.to(at::kHalf).to(at::kFloat); }

/// What groups stand for once quantized, and how far that may be from what they were.
struct naive_groups {
  at::Tensor values;
  at::Tensor error;
};

/// Every line along a dimension is a group.
naive_groups quantized_plainly(const at::Tensor& groups, std::int64_t along, int bits) {
  const float levels = static_cast<float>((1 << bits) - 1);
  const at::Tensor lowest = groups.amin(along, true), highest = groups.amax(along, true);
  const at::Tensor low = in_half(lowest);
  const at::Tensor scale = in_half((highest - low).clamp_min(0) / levels);
  const at::Tensor codes = ((groups - low) / scale).round().clamp(0, levels).masked_fill(scale == 0, 0);
  const at::Tensor range = highest - lowest;
  const at::Tensor of_halves = (range + 2 * lowest.abs()) * 0x1p-11F + (levels * 0x1p-25F + 0x1p-24F);
  return {.values = codes * scale + low, .error = range / levels / 2 * 1.001F + of_halves};
}

/// By how much the farthest of them is beyond what it may differ by.
float excess(const at::Tensor& left, const at::Tensor& right, const at::Tensor& allowed) {
  return ((left - right).abs() - allowed).max().item<float>();
}

void check_against_plain(const group_format& format, const at::Tensor& values) {
  const at::Tensor got = through(format, values);
  const std::int64_t along = format.axis == group_axis::token ? 1 : 0;
  for (std::int64_t begin = 0; begin < values.size(along); begin += format.group) {
    const std::int64_t count = std::min<std::int64_t>(format.group, values.size(along) - begin);
    const at::Tensor of_values = values.narrow(along, begin, count), of_got = got.narrow(along, begin, count);
    const naive_groups wanted = quantized_plainly(of_values, along, format.bits);
    const at::Tensor span = 1e-6F * (1 + wanted.values.abs().amax(along, true));
    BOOST_TEST_REQUIRE(excess(of_got, wanted.values, span) <= 0);
    BOOST_TEST_REQUIRE(excess(of_got, of_values, wanted.error + span) <= 0);
  }
}

float half_in(const std::byte* bytes) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes, sizeof(bits));
  const int exponent = bits >> 10 & 31;
  const float fraction = static_cast<float>(bits & 1023);
  const float size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 ? -size : size;
}

int up(int n, int multiple) { return (n + multiple - 1) / multiple * multiple; }

/// Reads a quantized block by the layout in codec.hpp. Independent of the codec.
class reader_of_the_documentation {
 public:
  reader_of_the_documentation(const group_format& format, int head_dim) : format_(format) {
    const bool token_rows = format.order == row_order::token;
    rows_ = token_rows ? 64 : head_dim;
    length_ = token_rows ? head_dim : 64;
    elements_ = up(length_, 128 / format.bits);
    along_ = token_rows == (format.axis == group_axis::token);
    groups_of_a_row_ = up(length_, format.group) / format.group;
    scales_ = along_ ? rows_ * groups_of_a_row_ : up(rows_, format.group) / format.group * elements_;
  }

  int row_bytes() const { return elements_ * format_.bits / 8; }
  int codes() const { return 2 * up(2 * scales_, 64); }
  int bytes() const { return codes() + up(rows_, 4) * row_bytes(); }
  int rows() const { return rows_; }
  int length() const { return length_; }
  int elements() const { return elements_; }

  int code(const std::byte* block, int row, int i) const {
    const int places = elements_ / (8 / format_.bits);
    const int byte = std::to_integer<int>(block[codes() + row / 4 * 4 * row_bytes() + i % places * 4 + row % 4]);
    return byte >> (format_.bits * (i / places)) & ((1 << format_.bits) - 1);
  }

  float number(const std::byte* block, int token, int dimension) const {
    const bool token_rows = format_.order == row_order::token;
    const int row = token_rows ? token : dimension;
    const int i = token_rows ? dimension : token;
    const int group = along_ ? i / format_.group * rows_ + row : row / format_.group * elements_ + i;
    const float scale = half_in(block + 2 * group);
    return half_in(block + up(2 * scales_, 64) + 2 * group) + static_cast<float>(code(block, row, i)) * scale;
  }

 private:
  group_format format_;
  int rows_;
  int length_;
  int elements_;
  bool along_;
  int groups_of_a_row_;
  int scales_;
};

void check_layout(const group_format& format, const at::Tensor& values) {
  const int head_dim = static_cast<int>(values.size(1));
  const auto codec = make_group_codec(format);
  const reader_of_the_documentation reader(format, head_dim);
  const std::vector<std::byte> block = quantized(*codec, values);
  BOOST_TEST_REQUIRE(static_cast<int>(block.size()) == reader.bytes());
  BOOST_TEST_REQUIRE(block.size() % 64 == 0);
  const at::Tensor wanted = unquantized(*codec, block, head_dim);
  for (int token = 0; token < 64; ++token)
    for (int i = 0; i < head_dim; ++i) {
      const float number = wanted.const_data_ptr<float>()[token * head_dim + i];
      BOOST_TEST_REQUIRE(std::abs(reader.number(block.data(), token, i) - number) <= 1e-6F * (1 + std::abs(number)));
    }
  for (int row = 0; row < reader.rows(); ++row)
    for (int i = reader.length(); i < reader.elements(); ++i)
      BOOST_TEST_REQUIRE(reader.code(block.data(), row, i) == 0);
}

}  // namespace

BOOST_DATA_TEST_CASE(packing_is_plain_quantization, every_form, bits, axis, order) {
  for (const int group : groups_for(axis))
    for (const int head_dim : awkward_head_dims) BOOST_TEST_CONTEXT("group " << group << ", head_dim " << head_dim)
  check_against_plain({.bits = bits, .axis = axis, .order = order, .group = group},
                      random(head_dim, static_cast<unsigned>(group + head_dim)));
}

BOOST_DATA_TEST_CASE(a_block_lies_as_documented, every_form, bits, axis, order) {
  for (const int group : groups_for(axis))
    for (const int head_dim : awkward_head_dims) BOOST_TEST_CONTEXT("group " << group << ", head_dim " << head_dim)
  check_layout({.bits = bits, .axis = axis, .order = order, .group = group},
               random(head_dim, static_cast<unsigned>(group * head_dim)));
}

BOOST_DATA_TEST_CASE(numbers_of_any_size_stay_within_the_error, every_form, bits, axis, order) {
  const group_format format{.bits = bits, .axis = axis, .order = order, .group = 32};
  for (const float scale : {1e-8F, 1e-5F, 1e-3F, 100.0F, 9e3F}) check_against_plain(format, random(40, 7, scale));
  at::Tensor outlier = random(40, 8);
  outlier[13][17] = 6e4F;
  check_against_plain(format, outlier);
}

BOOST_DATA_TEST_CASE(what_is_the_same_everywhere_stays_exact, every_form, bits, axis, order) {
  const group_format format{.bits = bits, .axis = axis, .order = order, .group = 64};
  for (const float value : {0.0F, 1.0F, -2.5F, 65504.0F, -65504.0F})
    BOOST_TEST(through(format, at::full({64, 24}, value)).eq(value).all().item<bool>());
}

BOOST_DATA_TEST_CASE(numbers_beyond_float16_become_its_largest, every_form, bits, axis, order) {
  const group_format format{.bits = bits, .axis = axis, .order = order, .group = 32};
  for (const float huge : {7e4F, 1e30F, std::numeric_limits<float>::infinity()}) {
    at::Tensor values = at::full({64, 24}, 0.0F);
    values[3].fill_(huge);
    values[50].fill_(-huge);
    const at::Tensor got = through(format, values);
    BOOST_TEST(got.isfinite().all().item<bool>());
    BOOST_TEST(std::abs(got[3][5].item<float>() - 65504) <= 64);
    BOOST_TEST(std::abs(got[50][5].item<float>() + 65504) <= 64);
  }
}

BOOST_DATA_TEST_CASE(what_is_no_number_touches_nothing_else, every_form, bits, axis, order) {
  const group_format format{.bits = bits, .axis = axis, .order = order, .group = 32};
  const at::Tensor values = random(24, 3);
  const at::Tensor good = values.clone();
  values[20][10] = NAN;
  good[20][10] = axis == group_axis::token ? good[20].min() : good.narrow(0, 0, 32).select(1, 10).min();
  const at::Tensor got = through(format, values);
  BOOST_TEST(got.isfinite().all().item<bool>());
  at::Tensor other = values.isnan().logical_not();
  BOOST_TEST((got - values).masked_select(other).abs().max().item<float>() < 2);
  BOOST_TEST(through(format, at::full({64, 24}, NAN)).eq(0).all().item<bool>());
}

BOOST_DATA_TEST_CASE(the_same_numbers_pack_to_the_same_bytes, every_form, bits, axis, order) {
  const auto codec = make_group_codec({.bits = bits, .axis = axis, .order = order, .group = 32});
  BOOST_TEST((quantized(*codec, random(40, 1)) == quantized(*codec, random(40, 1))));
  BOOST_TEST((quantized(*codec, random(40, 1)) != quantized(*codec, random(40, 2))));
}

BOOST_AUTO_TEST_CASE(forms_that_do_not_exist_are_named) {
  const auto refused = [](const group_format& format, const std::vector<std::string>& words) {
    BOOST_CHECK_EXCEPTION(make_group_codec(format), std::invalid_argument, says(words));
  };
  for (const int bits : {-4, 0, 1, 3, 5, 16}) refused({.bits = bits}, {std::to_string(bits) + " bits", "8, 4 or 2"});
  for (const int group : {0, -1}) refused({.group = group}, {"group of " + std::to_string(group), "at least 1"});
  for (const int group : {0, 16, 48, 128})
    refused({.axis = group_axis::channel, .group = group}, {"group of " + std::to_string(group), "32 or 64"});
  refused({.axis = static_cast<group_axis>(9)}, {"axis", "9"});
  refused({.order = static_cast<row_order>(5)}, {"order", "5"});
  for (const int head_dim : {0, -3, 1 << 30})
    BOOST_CHECK_EXCEPTION(make_group_codec({})->quantized_bytes(head_dim), std::invalid_argument,
                          says({"head_dim", std::to_string(head_dim)}));
}

BOOST_AUTO_TEST_CASE(a_group_may_be_longer_than_any_head) {
  check_against_plain({.group = std::numeric_limits<int>::max()}, random(40, 1));
}

BOOST_AUTO_TEST_CASE(presets_are_what_they_are_called) {
  const auto bits_of = [](const quantization& scheme) {
    return std::pair{scheme.keys->format()->bits, scheme.values->format()->bits};
  };
  BOOST_TEST((bits_of(int8()) == std::pair{8, 8}));
  BOOST_TEST((bits_of(int8_int4()) == std::pair{8, 4}));
  BOOST_TEST((bits_of(int4()) == std::pair{4, 4}));
  BOOST_TEST((bits_of(kivi2()) == std::pair{2, 2}));
  BOOST_TEST((kivi2().keys->format()->axis == group_axis::channel));
  BOOST_TEST((kivi2().values->format()->axis == group_axis::token));
  BOOST_TEST(kivi2().residual == 128);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::cache::test
