#include "network/kernels/quantize_rows_cuda.hpp"
#include "network/kernels/rms_norm_cuda.hpp"
#include "numbers.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>

namespace cogen::kernels::cuda {
namespace {

struct norm_types {
  number type;
  number residual;
  number weight;
};

std::vector<norm_types> all_types() {
  std::vector<norm_types> types;
  for (const number type : half_types)
    for (const number residual : {number::f32, type})
      for (const number weight : {number::f32, type}) types.push_back({type, residual, weight});
  return types;
}

struct norm_case {
  norm_types types;
  int rows;
  int width;
  std::vector<float> residual, delta, weight;

  norm_case(const norm_types& t, int r, int w, std::uint32_t stream) : types(t), rows(r), width(w) {
    random_source random(stream);
    const auto count = static_cast<std::size_t>(r) * static_cast<std::size_t>(w);
    residual = rounded_to(t.residual, random.normals(count));
    delta = rounded_to(t.type, random.normals(count));
    weight = rounded_to(t.weight, random.normals(static_cast<std::size_t>(w)));
  }

  std::vector<float> sums(bool add) const {
    std::vector<float> result = residual;
    if (add)
      for (std::size_t index = 0; index < result.size(); ++index) result[index] += delta[index];
    return rounded_to(types.residual, result);
  }

  std::vector<double> expected(const std::vector<float>& x, double epsilon, double offset) const {
    std::vector<double> out(x.size());
    const auto columns = static_cast<std::size_t>(width);
    for (std::size_t row = 0; row < x.size(); row += columns) {
      double squares = 0;
      for (std::size_t index = row; index < row + columns; ++index) squares += double{x[index]} * x[index];
      const double scale = 1 / std::sqrt(squares / width + epsilon);
      for (std::size_t column = 0; column < columns; ++column)
        out[row + column] = x[row + column] * scale * (weight[column] + offset);
    }
    return out;
  }
};

void check(const norm_case& layer, bool add) {
  device_numbers residual(layer.types.residual, layer.residual), delta(layer.types.type, layer.delta);
  device_numbers weight(layer.types.weight, layer.weight), out(layer.types.type, layer.residual.size());
  device_stream stream;
  add_rms_norm({.residual = residual.data(),
                .residual_type = layer.types.residual,
                .delta = add ? delta.data() : nullptr,
                .weight = weight.data(),
                .weight_type = layer.types.weight,
                .weight_offset = 0.5F,
                .epsilon = 1e-3F,
                .out = out.data(),
                .type = layer.types.type,
                .rows = layer.rows,
                .width = layer.width},
               stream);
  const std::vector<float> sums = layer.sums(add);
  BOOST_TEST((residual.read() == sums));
  BOOST_TEST((delta.read() == layer.delta));
  BOOST_TEST((weight.read() == layer.weight));
  BOOST_TEST(error_of(out.read(), layer.expected(sums, 1e-3, 0.5)) < precision_of(layer.types.type));
}

BOOST_AUTO_TEST_SUITE(cuda_rms_norm_test, *boost::unit_test::precondition(on_device))

BOOST_AUTO_TEST_CASE(agrees_with_the_definition_for_every_type_and_width) {
  std::uint32_t stream = 100;
  for (const norm_types& types : all_types())
    for (const int width : {8, 72, 256, 576, 4096, 4104, 8192, 16384})
      for (const bool add : {false, true})
        BOOST_TEST_CONTEXT(name_of(types.type) << ", residual " << name_of(types.residual) << ", weight "
                                               << name_of(types.weight) << ", width " << width << ", add " << add)
  check(norm_case(types, 3, width, ++stream), add);
}

BOOST_AUTO_TEST_CASE(a_row_is_the_same_to_the_bit_alone_and_among_others) {
  const norm_case layer({number::bf16, number::f32, number::bf16}, 9, 4096, 1);
  const device_numbers weight(number::bf16, layer.weight), delta(number::bf16, layer.delta);
  device_numbers together(number::f32, layer.residual), alone(number::f32, layer.residual);
  const device_numbers out(number::bf16, layer.residual.size()), out_alone(number::bf16, layer.residual.size());
  device_stream stream;
  add_rms_norm_operands operands{.residual = together.data(),
                                 .delta = delta.data(),
                                 .weight = weight.data(),
                                 .out = out.data(),
                                 .rows = layer.rows,
                                 .width = layer.width};
  add_rms_norm(operands, stream);
  operands.rows = 1;
  for (int row = 0; row < layer.rows; ++row) {
    const std::ptrdiff_t offset = std::ptrdiff_t{row} * layer.width;
    operands.residual = alone.data() + offset * 4;
    operands.delta = delta.data() + offset * 2;
    operands.out = out_alone.data() + offset * 2;
    add_rms_norm(operands, stream);
  }
  BOOST_TEST((out.bytes() == out_alone.bytes()));
  BOOST_TEST((together.bytes() == alone.bytes()));
}

BOOST_AUTO_TEST_CASE(codes_are_those_of_its_quantized_rows) {
  std::uint32_t stream = 400;
  for (const number type : half_types)
    for (const int width : {16, 576, 4096, 8192, 16384}) {
      const norm_case layer({type, number::f32, type}, 3, width, ++stream);
      const device_numbers residual(number::f32, layer.residual), weight(type, layer.weight);
      const device_numbers out(type, layer.residual.size()), codes(number::fp8, layer.residual.size());
      const device_numbers expected(number::fp8, layer.residual.size());
      const device_array<float> scales(std::vector<float>(3, NAN)), expected_scales(std::vector<float>(3, NAN));
      device_stream cuda_stream;
      add_rms_norm_operands operands{.residual = residual.data(),
                                     .weight = weight.data(),
                                     .weight_type = type,
                                     .out = out.data(),
                                     .type = type,
                                     .rows = 3,
                                     .width = width};
      add_rms_norm(operands, cuda_stream);
      quantize_rows({.x = out.data(),
                     .type = type,
                     .codes = expected.data(),
                     .scales = expected_scales.data(),
                     .rows = 3,
                     .width = width},
                    cuda_stream);
      operands.out = codes.data();
      operands.scales = scales.data();
      add_rms_norm(operands, cuda_stream);
      BOOST_TEST((codes.bytes() == expected.bytes()), name_of(type) << ", width " << width);
      BOOST_TEST(scales.read() == expected_scales.read(), boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(no_rows_are_no_work) {
  add_rms_norm({.rows = 0, .width = 64}, nullptr);
  BOOST_TEST((cudaDeviceSynchronize() == cudaSuccess));
}

BOOST_AUTO_TEST_CASE(widths_and_types_that_it_cannot_take_are_refused) {
  BOOST_CHECK_THROW(add_rms_norm({.rows = 1, .width = 12}, nullptr), std::invalid_argument);
  BOOST_CHECK_THROW(add_rms_norm({.rows = 1, .width = 16392}, nullptr), std::invalid_argument);
  BOOST_CHECK_THROW(add_rms_norm({.type = number::fp8, .rows = 1, .width = 64}, nullptr), std::invalid_argument);
  BOOST_CHECK_THROW(add_rms_norm({.weight_type = number::f16, .rows = 1, .width = 64}, nullptr), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels::cuda
