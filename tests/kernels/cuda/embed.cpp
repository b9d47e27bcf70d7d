#include "network/kernels/dequantize_cuda.hpp"
#include "network/kernels/embed_cuda.hpp"
#include "numbers.hpp"

#include <boost/test/unit_test.hpp>

#include <limits>
#include <stdexcept>

namespace cogen::kernels::cuda {
namespace {

// Three times the tokens' rows of a table; zeros for tokens that it does not have.
std::vector<float> three_times(const std::vector<std::int32_t>& tokens, const std::vector<float>& table,
                               std::size_t columns) {
  const auto vocabulary = static_cast<std::int64_t>(table.size() / columns);
  std::vector<float> result;
  for (const std::int32_t token : tokens)
    for (std::size_t column = 0; column < columns; ++column)
      result.push_back(
          token >= 0 && token < vocabulary ? 3.0F * table[static_cast<std::size_t>(token) * columns + column] : 0.0F);
  return result;
}

// Whether rows of a packed table are those that dequantize() writes. Codes are any bytes: all of them mean something.
bool rows_are_those_of_the_matrix(weight_packing packing, number type, number out_type, int width,
                                  std::uint32_t stream) {
  constexpr int vocabulary = 37;
  const std::vector<std::int32_t> tokens = {36, -1, 0, 7, 37, 7};
  random_source random(stream);
  const auto columns = static_cast<std::size_t>(width);
  std::vector<std::byte> codes(static_cast<std::size_t>(vocabulary * packed_row_bytes(packing, width)));
  for (auto& each : codes) each = static_cast<std::byte>(random.below(256));
  const device_bytes table(codes);
  const device_numbers scales(type,
                              random.normals(static_cast<std::size_t>(vocabulary * packed_row_scales(packing, width))));
  const device_numbers matrix(type, vocabulary * columns), out(out_type, tokens.size() * columns);
  const device_array<std::int32_t> ids(tokens);
  device_stream cuda_stream;
  dequantize({.codes = table.data(),
              .scales = scales.data(),
              .packing = packing,
              .type = type,
              .inputs = width,
              .outputs = vocabulary},
             matrix.data(), cuda_stream);
  embed({.tokens = ids.data(),
         .table = table.data(),
         .packing = packing,
         .scales = scales.data(),
         .type = type,
         .out = out.data(),
         .out_type = out_type,
         .scale = 3.0F,
         .rows = static_cast<int>(tokens.size()),
         .vocabulary = vocabulary,
         .width = width},
        cuda_stream);
  return out.read() == rounded_to(out_type, three_times(tokens, matrix.read(), columns));
}

BOOST_AUTO_TEST_SUITE(cuda_embed_test, *boost::unit_test::precondition(on_device))

BOOST_AUTO_TEST_CASE(rows_of_the_table_are_copied_and_unknown_tokens_give_zeros) {
  constexpr int vocabulary = 50;
  const std::vector<std::int32_t> tokens = {49, -1, 0, 7, 50, 7, std::numeric_limits<std::int32_t>::min()};
  std::uint32_t stream = 300;
  for (const number type : half_types)
    for (const number out_type : {number::f32, type})
      for (const int width : {8, 576, 4096}) {
        random_source random(++stream);
        const auto columns = static_cast<std::size_t>(width);
        const std::vector<float> table = rounded_to(type, random.normals(vocabulary * columns));
        const device_numbers device_table(type, table), out(out_type, tokens.size() * columns);
        const device_array<std::int32_t> ids(tokens);
        device_stream cuda_stream;
        embed({.tokens = ids.data(),
               .table = device_table.data(),
               .type = type,
               .out = out.data(),
               .out_type = out_type,
               .scale = 3.0F,
               .rows = static_cast<int>(tokens.size()),
               .vocabulary = vocabulary,
               .width = width},
              cuda_stream);
        BOOST_TEST((out.read() == rounded_to(out_type, three_times(tokens, table, columns))));
      }
}

BOOST_AUTO_TEST_CASE(packed_rows_are_found_as_they_are_written_for_products) {
  using enum weight_packing;
  std::uint32_t stream = 400;
  for (const auto packing : {int8, int4, int5, int6, int6_zeros, int8_groups, int8_zeros, mxfp4})
    for (const number type : half_types)
      for (const number out_type : {number::f32, type})
        for (const int width : {32, 96, 576, 4096})
          BOOST_TEST(rows_are_those_of_the_matrix(packing, type, out_type, width, ++stream),
                     "packing " << static_cast<int>(packing) << ", " << name_of(type) << " to " << name_of(out_type)
                                << ", width " << width);
}

BOOST_AUTO_TEST_CASE(what_it_cannot_take_is_refused) {
  BOOST_CHECK_THROW(embed({.packing = weight_packing::int4, .rows = 1, .width = 40}, nullptr), std::invalid_argument);
  BOOST_CHECK_THROW(embed({.rows = 1, .width = 12}, nullptr), std::invalid_argument);
  BOOST_CHECK_THROW(embed({.type = number::fp8, .rows = 1, .width = 8}, nullptr), std::invalid_argument);
  BOOST_CHECK_THROW(embed({.type = number::bf16, .out_type = number::f16, .rows = 1, .width = 8}, nullptr),
                    std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels::cuda
