#include "linear_problem.hpp"
#include "network/kernels/kernel_choice.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace cogen::kernels {
namespace {

using problem = linear_problem;

execution fast(execution run) {
  run.mode = compute_type::int8;
  return run;
}

/// The largest and the next of 32 inputs.
struct magnitudes {
  float largest;
  float next;
};

/// Rounded in groups of 32 with the scale that makes a code of 127 of limit(magnitudes), and back.
template <class Limit>
std::vector<float> rounded(const std::vector<float>& x, Limit limit) {
  std::vector<float> result(x.size());
  for (std::size_t first = 0; first < x.size(); first += 32) {
    std::vector<float> sizes;
    for (std::size_t index = first; index < first + 32; ++index) sizes.push_back(std::abs(x[index]));
    std::ranges::sort(sizes, std::greater());
    const float most = limit(magnitudes{sizes[0], sizes[1]}), scale = most / 127.0F, inverse = 127.0F / most;
    for (std::size_t index = first; index < first + 32; ++index)
      result[index] = std::nearbyint(x[index] * inverse) * scale;
  }
  return result;
}

/// To 8 bits, the largest to 9 if need be, as the header says it.
std::vector<float> rounded(const std::vector<float>& x) {
  return rounded(x, [](const magnitudes& sizes) { return std::max(sizes.next, sizes.largest / 2); });
}

std::vector<float> rounded_to_bf16(const std::vector<float>& x) {
  std::vector<float> result(x.size());
  std::ranges::transform(x, result.begin(), [](float value) { return bf16_to_float(float_to_bf16(value)); });
  return result;
}

/// Runs a check for each instruction set that multiplies bf16; says so where this machine has none.
template <class Check>
void for_each_bf16_set(worker_pool& workers, Check check) {
  bool any = false;
  for_each_set(workers, [&](const execution& run) {
    if (!int8_kernels_of(run.set).multiply_bf16) return;
    any = true;
    check(fast(run));
  });
  if (!any) BOOST_TEST_MESSAGE("SKIPPED: no instruction set of this machine multiplies bf16");
}

BOOST_AUTO_TEST_SUITE(int8_linear_test)

BOOST_AUTO_TEST_CASE(is_the_product_of_rounded_rows_for_every_format_and_number_of_rows) {
  worker_pool workers(2);
  for (const element_type format : integer_formats)
    for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 33, 100, 130})
      for_each_set(workers, [&](const execution& run) {
        BOOST_TEST_CONTEXT(to_string(format) << ", " << rows << " rows") {
          const problem layer(format, rows, 136, whole_blocks(format, 160), workers);
          BOOST_TEST(layer.error(layer.multiply(fast(run)), rounded(layer.x)) < 2e-6);
        }
      });
}

BOOST_AUTO_TEST_CASE(awkward_shapes_are_products_of_rounded_rows) {
  worker_pool workers(2);
  for_each_set(workers, [&](const execution& run) {
    for (const element_type format : {element_type::q4_1, element_type::q8_0})
      for (const std::int64_t outputs : {1, 7, 8, 24, 31, 32, 33, 64, 65, 72, 97})
        for (const std::int64_t inputs : {32, 64, 320, 352, 704})
          for (const std::int64_t rows : {1, 5, 20}) {
            const problem layer(format, rows, outputs, inputs, workers);
            BOOST_REQUIRE(layer.error(layer.multiply(fast(run)), rounded(layer.x)) < 2e-6);
          }
  });
}

BOOST_AUTO_TEST_CASE(quantized_weights_give_the_same_bits_on_every_instruction_set) {
  worker_pool workers(2);
  const auto sets = tested_instruction_sets();
  if (sets.size() < 2) BOOST_TEST_MESSAGE("SKIPPED: this machine has one instruction set");
  for (const element_type format : integer_formats)
    for (const std::int64_t rows : {1, 2, 5, 9, 40}) {
      const problem layer(format, rows, 200, whole_blocks(format, 672), workers);
      const std::vector<float> expected = layer.multiply({&workers, sets.front(), compute_type::int8});
      for (const instruction_set set : sets) {
        const std::vector<float> y = layer.multiply({&workers, set, compute_type::int8});
        BOOST_TEST(same_bits(y.data(), expected.data(), rows * 200), to_string(format)
                                                                         << ", " << rows << " rows, " << name_of(set));
      }
    }
}

