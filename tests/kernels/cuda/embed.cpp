#include "kernels/embed_cuda.hpp"
#include "numbers.hpp"

#include <boost/test/unit_test.hpp>

#include <limits>
#include <stdexcept>

namespace cogen::kernels::cuda {
namespace {

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
        const device_numbers from(type, table), out(out_type, tokens.size() * columns);
        const device_array<std::int32_t> ids(tokens);
        device_stream on;
        embed({.tokens = ids.data(),
               .table = from.data(),
               .type = type,
               .out = out.data(),
               .out_type = out_type,
               .scale = 3.0F,
               .rows = static_cast<int>(tokens.size()),
               .vocabulary = vocabulary,
               .width = width},
              on);
        std::vector<float> expected;
        for (const std::int32_t token : tokens)
          for (std::size_t at = 0; at < columns; ++at)
            expected.push_back(
                token >= 0 && token < vocabulary ? 3.0F * table[static_cast<std::size_t>(token) * columns + at] : 0.0F);
        BOOST_TEST((out.read() == rounded_to(out_type, expected)));
      }
}

BOOST_AUTO_TEST_CASE(what_it_cannot_take_is_refused) {
  BOOST_CHECK_THROW(embed({.rows = 1, .width = 12}, nullptr), std::invalid_argument);
  BOOST_CHECK_THROW(embed({.type = number::fp8, .rows = 1, .width = 8}, nullptr), std::invalid_argument);
  BOOST_CHECK_THROW(embed({.type = number::bf16, .out_type = number::f16, .rows = 1, .width = 8}, nullptr),
                    std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels::cuda
