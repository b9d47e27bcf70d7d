#include "network/kernels/dequantize_cuda.hpp"
#include "network/kernels/linear_cuda.hpp"
#include "network/kernels/rms_norm_cuda.hpp"
#include "numbers.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>

namespace cogen::kernels::cuda {
namespace {

constexpr float epsilon = 1e-3F;

struct linear_shape {
  int rows;
  int inputs;
  int outputs;
};

struct linear_kind {
  number type = number::bf16;
  number out_type = number::bf16;
  linear_result result = linear_result::stored;
  bool normed = false;
  bool biased = false;
  weight_packing packing = weight_packing::whole;
};

std::vector<linear_kind> all_kinds() {
  std::vector<linear_kind> kinds;
  for (const number type : half_types)
    for (const bool normed : {false, true})
      for (const bool biased : {false, true}) {
        kinds.push_back({type, type, linear_result::stored, normed, biased});
        kinds.push_back({type, number::f32, linear_result::stored, normed, biased});
        kinds.push_back({type, number::f32, linear_result::added, normed, biased});
        kinds.push_back({type, type, linear_result::gated, normed, biased});
      }
  return kinds;
}

constexpr weight_packing packings[] = {weight_packing::int8,        weight_packing::int4,       weight_packing::int5,
                                       weight_packing::int6,        weight_packing::int6_zeros, weight_packing::mxfp4,
                                       weight_packing::int8_groups, weight_packing::int8_zeros, weight_packing::fp8};

std::vector<linear_kind> packed_kinds() {
  std::vector<linear_kind> kinds;
  for (const auto packing : packings)
    for (linear_kind kind : all_kinds()) {
      kind.packing = packing;
      kinds.push_back(kind);
    }
  return kinds;
}

std::size_t size_of(int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }

// Random codes and scales of a matrix, as kernels read them, and the numbers they stand for.
struct stored_weights {
  std::vector<std::byte> bytes;
  std::vector<float> scales;
  std::vector<float> numbers;
};

stored_weights whole_weights(number type, int inputs, std::vector<float> numbers) {
  for (float& each : numbers) each *= 2 / std::sqrt(static_cast<float>(inputs));
  numbers = rounded_to(type, numbers);
  return {encoded(type, numbers), {}, numbers};
}

bool is_fp8(const linear_kind& kind) { return kind.packing == weight_packing::fp8; }

number scale_type(const linear_kind& kind) { return is_fp8(kind) ? number::f32 : kind.type; }

std::int64_t row_scales(const linear_kind& kind, int inputs) {
  return is_fp8(kind) ? 1 : packed_row_scales(kind.packing, inputs);
}

// Scales of a matrix, so that its numbers are about as large as those of whole weights.
std::vector<float> random_scales(const linear_kind& kind, std::size_t count, int inputs, random_source& random) {
  const auto form = form_of(kind.packing);
  const float codes = form.e2m1 ? 4.0F : static_cast<float>(1 << (form.bits - 2));
  auto scales = random.normals(count);
  for (float& each : scales) each /= std::sqrt(static_cast<float>(inputs)) * codes;
  return rounded_to(scale_type(kind), scales);
}

// All but the two that are not numbers.
unsigned random_code(const packed_form& form, random_source& random) {
  if (form.e4m3) return random.below(127) | random.below(2) << 7;
  return random.below(1U << form.bits);
}

constexpr float e2m1_numbers[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, 0, -0.5F, -1, -1.5F, -2, -3, -4, -6};

// Writes a code of `bits` bits to a row, and returns what it stands for without scale and zero.
float put_code(weight_packing packing, int inputs, int input, unsigned code, std::byte* row) {
  const auto form = form_of(packing);
  const auto put = [&](const packed_code& place, unsigned bits) {
    row[place.byte] |= static_cast<std::byte>(bits << place.bit);
  };
  const int high_bits = packed_high_bits(packing);
  put(packed_code_of(packing, input), form.bits == 8 ? code : code & 15);
  if (high_bits > 0) put(packed_high_bits_of(packing, inputs, input), code >> 4);
  if (form.e2m1) return e2m1_numbers[code];
  if (form.e4m3) return decode(number::fp8, row + packed_code_of(packing, input).byte);
  return static_cast<float>(form.bits == 8 ? static_cast<std::int8_t>(code) : static_cast<int>(code) - form.middle());
}

stored_weights packed_weights(const linear_kind& kind, int rows, int inputs, random_source& random) {
  const auto form = form_of(kind.packing);
  const auto row_bytes = packed_row_bytes(kind.packing, inputs), scales_of_row = row_scales(kind, inputs);
  stored_weights weights;
  weights.bytes.resize(static_cast<std::size_t>(row_bytes * rows));
  weights.scales = random_scales(kind, static_cast<std::size_t>(scales_of_row * rows), inputs, random);
  for (int row = 0; row < rows; ++row)
    for (int input = 0; input < inputs; ++input) {
      const unsigned code = random_code(form, random);
      const float value = put_code(kind.packing, inputs, input, code, weights.bytes.data() + row * row_bytes);
      const float* scale = weights.scales.data() + row * scales_of_row + packed_scale_of(kind.packing, input);
      weights.numbers.push_back(std::fma(value, scale[0], form.zeros ? scale[1] : 0.0F));
    }
  if (has_groups(kind.packing)) weights.numbers = rounded_to(kind.type, weights.numbers);
  return weights;
}

// Numbers of a product, on both sides.
struct linear_case {
  linear_kind kind;
  linear_shape shape;
  int weight_rows;
  number x_type;
  std::vector<float> x, norm;
  stored_weights stored;
  std::vector<float> bias, residual;
  device_numbers device_x, device_norm, device_bias, device_scales;
  device_bytes device_weights;

  linear_case(const linear_kind& k, const linear_shape& s, std::uint32_t stream)
      : linear_case(k, s, random_source(stream)) {}

  linear_case(const linear_kind& k, const linear_shape& s, random_source random)
      : kind(k),
        shape(s),
        weight_rows(k.result == linear_result::gated ? 2 * s.outputs : s.outputs),
        x_type(k.normed ? number::f32 : k.type),
        x(rounded_to(x_type, random.normals(size_of(s.rows, s.inputs)))),
        norm(rounded_to(k.type, random.normals(size_of(1, s.inputs)))),
        stored(k.packing == weight_packing::whole
                   ? whole_weights(k.type, s.inputs, random.normals(size_of(weight_rows, s.inputs)))
                   : packed_weights(k, weight_rows, s.inputs, random)),
        bias(rounded_to(k.type, random.normals(size_of(1, weight_rows)))),
        residual(random.normals(size_of(s.rows, s.outputs))),
        device_x(x_type, x),
        device_norm(k.type, norm),
        device_bias(k.type, bias),
        device_scales(scale_type(k), stored.scales),
        device_weights(stored.bytes) {}

  linear_operands operands(const device_numbers& out) const {
    return {.x = device_x.data(),
            .norm = kind.normed ? device_norm.data() : nullptr,
            .epsilon = epsilon,
            .weights = device_weights.data(),
            .packing = kind.packing,
            .scales = stored.scales.empty() ? nullptr : device_scales.data(),
            .bias = kind.biased ? device_bias.data() : nullptr,
            .result = kind.result,
            .out = out.data(),
            .out_type = kind.out_type,
            .type = kind.type,
            .rows = shape.rows,
            .inputs = shape.inputs,
            .outputs = shape.outputs,
            .blocks = 5};
  }

  device_numbers make_out() const {
    return kind.result == linear_result::added ? device_numbers(kind.out_type, residual)
                                               : device_numbers(kind.out_type, residual.size());
  }

  // What is multiplied, as it is rounded.
  std::vector<float> factors() const {
    if (!kind.normed) return x;
    std::vector<float> normed(x.size());
    const auto columns = size_of(1, shape.inputs);
    for (std::size_t row = 0; row < x.size(); row += columns) {
      double squares = 0;
      for (std::size_t column = 0; column < columns; ++column) squares += double{x[row + column]} * x[row + column];
      const double scale = 1 / std::sqrt(squares / shape.inputs + epsilon);
      for (std::size_t column = 0; column < columns; ++column)
        normed[row + column] = static_cast<float>(x[row + column] * scale * norm[column]);
    }
    return rounded_to(kind.type, normed);
  }

  double product(const float* row, int output) const {
    const float* weights = stored.numbers.data() + size_of(output, shape.inputs);
    double sum = kind.biased ? bias[static_cast<std::size_t>(output)] : 0;
    for (int input = 0; input < shape.inputs; ++input) sum += double{row[input]} * weights[input];
    return sum;
  }

  std::vector<double> expected() const {
    std::vector<double> result;
    const auto inputs = factors();
    for (int row = 0; row < shape.rows; ++row)
      for (int output = 0; output < shape.outputs; ++output) {
        const float* const factor = inputs.data() + size_of(row, shape.inputs);
        double y = product(factor, output);
        if (kind.result == linear_result::added) y += residual[result.size()];
        if (kind.result == linear_result::gated) y = y / (1 + std::exp(-y)) * product(factor, shape.outputs + output);
        result.push_back(y);
      }
    return result;
  }
};

void check(const linear_kind& kind, const linear_shape& shape, std::uint32_t stream) {
  BOOST_TEST_CONTEXT(name_of(kind.type) << " to " << name_of(kind.out_type) << ", packing "
                                        << static_cast<int>(kind.packing) << ", result "
                                        << static_cast<int>(kind.result) << ", norm " << kind.normed << ", bias "
                                        << kind.biased << ", " << shape.rows << " rows of " << shape.inputs << " to "
                                        << shape.outputs) {
    const linear_case layer(kind, shape, stream);
    const device_numbers out = layer.make_out();
    device_stream cuda_stream;
    linear(layer.operands(out), cuda_stream);
    const double of_factors = kind.normed ? precision_of(kind.type) : 0;  // one may be rounded the other way
    BOOST_TEST(error_of(out.read(), layer.expected()) < 1e-3 + precision_of(kind.out_type) + of_factors);
    BOOST_TEST((layer.device_x.read() == layer.x));
  }
}

BOOST_AUTO_TEST_SUITE(cuda_linear_test, *boost::unit_test::precondition(on_device))

BOOST_AUTO_TEST_CASE(agrees_with_the_definition_for_every_kind_and_number_of_rows) {
  std::uint32_t stream = 700;
  for (const linear_kind& kind : all_kinds()) {
    for (int rows = 1; rows <= max_normed_rows; ++rows) check(kind, {rows, 200, 83}, ++stream);
    if (kind.normed) continue;
    for (const int rows : {17, 24, 31, 32, 33, 57, max_linear_rows}) check(kind, {rows, 200, 83}, ++stream);
  }
}

BOOST_AUTO_TEST_CASE(agrees_with_the_definition_for_every_shape) {
  std::uint32_t stream = 1300;
  const auto kinds = all_kinds();
  for (const int rows : {1, 3, 8, 16, 50})
    for (const auto& [inputs, outputs] : {std::pair(8, 1), std::pair(64, 8), std::pair(576, 960), std::pair(1032, 41),
                                          std::pair(2048, 129), std::pair(4096, 64), std::pair(14336, 45)}) {
      ++stream;
      for (std::size_t i = 0; i < 3; ++i)
        if (const auto& kind = kinds[(stream + 11 * i) % kinds.size()]; !kind.normed || rows <= max_normed_rows)
          check(kind, {rows, inputs, outputs}, stream);
    }
}

BOOST_AUTO_TEST_CASE(packed_weights_are_what_they_stand_for) {
  std::uint32_t stream = 2000;
  const auto kinds = packed_kinds();
  for (const linear_kind& kind : kinds) {
    const int eighth = static_cast<int>(++stream % 8);
    for (const int rows : {1 + eighth, 9 + eighth}) check(kind, {rows, 224, 83}, stream);
    if (!kind.normed) check(kind, {max_linear_rows - 6 * eighth, 224, 83}, stream);
  }
  for (const int rows : {1, 8, 16, 50})
    for (const auto& [inputs, outputs] : {std::pair(32, 1), std::pair(64, 8), std::pair(576, 960), std::pair(2048, 129),
                                          std::pair(4096, 64), std::pair(14336, 45)})
      for (std::size_t i = 0; i < 8; ++i) {
        const auto& kind = kinds[(++stream * 37 + 32 * i) % kinds.size()];
        if (!kind.normed || rows <= max_normed_rows) check(kind, {rows, inputs, outputs}, stream);
      }
}

BOOST_AUTO_TEST_CASE(packed_weights_are_the_same_numbers_for_products_of_many_rows) {
  std::uint32_t stream = 2700;
  for (const number type : half_types)
    for (const auto packing : packings)
      for (const int inputs : {32, 96, 576, 4096}) {
        const linear_case layer({.type = type, .out_type = type, .packing = packing}, {1, inputs, 70}, ++stream);
        const device_numbers numbers(type, size_of(70, inputs));
        device_stream cuda_stream;
        dequantize({.codes = layer.device_weights.data(),
                    .scales = layer.device_scales.data(),
                    .packing = packing,
                    .type = type,
                    .inputs = inputs,
                    .outputs = 70},
                   numbers.data(), cuda_stream);
        BOOST_TEST((numbers.read() == rounded_to(type, layer.stored.numbers)), inputs << " inputs");
      }
  const auto refused = [](const packed_matrix& bad) {
    BOOST_CHECK_THROW(dequantize(bad, nullptr, nullptr), std::invalid_argument);
  };
  refused({.packing = weight_packing::whole, .inputs = 64, .outputs = 1});
  refused({.packing = weight_packing::int4, .inputs = 40, .outputs = 1});
  refused({.packing = weight_packing::int8_groups, .inputs = 40, .outputs = 1});
  refused({.type = number::f32, .inputs = 64, .outputs = 1});
}

// A matrix whose rows have all of them, each next to others.
BOOST_AUTO_TEST_CASE(every_number_of_8_bits_is_exact) {
  std::vector<std::byte> codes;
  std::vector<float> expected;
  for (int row = 0; row < 4; ++row)
    for (unsigned index = 0; index < 256; ++index) {
      const auto code = static_cast<std::byte>(index * 37 + static_cast<unsigned>(row));
      const bool is_number = (code & std::byte{0x7f}) != std::byte{0x7f};
      codes.push_back(is_number ? code : std::byte{0});
      expected.push_back(decode(number::fp8, &codes.back()));
    }
  const device_bytes weights(codes);
  const device_numbers scales(number::f32, std::vector<float>(4, 1));
  for (const number type : half_types) {
    const device_numbers numbers(type, expected.size());
    device_stream cuda_stream;
    dequantize({.codes = weights.data(),
                .scales = scales.data(),
                .packing = weight_packing::fp8,
                .type = type,
                .inputs = 256,
                .outputs = 4},
               numbers.data(), cuda_stream);
    BOOST_TEST((numbers.read() == expected), name_of(type));
  }
}

BOOST_AUTO_TEST_CASE(a_row_is_the_same_to_the_bit_among_any_others) {
  for (const linear_kind& kind :
       {linear_kind{number::bf16, number::bf16, linear_result::gated, true, true},
        linear_kind{number::f16, number::f32, linear_result::stored, false, false},
        linear_kind{.packing = weight_packing::int8}, linear_kind{.packing = weight_packing::int4},
        linear_kind{.packing = weight_packing::int6_zeros}, linear_kind{.packing = weight_packing::fp8}})
    for (const int inputs : {1056, 9216}) {
      const int max_rows = max_rows_of({.norm = kind.normed ? &kind : nullptr, .packing = kind.packing});
      const linear_case layer(kind, {max_rows, inputs, 72}, 5);
      const device_numbers out = layer.make_out();
      device_stream cuda_stream;
      auto operands = layer.operands(out);
      linear(operands, cuda_stream);
      const auto together = out.bytes();
      const std::size_t row_bytes = together.size() / static_cast<std::size_t>(max_rows);
      for (int rows = 1; rows < max_rows; rows += rows < 17 ? 1 : 15) {
        const device_numbers some(kind.out_type, size_of(rows, 72));
        operands.rows = rows;
        operands.out = some.data();
        operands.blocks = 1 + rows % 10;
        linear(operands, cuda_stream);
        const auto bytes = some.bytes();
        BOOST_TEST((std::equal(bytes.begin(), bytes.end(), together.begin())), rows << " rows of " << inputs);
      }
      operands.rows = 1;
      for (std::size_t row = 0; row < static_cast<std::size_t>(max_rows); row += row < 16 ? 1 : 9) {
        const device_numbers alone(kind.out_type, size_of(1, 72));
        operands.x = layer.device_x.data() + row * size_of(bytes_of(layer.x_type), inputs);
        operands.out = alone.data();
        linear(operands, cuda_stream);
        const auto bytes = alone.bytes();
        BOOST_TEST(
            (std::equal(bytes.begin(), bytes.end(), together.begin() + static_cast<std::ptrdiff_t>(row * row_bytes))),
            "row " << row << " of " << inputs);
      }
    }
}

// What a norm of sums is made of, and a product of that norm.
BOOST_AUTO_TEST_CASE(a_norm_begins_where_its_numbers_are_written_and_ends_in_the_product_that_reads_it) {
  std::uint32_t stream = 3000;
  for (const number type : half_types)
    for (const auto packing : {weight_packing::whole, weight_packing::int8, weight_packing::int4})
      for (const int rows : {1, 7, 16, 40}) {
        for (const int width : {8, 88, 576})
          BOOST_TEST_CONTEXT(name_of(type)
                             << ", packing " << static_cast<int>(packing) << ", " << rows << " rows of " << width) {
            const linear_case down({type, number::f32, linear_result::added, false, true, packing}, {rows, 224, width},
                                   ++stream);
            const bool ends_in_group = packing == weight_packing::int4 && width % packed_half != 0;
            const auto next_packing = ends_in_group ? weight_packing::int8 : packing;
            linear_case up({type, number::f32, linear_result::stored, false, true, next_packing}, {rows, width, 83},
                           ++stream);
            const device_numbers sums = down.make_out(), next(type, size_of(rows, width)), out = up.make_out();
            const device_numbers squares(number::f32, size_of(rows, (width + squared_numbers - 1) / squared_numbers));
            auto first = down.operands(sums), second = up.operands(out);
            first.next = {up.device_norm.data(), next.data(),
                          reinterpret_cast<float*>(static_cast<void*>(squares.data()))};
            second.x = next.data();
            second.squares = first.next.squares;
            device_stream cuda_stream;
            linear(first, cuda_stream);
            linear(second, cuda_stream);

            const auto written = sums.read(), squared = squares.read();
            BOOST_TEST(error_of(written, down.expected()) < 1e-3 + precision_of(number::f32));
            std::vector<float> weighted(written.size());
            std::vector<double> of_squares(squared.size());
            for (std::size_t index = 0; index < written.size(); ++index) {
              const auto column = index % size_of(1, width);
              weighted[index] = written[index] * up.norm[column];
              of_squares[index / size_of(1, width) * (squared.size() / size_of(1, rows)) + column / squared_numbers] +=
                  double{written[index]} * written[index];
            }
            BOOST_TEST((next.read() == rounded_to(type, weighted)));
            BOOST_TEST(error_of(squared, of_squares) < 1e-5);
            up.kind.normed = true;
            up.x = written;
            BOOST_TEST(error_of(out.read(), up.expected()) < 1e-2);
          }
      }
}

// Tiles of every size, of rows and of outputs, that are full or not.
BOOST_AUTO_TEST_CASE(many_rows_are_what_few_are_to_the_bit) {
  std::uint32_t stream = 3300;
  constexpr linear_shape shapes[] = {{1, 8, 1}, {40, 576, 83}, {70, 1032, 24}, {150, 520, 140}, {129, 40, 129}};
  for (const linear_kind& kind : all_kinds()) {
    if (kind.normed) continue;
    for (const auto& [rows, inputs, outputs] : {shapes[stream % 5], shapes[(stream + 2) % 5]}) {
      const linear_case layer(kind, {rows, inputs, outputs}, ++stream);
      device_stream cuda_stream;
      const device_numbers expected = layer.make_out();
      for (int first = 0; first < rows; first += max_linear_rows) {
        auto some = layer.operands(expected);
        some.rows = std::min(max_linear_rows, rows - first);
        some.x = layer.device_x.data() + size_of(first, inputs) * size_of(1, bytes_of(kind.type));
        some.out = expected.data() + size_of(first, outputs) * size_of(1, bytes_of(kind.out_type));
        linear(some, cuda_stream);
      }
      for (const int blocks : {1, 1000}) {  // large thread blocks, and small ones
        const device_numbers out = layer.make_out();
        auto operands = layer.operands(out);
        operands.blocks = blocks;
        linear_of_many_rows(operands, cuda_stream);
        BOOST_TEST((out.bytes() == expected.bytes()),
                   name_of(kind.type) << " to " << name_of(kind.out_type) << ", result "
                                      << static_cast<int>(kind.result) << ", " << rows << " rows of " << inputs
                                      << " to " << outputs << ", " << blocks << " blocks");
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(many_rows_of_other_kinds_are_refused) {
  const auto refused = [](const linear_operands& operands) {
    BOOST_CHECK_THROW(linear_of_many_rows(operands, nullptr), std::invalid_argument);
  };
  float any = 0;
  const linear_operands usual{.rows = 20, .inputs = 64, .outputs = 8, .blocks = 1};
  auto other = usual;
  other.norm = &any;
  refused(other);
  other = usual;
  other.packing = weight_packing::int4;
  refused(other);
  other = usual;
  other.inputs = 60;
  refused(other);
  other = usual;
  other.blocks = 0;
  refused(other);
  other = usual;
  other.result = linear_result::added;
  refused(other);
}

// So that few rows may be normed by each thread block, and many once.
BOOST_AUTO_TEST_CASE(a_norm_within_a_product_is_that_of_its_own_kernel) {
  std::uint32_t stream = 3100;
  for (const number type : half_types)
    for (const int inputs : {8, 200, 576, 1032, 4096, 9216}) {
      const linear_case layer({.type = type, .out_type = number::f32, .normed = true}, {3, inputs, 33}, ++stream);
      const device_numbers within = layer.make_out(), behind = layer.make_out();
      const device_numbers normed(type, layer.x.size());
      device_stream cuda_stream;
      auto operands = layer.operands(within);
      linear(operands, cuda_stream);
      add_rms_norm({.residual = layer.device_x.data(),
                    .residual_type = number::f32,
                    .weight = layer.device_norm.data(),
                    .weight_type = type,
                    .epsilon = epsilon,
                    .out = normed.data(),
                    .type = type,
                    .rows = 3,
                    .width = inputs},
                   cuda_stream);
      operands.x = normed.data(), operands.norm = nullptr, operands.out = behind.data();
      linear(operands, cuda_stream);
      BOOST_TEST((within.bytes() == behind.bytes()), inputs << " inputs");
    }
}

// Each kernel reads what the one before it wrote, and writes what the one before that read. Repeated, as one
// that begins too early may be lucky.
BOOST_AUTO_TEST_CASE(a_recorded_chain_does_what_its_links_do_one_by_one,
                     *boost::unit_test::precondition(kernels_overlap)) {
  constexpr int hidden = 1024, inner = 2064, links = 6;
  for (const int rows : {1, 4, 8}) {
    const linear_case up({.result = linear_result::gated, .normed = true}, {rows, hidden, inner}, 21);
    const linear_case down({.out_type = number::f32, .result = linear_result::added}, {rows, inner, hidden}, 22);
    device_numbers residual(number::f32, up.x);
    const device_numbers gated(number::bf16, size_of(rows, inner));
    auto first = up.operands(gated), second = down.operands(residual);
    first.x = residual.data();
    second.x = gated.data();
    first.blocks = second.blocks = 132;
    device_stream cuda_stream;
    std::vector<std::vector<std::byte>> one_by_one;
    for (int link = 0; link < links; ++link) {
      linear(first, cuda_stream);
      one_by_one.push_back(gated.bytes());
      linear(second, cuda_stream);
      one_by_one.push_back(residual.bytes());
    }
    const captured_graph chain(cuda_stream, [&](cudaStream_t stream) {
      for (int link = 0; link < links; ++link) {
        linear(first, stream);
        linear(second, stream);
      }
    });
    for (int time = 0; time < 20; ++time) {
      residual.write(up.x);
      chain.replay(cuda_stream);
      chain.replay(cuda_stream);  // goes on from where the first one ends
      BOOST_REQUIRE((cudaDeviceSynchronize() == cudaSuccess));
      residual.write(up.x);
      chain.replay(cuda_stream);
      BOOST_TEST((residual.bytes() == one_by_one.back()));
      BOOST_TEST((gated.bytes() == one_by_one[one_by_one.size() - 2]));
    }
  }
}

BOOST_AUTO_TEST_CASE(no_rows_are_no_work) {
  linear({.rows = 0, .inputs = 64, .outputs = 8, .blocks = 1}, nullptr);
  BOOST_TEST((cudaDeviceSynchronize() == cudaSuccess));
}

BOOST_AUTO_TEST_CASE(what_it_cannot_take_is_refused) {
  const linear_operands good{.rows = 1, .inputs = 64, .outputs = 8, .blocks = 1};
  const auto refused = [&](auto change) {
    auto bad = good;
    change(bad);
    BOOST_CHECK_THROW(linear(bad, nullptr), std::invalid_argument);
  };
  refused([](auto& operands) { operands.rows = max_linear_rows + 1; });
  refused([](auto& operands) { operands.inputs = 12; });
  refused([](auto& operands) { operands.outputs = 0; });
  refused([](auto& operands) { operands.blocks = 0; });
  refused([](auto& operands) { operands.type = operands.out_type = number::f32; });
  refused([](auto& operands) { operands.out_type = number::f16; });
  refused([](auto& operands) { operands.result = linear_result::added; });
  refused([](auto& operands) { operands.packing = weight_packing::int8; });
  refused([](auto& operands) {
    operands.packing = weight_packing::int8, operands.scales = &operands, operands.rows = max_linear_rows + 1;
  });
  refused([](auto& operands) {
    operands.packing = weight_packing::int8, operands.scales = operands.norm = &operands,
    operands.rows = max_normed_rows + 1;
  });
  refused([](auto& operands) { operands.norm = &operands, operands.squares = &operands.epsilon; });
  refused([](auto& operands) { operands.next.norm = &operands; });
  refused([](auto& operands) { operands.scales = &operands; });
  refused([](auto& operands) {
    operands.packing = weight_packing::int4, operands.scales = &operands, operands.inputs = 40;
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels::cuda