BOOST_AUTO_TEST_CASE(an_input_far_larger_than_the_others_takes_half_as_much_of_their_precision) {
  worker_pool workers(1);
  problem layer(element_type::q8_0, 40, 64, 32, workers), by_the_largest(element_type::q8_0, 40, 64, 32, workers);
  for (std::size_t row = 0; row < 40; ++row) layer.x[32 * row + row % 32] = 30.0F;
  const std::vector<float> y = layer.multiply({&workers, preferred_instruction_set(), compute_type::int8});
  by_the_largest.x = rounded(layer.x, [](const magnitudes& sizes) { return sizes.largest; });
  BOOST_TEST(layer.error(y) < 0.7 * layer.error(by_the_largest.multiply({&workers})));
}

BOOST_AUTO_TEST_CASE(the_largest_sums_of_integers_are_exact_on_every_instruction_set) {
  worker_pool workers(2);
  for (const int weight : {-128, 127}) {
    std::vector<std::byte> block(34, static_cast<std::byte>(weight));
    const std::uint16_t scale = float_to_f16(1.0F);
    std::memcpy(block.data(), &scale, sizeof scale);
    const weight_source source{element_type::q8_0, 1,
                               [&](std::int64_t, std::int64_t, std::byte*) { return block.data(); }};
    const tiled_matrix packed({&source, 1}, 32, workers);
    for (const float sign : {-127.0F, 127.0F}) {
      // Each row has its outlier, of twice as much as all others, elsewhere.
      std::vector<float> x(32 * 32, sign);
      for (std::size_t row = 0; row < 32; ++row) x[33 * row] *= 2;
      for_each_set(workers, [&](const execution& run) {
        for (const std::int64_t rows : {1, 32}) {
          std::vector<float> y(32), scratch(static_cast<std::size_t>(linear_scratch_floats(fast(run), packed, rows)));
          linear(fast(run), packed, {.x = {x.data(), 32}, .y = {y.data(), 1}, .rows = rows, .scratch = scratch.data()});
          for (std::int64_t row = 0; row < rows; ++row)
            BOOST_TEST(y[static_cast<std::size_t>(row)] == 33.0F * sign * static_cast<float>(weight));
        }
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(bf16_weights_meet_rows_rounded_to_bf16) {
  worker_pool workers(2);
  for_each_bf16_set(workers, [&](const execution& run) {
    for (const std::int64_t outputs : {1, 33, 136})
      for (const std::int64_t inputs : {1, 2, 157, 576})
        for (const std::int64_t rows : {1, 3, 4, 5, 12, 13, 40, 130})
          BOOST_TEST_CONTEXT(outputs << " x " << inputs << ", " << rows << " rows") {
            const problem layer(element_type::bf16, rows, outputs, inputs, workers);
            BOOST_TEST(layer.error(layer.multiply(run), rounded_to_bf16(layer.x)) < 4e-6);
          }
  });
}

BOOST_AUTO_TEST_CASE(other_weights_are_multiplied_exactly) {
  worker_pool workers(2);
  for_each_set(workers, [&](const execution& run) {
    for (const element_type format : {element_type::f32, element_type::f16, element_type::scaled_e4m3}) {
      const problem layer(format, 5, 100, whole_blocks(format, 157), workers);
      const std::vector<float> y = layer.multiply(fast(run)), expected = layer.multiply(run);
      BOOST_TEST(same_bits(y.data(), expected.data(), 500));
    }
  });
}

BOOST_AUTO_TEST_CASE(a_row_has_the_same_bits_in_any_batch_and_on_any_number_of_threads) {
  worker_pool single(1), three(3);
  std::mt19937 engine(5);
  for (const element_type format : all_formats)
    for_each_set(single, [&](const execution& run) {
      const problem whole(format, 150, 200, whole_blocks(format, is_quantized(format) ? 672 : 283), single);
      const std::int64_t n = whole.packed.outputs();
      const std::vector<float> expected = whole.multiply(fast(run));
      for (int round = 0; round < 12; ++round) {
        execution other = fast(run);
        other.workers = engine() % 2 ? &single : &three;
        const std::int64_t first = engine() % 150;
        const std::int64_t most = round % 2 ? 150 - first : std::min<std::int64_t>(14, 150 - first);
        const std::int64_t last = first + 1 + static_cast<std::int64_t>(engine()) % most;
        const std::vector<float> part = whole.multiply(other, first, last);
        BOOST_REQUIRE(same_bits(part.data(), expected.data() + first * n, (last - first) * n));
      }
    });
}

BOOST_AUTO_TEST_CASE(bias_and_residual_come_after_the_sum) {
  worker_pool workers(2);
  for (const element_type format : {element_type::q8_0, element_type::bf16})
    for (const std::int64_t rows : {1, 9, 31})
      for_each_set(workers, [&](const execution& run) {
        const problem layer(format, rows, 100, 64, workers);
        const std::vector<float> bias = random_floats(100, 3);
        const std::vector<float> plain = layer.multiply(fast(run));
        const std::vector<float> residual = random_floats(static_cast<std::size_t>(rows * 108), 4);
        std::vector<float> y = residual;
        std::vector<float> scratch(static_cast<std::size_t>(linear_scratch_floats(fast(run), layer.packed, rows)));
        linear(fast(run), layer.packed,
               {.x = {layer.x.data(), 64},
                .y = {y.data(), 108},
                .rows = rows,
                .bias = bias.data(),
                .add_to_y = true,
                .scratch = scratch.data()});
        for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row)
          for (std::size_t column = 0; column < 108; ++column) {
            const std::size_t offset = row * 108 + column;
            const float wanted =
                column < 100 ? (plain[row * 100 + column] + bias[column]) + residual[offset] : residual[offset];
            BOOST_REQUIRE(y[offset] == wanted);
          }
      });
}

BOOST_AUTO_TEST_CASE(a_row_with_an_input_beyond_all_bounds_spoils_only_itself) {
  worker_pool workers(2);
  for (const element_type format : integer_formats)
    for (const float value : {std::nanf(""), std::numeric_limits<float>::infinity(), 0x1p100F})
      for_each_set(workers, [&](const execution& run) {
        const std::int64_t inputs = whole_blocks(format, 64);
        problem layer(format, 20, 64, inputs, workers);
        const std::vector<float> clean = layer.multiply(fast(run));
        layer.x[static_cast<std::size_t>(7 * inputs + 3)] = value;
        const std::vector<float> spoilt = layer.multiply(fast(run));
        for (std::size_t row = 0; row < 20; ++row)
          for (std::size_t column = 0; column < 64; ++column) {
            const std::size_t offset = row * 64 + column;
            BOOST_REQUIRE(row == 7 ? std::isnan(spoilt[offset]) : spoilt[offset] == clean[offset]);
          }
      });
}

BOOST_AUTO_TEST_CASE(zeros_and_the_smallest_and_largest_numbers_are_no_exception) {
  worker_pool workers(2);
  for_each_set(workers, [&](const execution& run) {
    problem layer(element_type::q4_1, 4, 64, 64, workers);
    std::fill_n(layer.x.begin(), 64, 0.0F);
    std::fill_n(layer.x.begin() + 64, 64, std::numeric_limits<float>::denorm_min());
    std::fill_n(layer.x.begin() + 128, 64, -0.0F);
    std::fill_n(layer.x.begin() + 192, 64, 1e30F);
    const std::vector<float> y = layer.multiply(fast(run));
    for (std::size_t index = 0; index < 192; ++index) BOOST_REQUIRE(y[index] == 0.0F);
    for (std::size_t index = 192; index < 256; ++index) BOOST_REQUIRE(std::isfinite(y[index]));
  });
}

BOOST_AUTO_TEST_CASE(several_sources_multiply_like_one) {
  worker_pool workers(2);
  const encoder_rows q = random_rows(element_type::q4_1, 72, 64, 1);
  const encoder_rows k = random_rows(element_type::bf16, 24, 64, 2);
  const encoder_rows v = random_rows(element_type::f16, 24, 64, 3);
  const weight_source sources[] = {q.source(), k.source(), v.source()};
  const tiled_matrix qkv(sources, 64, workers);
  const std::vector<float> x = random_floats(3 * 64, 8);
  const auto multiplied = [&](const execution& run, const tiled_matrix& weights) {
    std::vector<float> y(static_cast<std::size_t>(3 * weights.outputs()));
    std::vector<float> scratch(static_cast<std::size_t>(linear_scratch_floats(run, weights, 3)));
    linear(run, weights,
           {.x = {x.data(), 64}, .y = {y.data(), weights.outputs()}, .rows = 3, .scratch = scratch.data()});
    return y;
  };
  for_each_set(workers, [&](const execution& run) {
    const std::vector<float> y = multiplied(fast(run), qkv);
    std::int64_t first = 0;
    for (const weight_source& source : sources) {
      const std::vector<float> alone = multiplied(fast(run), tiled_matrix({&source, 1}, 64, workers));
      for (std::int64_t row = 0; row < 3; ++row)
        BOOST_TEST(same_bits(y.data() + row * 120 + first, alone.data() + row * source.rows, source.rows));
      first += source.rows;
    }
  });
}

BOOST_AUTO_TEST_CASE(emulations_compute_the_same_bits) {
  worker_pool workers(2);
  for (const element_type format : all_formats)
    for (const std::int64_t rows : {1, 2, 5, 13, 40}) {
      const problem layer(format, rows, 136, whole_blocks(format, is_quantized(format) ? 672 : 157), workers);
      check_emulations(workers, [&](const execution& run) { return layer.multiply(fast(run)); });
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels
