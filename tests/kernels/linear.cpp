#include "linear_problem.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <random>

namespace cogen::kernels {
namespace {

using problem = linear_problem;

BOOST_AUTO_TEST_SUITE(linear_test)

BOOST_AUTO_TEST_CASE(agrees_with_the_oracle_for_every_format_and_number_of_rows) {
  worker_pool workers(2);
  for (const element_type format : all_formats)
    for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 25, 40, 130})
      for_each_set(workers, [&](const execution& run) {
        BOOST_TEST_CONTEXT(to_string(format) << ", " << rows << " rows") {
          const problem layer(format, rows, 136, whole_blocks(format, is_quantized(format) ? 160 : 157), workers);
          BOOST_TEST(layer.error(layer.multiply(run)) < 2e-6);
        }
      });
}

BOOST_AUTO_TEST_CASE(awkward_shapes_agree_with_the_oracle) {
  worker_pool workers(2);
  for_each_set(workers, [&](const execution& run) {
    for (const std::int64_t outputs : {1, 24, 31, 32, 33, 64, 65, 72, 97})
      for (const std::int64_t inputs : {1, 2, 3, 24, 72, 127, 128, 129, 300})
        for (const std::int64_t rows : {1, 5, 20}) {
          const problem layer(element_type::bf16, rows, outputs, inputs, workers);
          BOOST_REQUIRE(layer.error(layer.multiply(run)) < 2e-6);
        }
  });
}

BOOST_AUTO_TEST_CASE(a_row_has_the_same_bits_in_any_batch_and_on_any_number_of_threads) {
  worker_pool single(1), three(3);
  std::mt19937 engine(5);
  for (const element_type format : all_formats)
    for_each_set(single, [&](const execution& run) {
      const problem whole(format, 150, 200, whole_blocks(format, is_quantized(format) ? 288 : 283), single);
      const std::int64_t n = whole.packed.outputs();
      const std::vector<float> expected = whole.multiply(run);
      for (int round = 0; round < 12; ++round) {
        execution other = run;
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
  for (const std::int64_t rows : {1, 9, 31})
    for_each_set(workers, [&](const execution& run) {
      const problem layer(element_type::q8_0, rows, 100, 64, workers);
      const std::vector<float> bias = random_floats(100, 3);
      const std::vector<float> plain = layer.multiply(run);
      const std::vector<float> residual = random_floats(static_cast<std::size_t>(rows * 108), 4);
      std::vector<float> y = residual;
      linear(run, layer.packed,
             {.x = {layer.x.data(), 64}, .y = {y.data(), 108}, .rows = rows, .bias = bias.data(), .add_to_y = true});
      for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row)
        for (std::size_t column = 0; column < 108; ++column) {
          const std::size_t offset = row * 108 + column;
          const float wanted =
              column < 100 ? (plain[row * 100 + column] + bias[column]) + residual[offset] : residual[offset];
          BOOST_REQUIRE(y[offset] == wanted);
        }
    });
}

BOOST_AUTO_TEST_CASE(a_row_that_is_not_finite_spoils_only_itself) {
  worker_pool workers(2);
  for_each_set(workers, [&](const execution& run) {
    problem layer(element_type::q4_1, 20, 64, 64, workers);
    const std::vector<float> clean = layer.multiply(run);
    layer.x[7 * 64 + 3] = std::nanf("");
    const std::vector<float> spoilt = layer.multiply(run);
    for (std::size_t row = 0; row < 20; ++row)
      for (std::size_t column = 0; column < 64; ++column) {
        const std::size_t offset = row * 64 + column;
        BOOST_REQUIRE(row == 7 ? std::isnan(spoilt[offset]) : spoilt[offset] == clean[offset]);
      }
  });
}

BOOST_AUTO_TEST_CASE(several_sources_multiply_like_one) {
  worker_pool workers(2);
  const encoder_rows q = random_rows(element_type::q4_1, 72, 64, 1);
  const encoder_rows k = random_rows(element_type::f16, 24, 64, 2);
  const weight_source sources[] = {q.source(), k.source()};
  const tiled_matrix both(sources, 64, workers);
  const tiled_matrix alone({&sources[1], 1}, 64, workers);
  const std::vector<float> x = random_floats(3 * 64, 8);
  for_each_set(workers, [&](const execution& run) {
    std::vector<float> y(3 * 96), y_alone(3 * 24);
    linear(run, both, {.x = {x.data(), 64}, .y = {y.data(), 96}, .rows = 3});
    linear(run, alone, {.x = {x.data(), 64}, .y = {y_alone.data(), 24}, .rows = 3});
    for (std::int64_t row = 0; row < 3; ++row)
      BOOST_TEST(same_bits(y.data() + row * 96 + 72, y_alone.data() + row * 24, 24));
  });
}

BOOST_AUTO_TEST_CASE(products_together_have_the_bits_of_each_alone) {
  worker_pool workers(3);
  for (const auto mode : {compute_type::float32, compute_type::int8})
    for_each_set(workers, [&](execution run) {
      run.mode = mode;
      std::vector<problem> layers;
      for (const std::int64_t outputs : {1, 40, 64, 130})
        for (const auto format : all_formats)
          layers.emplace_back(format, 1 + outputs % 7, outputs, whole_blocks(format, 64), workers);
      std::vector<std::vector<float>> results, scratches;
      std::vector<linear_product> products;
      for (const auto& each : layers) {
        auto& y = results.emplace_back(static_cast<std::size_t>(each.rows * each.packed.outputs()));
        auto& scratch =
            scratches.emplace_back(static_cast<std::size_t>(linear_scratch_floats(run, each.packed, each.rows)));
        products.push_back({&each.packed,
                            {.x = {each.x.data(), each.packed.inputs()},
                             .y = {y.data(), each.packed.outputs()},
                             .rows = each.rows,
                             .scratch = scratch.data()}});
      }
      linear(run, products);
      for (std::size_t index = 0; index < layers.size(); ++index)
        BOOST_REQUIRE((results[index] == layers[index].multiply(run)));
    });
}

BOOST_AUTO_TEST_CASE(emulations_compute_the_same_bits) {
  worker_pool workers(2);
  for (const element_type format : all_formats)
    for (const std::int64_t rows : {1, 2, 5, 13, 40}) {
      const linear_problem layer(format, rows, 136, whole_blocks(format, is_quantized(format) ? 672 : 157), workers);
      check_emulations(workers, [&](const execution& run) { return layer.multiply(run); });
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels
