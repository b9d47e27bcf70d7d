// Any rows that a part may name, of tensors of every stored type, against the numbers of the whole tensor.
#include "../load/memory_file.hpp"
#include "../load/tiny_model.hpp"
#include "formats/checkpoint/dequantize.hpp"
#include "formats/checkpoint/quantized_blocks.hpp"
#include "network/weights/matrix_rows.hpp"

#include <cogen/detail/half.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace cogen::test {
namespace {

class generator {
 public:
  explicit generator(unsigned seed) : random_(seed) {}

  std::int64_t number(std::int64_t first, std::int64_t last) {
    return std::uniform_int_distribution<std::int64_t>(first, last)(random_);
  }
  bool chance() { return number(0, 1) == 1; }

 private:
  std::mt19937 random_;
};

struct stored_form {
  element_type type;
  std::uint32_t gguf;
};

constexpr stored_form forms[] = {{element_type::f32, 0},
                                 {element_type::f16, 1},
                                 {element_type::bf16, 30},
                                 {element_type::q4_0, 2},
                                 {element_type::q8_0, 8}};

/// Small integers in that type; of a quantized one, any codes with a scale of 1.
std::string stored_numbers(element_type type, std::int64_t count, generator& draw) {
  std::string bytes;
  const auto [elements, block_bytes] = layout(type);
  for (std::int64_t block = 0; block < count / elements; ++block) {
    const auto value = static_cast<float>(draw.number(-100, 100));
    if (type == element_type::f32) bytes += raw(value);
    if (type == element_type::f16) bytes += raw(cogen::f32_to_f16(value));
    if (type == element_type::bf16) bytes += raw(cogen::f32_to_bf16(value));
    if (elements == 1) continue;
    bytes += raw(cogen::f32_to_f16(1));
    for (std::int64_t code = 2; code < static_cast<std::int64_t>(block_bytes); ++code)
      bytes += static_cast<char>(draw.number(-128, 127));
  }
  return bytes;
}

/// Queries of a Llama in a GGUF file, where the two halves of each head's rows are stored in turns.
constexpr const char* interleaved = "blk.0.attn_q.weight";
constexpr std::int64_t heads = 4;

struct problem {
  stored_form form;
  weights::named_rows part;
  std::optional<std::int64_t> inputs;

  std::int64_t stored_inputs() const { return !inputs ? 1 : part.stored_inputs == 0 ? *inputs : part.stored_inputs; }
  bool is_interleaved() const { return part.name == interleaved; }
  std::int64_t matrices() const { return std::max<std::int64_t>(part.stack, 1); }

  /// Innermost first, as GGUF has them.
  std::vector<std::uint64_t> dimensions() const {
    std::vector<std::uint64_t> sizes;
    const auto add = [&](std::int64_t size) { sizes.push_back(static_cast<std::uint64_t>(size)); };
    if (inputs && !part.transposed) add(stored_inputs());
    add(part.stored_rows());
    if (inputs && part.transposed) add(stored_inputs());
    if (part.stack > 0) add(part.stack);
    return sizes;
  }

  /// Where the tensor has what is input `input` of row `row` of its matrix.
  std::int64_t position(std::int64_t row, std::int64_t input) const {
    if (is_interleaved()) row = stored_in_turns(row);
    const auto rows = part.stored_rows(), first = part.index * rows * stored_inputs();
    return first + (part.transposed ? input * rows + row : row * stored_inputs() + input);
  }

  std::int64_t stored_in_turns(std::int64_t row) const {
    const auto head_rows = part.stored_rows() / heads, half = head_rows / 2;
    const auto head = row / head_rows, within = row % head_rows;
    return head * head_rows + within % half * 2 + within / half;
  }
};

std::vector<weights::row_run> random_runs(std::int64_t stored, generator& draw) {
  std::vector<weights::row_run> runs;
  for (auto count = draw.number(1, 3); count > 0; --count) {
    const auto first = draw.number(0, stored - 1);
    runs.push_back({first, draw.number(1, stored - first)});
  }
  return runs;
}

problem random_problem(generator& draw) {
  problem drawn{.form = forms[draw.number(0, std::ssize(forms) - 1)], .part = {.name = "some.weight"}, .inputs = {}};
  auto& part = drawn.part;
  const auto block = layout(drawn.form.type).elements;
  const bool is_vector = block == 1 && draw.number(0, 4) == 0;
  part.transposed = !is_vector && draw.chance();
  part.stored = draw.number(1, 40);
  auto stored_inputs = draw.number(1, 40);
  (part.transposed ? part.stored : stored_inputs) *= block;
  if (!is_vector && !part.transposed && draw.chance()) {
    part.name = interleaved;
    part.stored *= 2 * heads;
  } else if (draw.chance()) {
    part.stack = draw.number(1, 4);
    part.index = draw.number(0, part.stack - 1);
  }
  part.rows = part.stored;
  if (draw.chance()) {
    part.runs = random_runs(part.stored, draw);
    part.rows = 0;
    for (const auto& run : part.runs) part.rows += run.count;
  }
  if (is_vector) return drawn;
  drawn.inputs = stored_inputs;
  if (draw.chance()) {
    part.stored_inputs = stored_inputs;
    part.first_input = draw.number(0, stored_inputs - 1);
    drawn.inputs = draw.number(1, stored_inputs - part.first_input);
  }
  return drawn;
}

/// [rows, inputs], one number at a time.
std::vector<float> naive_rows(const problem& given, std::span<const float> tensor) {
  std::vector<float> values;
  for (const auto& run : given.part.order())
    for (std::int64_t row = run.first; row < run.first + run.count; ++row)
      for (std::int64_t input = 0; input < given.inputs.value_or(1); ++input)
        values.push_back(tensor[static_cast<std::size_t>(given.position(row, given.part.first_input + input))]);
  return values;
}

std::string description(const problem& given) {
  const auto& part = given.part;
  return fmt::format("{} rows of {} by {} of {}, {} of {} matrices in {}{} as {}", part.rows, part.stored,
                     given.inputs.value_or(0), given.stored_inputs(), part.index, part.stack,
                     to_string(given.form.type), part.transposed ? ", transposed" : "", part.name);
}

void check(const problem& given, generator& draw) {
  const auto count = given.part.stored_rows() * given.stored_inputs() * given.matrices();
  const auto bytes = stored_numbers(given.form.type, count, draw);
  std::vector<float> tensor(static_cast<std::size_t>(count));
  load::dequantize(given.form.type, std::as_bytes(std::span(bytes)), tensor);
  auto draft = two_layers_of("llama", 32, {}, {});
  draft.add(given.part.name, given.dimensions(), given.form.gguf, bytes);
  const memory_file written(draft.bytes());
  const load::checkpoint files(written.path());
  const weights::matrix_rows rows(files, given.part, given.inputs);

  const auto naive = naive_rows(given, tensor);
  const auto width = static_cast<std::size_t>(given.inputs.value_or(1));
  const auto first = draw.number(0, given.part.rows - 1), last = draw.number(first + 1, given.part.rows);
  const auto asked =
      std::span(naive).subspan(static_cast<std::size_t>(first) * width, static_cast<std::size_t>(last - first) * width);
  std::vector<float> floats(asked.size()), decoded(asked.size());
  rows.read_as_float(first, last, floats);
  BOOST_TEST(floats == asked, boost::test_tools::per_element());
  std::vector<std::byte> stored(static_cast<std::size_t>(last - first) * rows.row_bytes());
  rows.read(first, last, stored);
  load::dequantize(rows.type(), stored, decoded);
  BOOST_TEST(decoded == asked, boost::test_tools::per_element());
  stored.push_back({});
  BOOST_CHECK_THROW(rows.read(first, last, stored), std::invalid_argument);
  BOOST_CHECK_THROW(rows.read(first, given.part.rows + 1, stored), std::out_of_range);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(random_rows)

BOOST_AUTO_TEST_CASE(any_part_of_a_tensor_of_any_type_is_read_as_it_is_stored) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    generator draw(seed);
    const auto drawn = random_problem(draw);
    BOOST_TEST_CONTEXT("seed " << seed << ": " << description(drawn)) { check(drawn, draw); }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
