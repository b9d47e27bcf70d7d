// Products with quantized keys and values: against sums in double over the dequantized numbers, within what rounding to
// 8 or 15 bits may cost.
#include "attention_oracle.hpp"
#include "network/kernels/kernel_choice.hpp"
#include "variants.hpp"

#include <cogen/cache/cache.hpp>
#include <cogen/extend/kv_codec.hpp>
#include <cogen/extend/tensors.hpp>

#include <ATen/ops/randn.h>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace cogen::kernels {
namespace {

/// A block of one head's keys and values as a cache stores it.
class stored_block {
 public:
  stored_block(const cache::group_format& keys, const cache::group_format& values, int head_dim)
      : head_dim_(head_dim),
        codecs_{cache::make_group_codec(keys), cache::make_group_codec(values)},
        shape_{.kv_heads = 1, .head_dim = head_dim},
        memory_({&shape_, 1},
                {.max_sequence_length = 64, .kv_quantization = cache::quantization{codecs_[0], codecs_[1], 0}}) {
    const cache::step step({{.slot = 0, .count = 64}});
    memory_.reserve(step);
    cache::append(memory_.layer(0), step, at::randn({64, 1, head_dim}) + 0.5, at::randn({64, 1, head_dim}) - 0.25);
    view_ = memory_.layer(0).view(0, 64)->quantized;
  }

  int depth(bool values) const { return values ? 64 : head_dim_; }
  int columns(bool values) const { return values ? head_dim_ : 64; }
  const cache::quantized_plane& form(bool values) const { return values ? view_.values : view_.keys; }
  const std::byte* data(bool values) const { return view_.block(0) + (values ? view_.value_offset : 0); }

  /// [depth, columns]
  std::vector<double> numbers(bool values) const {
    std::vector<float> by_token(static_cast<std::size_t>(64 * head_dim_));
    codecs_[values ? 1 : 0]->dequantize(data(values), head_dim_, by_token.data());
    std::vector<double> result(by_token.size());
    for (int token = 0; token < 64; ++token)
      for (int dim = 0; dim < head_dim_; ++dim)
        result[static_cast<std::size_t>(values ? token * head_dim_ + dim : dim * 64 + token)] =
            by_token[static_cast<std::size_t>(token * head_dim_ + dim)];
    return result;
  }

  /// What one of `numbers`, or what codes contribute to it beyond its minimum, is at most.
  double largest(bool values) const {
    const std::vector<double> elements = numbers(values);
    const auto [least, most] = std::ranges::minmax(elements);
    return std::max({most - least, -least, most});
  }

 private:
  int head_dim_;
  std::shared_ptr<const cache::codec> codecs_[2];
  cache::kv_cache_spec shape_;
  cache::cache memory_;
  cache::quantized_view view_;
};

std::vector<float> random_activations(int rows, int depth) {
  std::mt19937 random(static_cast<unsigned>(rows + 100 * depth));
  std::normal_distribution<float> normal(0, 2);
  std::vector<float> result(static_cast<std::size_t>(rows * depth));
  std::ranges::generate(result, [&] { return normal(random); });
  return result;
}

/// How rows are rounded: to so many bits, and once for all blocks where that can be.
struct rounding_of_rows {
  int bits;
  bool precomputed;
};

/// [rows, columns rounded up to 16]
std::vector<float> product(const stored_block& block, bool values, const std::vector<float>& a, int first, int rows,
                           const rounding_of_rows& rounding, instruction_set set) {
  const int depth = block.depth(values), columns = (block.columns(values) + 15) / 16 * 16;
  std::vector<float> c(static_cast<std::size_t>(rows * columns));
  std::vector<float> rounded(static_cast<std::size_t>(rows * rounded_row_floats(depth)));
  const code_job job{.form = &block.form(values),
                     .block = block.data(values),
                     .next = 0,
                     .after = 0,
                     .depth = depth,
                     .columns = columns,
                     .a = {a.data() + first * depth, depth},
                     .a_bits = rounding.bits,
                     .c = {c.data(), columns},
                     .rows = rows,
                     .rounded = rounding.precomputed ? rounded.data() : nullptr};
  if (rounding.precomputed) int8_kernels_of(set).round_rows(job);
  int8_kernels_of(set).multiply_codes(job);
  return c;
}

void check_product(const stored_block& block, bool values, int bits, instruction_set set) {
  constexpr int rows = 7;
  const int depth = block.depth(values), columns = block.columns(values), stride = (columns + 15) / 16 * 16;
  const std::vector<float> a = random_activations(rows, depth);
  const std::vector<double> b = block.numbers(values);
  const std::vector<float> c = product(block, values, a, 0, rows, {bits, false}, set);
  if (!block.form(values).along_rows)
    BOOST_TEST(product(block, values, a, 0, rows, {bits, true}, set) == c, boost::test_tools::per_element());
  for (int row = 0; row < rows; ++row) {
    const std::vector<float> alone = product(block, values, a, row, 1, {bits, false}, set);
    BOOST_TEST(std::equal(alone.begin(), alone.end(), c.begin() + row * stride));
    const auto of_row = [&](int k) { return static_cast<double>(a[static_cast<std::size_t>(row * depth + k)]); };
    double largest = 0;
    for (int k = 0; k < depth; ++k) largest = std::max(largest, std::abs(of_row(k)));
    const double step = largest / (bits == 8 ? 127 : 127 * 128);
    const double allowed = depth * (step / 2) * block.largest(values) + 1e-4;
    double worst = 0;
    for (int column = 0; column < columns; ++column) {
      double sum = 0;
      for (int k = 0; k < depth; ++k) sum += of_row(k) * b[static_cast<std::size_t>(k * columns + column)];
      worst = std::max(worst, std::abs(sum - static_cast<double>(c[static_cast<std::size_t>(row * stride + column)])));
    }
    BOOST_TEST(worst <= allowed);
  }
}

BOOST_AUTO_TEST_SUITE(code_products, *boost::unit_test::fixture<one_torch_thread>())

BOOST_AUTO_TEST_CASE(each_form_is_within_what_rounding_costs) {
  using cache::group_axis, cache::row_order;
  for (const int bits : {8, 4, 2})
    for (const int head_dim : {4, 20, 64, 96, 130, 256})
      for (const auto& [axis, group] :
           {std::pair(group_axis::token, 16), std::pair(group_axis::token, 48), std::pair(group_axis::token, 512),
            std::pair(group_axis::channel, 32), std::pair(group_axis::channel, 64)}) {
        const stored_block block({.bits = bits, .axis = axis, .order = row_order::channel, .group = group},
                                 {.bits = bits, .axis = axis, .order = row_order::token, .group = group}, head_dim);
        for (const bool values : {false, true})
          for (const int row_bits : {8, 15})
            for (const instruction_set set : tested_instruction_sets())
              BOOST_TEST_CONTEXT(row_bits << " bits of rows, " << bits << " bits, groups of " << group
                                          << (axis == group_axis::token ? " by token" : " by channel") << ", "
                                          << head_dim << (values ? " dimensions of values, " : " dimensions of keys, ")
                                          << name_of(set))
        check_product(block, values, row_bits, set);
      }
}

BOOST_AUTO_TEST_CASE(what_is_no_number_stays_in_its_row) {
  const stored_block block({.order = cache::row_order::channel}, {.bits = 4, .group = 32}, 64);
  for (const bool values : {false, true})
    for (const float odd : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
      for (const instruction_set set : tested_instruction_sets()) {
        std::vector<float> a = random_activations(3, 64);
        const std::vector<float> clean = product(block, values, a, 0, 3, {15, false}, set);
        a[64 + 10] = odd;
        const std::vector<float> after = product(block, values, a, 0, 3, {15, false}, set);
        for (std::size_t i = 0; i < after.size(); ++i)
          BOOST_TEST((i / 64 == 1 ? !std::isfinite(after[i]) : after[i] == clean[i]));
      }
}

BOOST_AUTO_TEST_CASE(rows_of_zeros_and_of_the_smallest_numbers_are_zeros) {
  const stored_block block({.order = cache::row_order::channel}, {}, 64);
  for (const bool values : {false, true})
    for (const float small : {0.0F, -0.0F, std::numeric_limits<float>::denorm_min(), 1e-37F})
      for (const instruction_set set : tested_instruction_sets()) {
        const std::vector<float> c = product(block, values, std::vector<float>(64, small), 0, 1, {15, false}, set);
        BOOST_TEST(std::ranges::all_of(c, [](float value) { return std::abs(value) < 1e-33F; }));
      }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels
