#include "../load/temporary_folder.hpp"
#include "../load/tiny_model.hpp"
#include "../test_data.hpp"
#include "linear_problem.hpp"
#include "network/kernels/tile_layout.hpp"

#include <cogen/load/checkpoint.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>

namespace cogen::kernels {
namespace {

/// A model file that has these rows as one of its matrices.
std::string file_with(const encoder_rows& rows) {
  gguf_draft draft;
  draft.entries = tiny_llama_entries();
  draft.add("blk.0.ffn_up.weight", {static_cast<std::uint64_t>(rows.inputs), static_cast<std::uint64_t>(rows.rows)},
            ggml_number(rows.format),
            std::string_view(reinterpret_cast<const char*>(rows.bytes.data()), rows.bytes.size()));
  return draft.bytes();
}

tiled_matrix tiled(const load::weight& matrix, element_type format, worker_pool& workers) {
  const weight_source source{format, matrix.rows(), [&](std::int64_t first, std::int64_t last, std::byte* scratch) {
                               const auto bytes = static_cast<std::size_t>(last - first) * matrix.row_bytes();
                               matrix.read_rows(first, last, {scratch, bytes});
                               return static_cast<const std::byte*>(scratch);
                             }};
  return tiled_matrix({&source, 1}, matrix.columns(), workers);
}

boost::test_tools::assertion_result has_default_model(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(std::filesystem::exists(test::default_model_file()));
  if (!result) result.message() << test::default_model_file() << " is not there";
  return result;
}

BOOST_AUTO_TEST_SUITE(loaded_product_test)

BOOST_AUTO_TEST_CASE(the_default_model_takes_its_files_size_and_a_tenth_at_most,
                     *boost::unit_test::precondition(has_default_model)) {
  const load::checkpoint files(test::default_model_file());
  std::size_t bytes = 0;
  for (const auto& name : files.weight_names()) {
    const auto matrix = files.find(name).value();
    const auto tiles = static_cast<std::size_t>((matrix.rows() + tile_lanes - 1) / tile_lanes);
    bytes += tiles * tile_bytes(storage_of(matrix.type()), matrix.columns());
  }
  BOOST_TEST(bytes <= std::filesystem::file_size(test::default_model_file()) / 10 * 11);
}

BOOST_AUTO_TEST_CASE(weights_of_every_format_are_loaded_and_multiplied) {
  worker_pool workers(2);
  const temporary_folder folder;
  for (const element_type format : all_formats) BOOST_TEST_CONTEXT(to_string(format)) {
      if (ggml_number(format) == ~0U) continue;
      const auto inputs = whole_blocks(format, 288);
      linear_problem layer(format, 7, 72, inputs, workers);
      const load::checkpoint files(folder.write("model.gguf", file_with(layer.weights)));
      const auto up = files.at("model.layers.0.mlp.up_proj.weight", {72, inputs});
      BOOST_TEST(to_string(up.type()) == to_string(format));
      std::vector<float> values(layer.weights.values.size());
      up.read_rows_as_float(0, up.rows(), values);
      BOOST_TEST(same_bits(values.data(), layer.weights.values.data(), up.rows() * inputs));
      const execution run{&workers, preferred_instruction_set()};
      const auto expected = layer.multiply(run);
      layer.packed = tiled(up, format, workers);
      const auto y = layer.multiply(run);
      BOOST_TEST(same_bits(y.data(), expected.data(), static_cast<std::int64_t>(y.size())));
      BOOST_TEST(layer.error(y) < 2e-6);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels
