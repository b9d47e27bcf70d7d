#include "network/kernels/activation_cuda.hpp"
#include "numbers.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>

namespace cogen::kernels::cuda {
namespace {

double bent(activation kind, double x) {
  if (kind == activation::silu) return x / (1 + std::exp(-x));
  return x / 2 * (1 + std::tanh(std::sqrt(2 / 3.14159265358979) * (x + 0.044715 * x * x * x)));
}

BOOST_AUTO_TEST_SUITE(cuda_activation_test, *boost::unit_test::precondition(on_device))

BOOST_AUTO_TEST_CASE(agrees_with_the_definition_for_every_type_and_width) {
  std::uint32_t stream = 200;
  for (const activation kind : {activation::silu, activation::gelu_tanh})
    for (const number type : half_types)
      for (const int width : {8, 136, 14336})
        for (const int rows : {1, 5}) {
          random_source random(++stream);
          const auto columns = static_cast<std::size_t>(width), count = columns * static_cast<std::size_t>(rows);
          std::vector<float> x = random.normals(2 * count);
          for (float& each : x) each *= 4;
          x[0] = -300.0F;
          x[1] = 300.0F;
          x = rounded_to(type, x);
          const device_numbers gate_up(type, x), out(type, count);
          device_stream cuda_stream;
          gated_activation(
              {.kind = kind, .gate_up = gate_up.data(), .out = out.data(), .type = type, .rows = rows, .width = width},
              cuda_stream);
          const std::vector<float> values = out.read();
          for (std::size_t index = 0; index < count; ++index) {
            const std::size_t gate = index / columns * 2 * columns + index % columns;
            const double expected = bent(kind, x[gate]) * x[gate + columns];
            BOOST_REQUIRE(std::abs(values[index] - expected) <= std::abs(expected) * precision_of(type) + 1e-6);
          }
          BOOST_TEST((gate_up.read() == x));
        }
}

BOOST_AUTO_TEST_CASE(what_it_cannot_take_is_refused) {
  BOOST_CHECK_THROW(gated_activation({.rows = 1, .width = 12}, nullptr), std::invalid_argument);
  BOOST_CHECK_THROW(gated_activation({.kind = activation::relu, .rows = 1, .width = 8}, nullptr),
                    std::invalid_argument);
  BOOST_CHECK_THROW(gated_activation({.type = number::f32, .rows = 1, .width = 8}, nullptr), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels::cuda
