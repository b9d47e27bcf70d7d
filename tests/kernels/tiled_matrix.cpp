#include "network/kernels/tiled_matrix.hpp"

#include "network/kernels/embed.hpp"
#include "network/kernels/linear.hpp"
#include "plain_tiles.hpp"
#include "quantized_rows.hpp"
#include "variants.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <stdexcept>

namespace cogen::kernels {
namespace {

BOOST_AUTO_TEST_SUITE(packed_matrix_test)

BOOST_AUTO_TEST_CASE(every_row_of_every_format_comes_back_exactly) {
  worker_pool workers(2);
  for (const element_type format : all_formats)
    for (const std::int64_t rows : {1, 63, 64, 72, 200})
      BOOST_TEST_CONTEXT(to_string(format) << " with " << rows << " rows") {
        const std::int64_t inputs = whole_blocks(format, is_quantized(format) ? 96 : 71);
        const encoder_rows weights = random_rows(format, rows, inputs, 11);
        const weight_source source = weights.source();
        const tiled_matrix matrix({&source, 1}, inputs, workers);
        BOOST_TEST(matrix.outputs() == rows);
        BOOST_TEST(matrix.inputs() == inputs);
        std::vector<float> row(static_cast<std::size_t>(inputs));
        for (std::int64_t index = 0; index < rows; ++index) {
          matrix.row(index, row.data());
          BOOST_REQUIRE(std::memcmp(row.data(), weights.values.data() + index * inputs, row.size() * sizeof(float)) ==
                        0);
        }
      }
}

BOOST_AUTO_TEST_CASE(every_byte_lies_where_the_layout_says) {
  worker_pool workers(2);
  for (const element_type format : all_formats)
    for (const std::int64_t rows : {1, 63, 64, 130})
      for (const std::int64_t inputs : {1, 96, 577})
        BOOST_TEST_CONTEXT(to_string(format) << " [" << rows << ", " << inputs << "]") {
          const encoder_rows weights = random_rows(format, rows, whole_blocks(format, inputs), 12);
          const weight_source source = weights.source();
          const tiled_matrix matrix({&source, 1}, weights.inputs, workers);
          const auto expected = plain_tiles(weights).write();
          BOOST_REQUIRE(matrix.bytes() == expected.size());
          BOOST_TEST(std::memcmp(matrix.tiles()[0].data, expected.data(), expected.size()) == 0);
        }
}

BOOST_AUTO_TEST_CASE(a_factor_multiplies_all_scales_of_nvfp4) {
  worker_pool workers(2);
  encoder_rows weights = random_rows(element_type::nvfp4, 72, 128, 7);
  weight_source sources[] = {weights.source(), weights.source()};
  sources[1].factor = 1.7F;
  const tiled_matrix matrix(sources, 128, workers);
  std::vector<float> plain(128), scaled(128);
  for (std::int64_t output = 0; output < 72; ++output) {
    matrix.row(output, plain.data());
    matrix.row(72 + output, scaled.data());
    for (std::size_t input = 0; input < 128; ++input)
      BOOST_REQUIRE(std::abs(scaled[input] - plain[input] * 1.7F) <= 2e-7F * std::abs(scaled[input]));
    BOOST_TEST(scaled != plain);
  }
  const std::vector<float> x = random_floats(128 * 9, 8);
  for_each_set(workers, [&](const execution& run) {
    std::vector<float> y(144 * 9);
    linear(run, matrix, {.x = {x.data(), 128}, .y = {y.data(), 144}, .rows = 9});
    for (std::size_t row = 0; row < 9; ++row)
      for (std::size_t output = 0; output < 72; ++output) {
        const float expected = y[row * 144 + output] * 1.7F;
        BOOST_REQUIRE(std::abs(y[row * 144 + 72 + output] - expected) <= 1e-4F + 1e-5F * std::abs(expected));
      }
  });
}

BOOST_AUTO_TEST_CASE(tiles_take_hardly_more_than_the_file_but_for_types_of_few_bits) {
  worker_pool workers(1);
  for (const element_type format : all_formats) BOOST_TEST_CONTEXT(to_string(format)) {
      const encoder_rows weights = random_rows(format, 128, 512, 1);
      const weight_source source = weights.source();
      const auto held = static_cast<double>(tiled_matrix({&source, 1}, 512, workers).bytes());
      const double bits = 8 * held / (128 * 512);
      if (has_integer_blocks(format))
        BOOST_TEST(bits < (storage_of(format) == weight_storage::q2 ? 2.51 : 4.6));
      else
        BOOST_TEST(held / static_cast<double>(weights.bytes.size()) < 1.04);
    }
}

BOOST_AUTO_TEST_CASE(sources_of_different_formats_lie_one_after_the_other) {
  worker_pool workers(2);
  const encoder_rows q = random_rows(element_type::q4_1, 72, 64, 1);
  const encoder_rows k = random_rows(element_type::q8_0, 24, 64, 2);
  const encoder_rows v = random_rows(element_type::f32, 24, 64, 3);
  const weight_source sources[] = {q.source(), k.source(), v.source()};
  weight_arena arena;
  const tiled_matrix matrix(sources, 64, workers, &arena);
  BOOST_TEST(matrix.outputs() == 120);
  std::vector<float> row(64);
  for (const auto& [weights, first] : {std::pair(&q, 0), std::pair(&k, 72), std::pair(&v, 96)})
    for (std::int64_t index = 0; index < weights->rows; ++index) {
      matrix.row(first + index, row.data());
      BOOST_REQUIRE(std::memcmp(row.data(), weights->values.data() + index * 64, 256) == 0);
    }
}

BOOST_AUTO_TEST_CASE(rows_may_be_given_in_scratch) {
  worker_pool workers(3);
  const encoder_rows weights = random_rows(element_type::q4_0, 150, 32, 5);
  weight_source source = weights.source();
  const std::int64_t bytes = row_bytes(element_type::q4_0, 32);
  source.read = [&](std::int64_t first, std::int64_t last, std::byte* scratch) -> const std::byte* {
    std::memcpy(scratch, weights.bytes.data() + first * bytes, static_cast<std::size_t>((last - first) * bytes));
    return scratch;
  };
  const tiled_matrix matrix({&source, 1}, 32, workers);
  std::vector<float> row(32);
  matrix.row(149, row.data());
  BOOST_TEST(std::memcmp(row.data(), weights.values.data() + 149 * 32, 128) == 0);
}

BOOST_AUTO_TEST_CASE(weights_of_one_arena_lie_side_by_side_and_outlive_it) {
  worker_pool workers(1);
  const std::vector<float> values = random_floats(64 * 8, 3);
  tiled_matrix kept;
  {
    weight_arena arena(1 << 20);
    const weight_source source{element_type::f32, 64, [&](std::int64_t, std::int64_t, std::byte*) {
                                 return reinterpret_cast<const std::byte*>(values.data());
                               }};
    const tiled_matrix first({&source, 1}, 8, workers, &arena);
    kept = tiled_matrix({&source, 1}, 8, workers, &arena);
    BOOST_TEST(kept.tiles()[0].data - first.tiles()[0].data == 64 * 8 * 4);
  }
  std::vector<float> row(8);
  kept.row(63, row.data());
  BOOST_TEST(std::memcmp(row.data(), values.data() + 63 * 8, 32) == 0);
}

BOOST_AUTO_TEST_CASE(impossible_shapes_are_refused) {
  worker_pool workers(1);
  const auto never = [](std::int64_t, std::int64_t, std::byte*) -> const std::byte* { return nullptr; };
  const auto packing = [&](element_type format, std::int64_t rows, std::int64_t inputs) {
    const weight_source source{format, rows, never};
    return tiled_matrix({&source, 1}, inputs, workers);
  };
  BOOST_CHECK_THROW(packing(element_type::f32, 0, 8), std::invalid_argument);
  BOOST_CHECK_THROW(packing(element_type::f32, 8, 0), std::invalid_argument);
  BOOST_CHECK_THROW(packing(element_type::q4_1, 8, 33), std::invalid_argument);
  for (const auto without_tiles : {element_type::f64, element_type::i8, element_type::boolean})
    BOOST_CHECK_THROW(packing(without_tiles, 8, 32), std::invalid_argument);
  BOOST_CHECK_THROW(tiled_matrix({}, 8, workers), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(what_a_source_throws_reaches_the_caller) {
  worker_pool workers(2);
  const auto broken = [](std::int64_t first, std::int64_t, std::byte* scratch) -> const std::byte* {
    if (first >= 128) throw std::runtime_error("the file ended");
    return scratch;
  };
  const weight_source source{element_type::f16, 256, broken};
  BOOST_CHECK_THROW(tiled_matrix({&source, 1}, 8, workers), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(embedding_gathers_rows_and_refuses_strangers) {
  worker_pool workers(2);
  const encoder_rows weights = random_rows(element_type::q8_0, 100, 32, 9);
  const weight_source source = weights.source();
  const tiled_matrix table({&source, 1}, 32, workers);
  const execution run{&workers, instruction_set::portable};
  const std::vector<token> tokens = {99, 0, 42, 42};
  std::vector<float> out(4 * 40, 7.0F);
  embed(run, table, tokens, out.data(), 40);
  for (std::size_t index = 0; index < tokens.size(); ++index)
    BOOST_TEST(std::memcmp(out.data() + index * 40, weights.values.data() + tokens[index] * 32, 128) == 0);
  BOOST_TEST(out[32] == 7.0F);
  BOOST_CHECK_THROW(embed(run, table, std::vector<token>{0, 100}, out.data(), 40), std::invalid_argument);
  BOOST_CHECK_THROW(embed(run, table, std::vector<token>{-1}, out.data(), 40), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels
