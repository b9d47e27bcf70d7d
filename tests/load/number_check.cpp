#include "formats/checkpoint/number_check.hpp"

#include "gguf_draft.hpp"
#include "memory_file.hpp"
#include "refusal.hpp"
#include "safetensors_draft.hpp"
#include "temporary_folder.hpp"
#include "tiny_model.hpp"

#include <cogen/detail/half.hpp>
#include <cogen/load/checkpoint.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

using namespace cogen::load;
using cogen::bf16_to_f32, cogen::f16_to_f32, cogen::f32_to_bf16, cogen::f32_to_f16;

namespace {

constexpr std::uint16_t f16_one = 0x3C00, f16_infinity = 0x7C00, f16_nan = 0x7E00, f16_largest = 0x7BFF;

// A quantized type, and where in a block its 16-bit fields lie.
struct quantized_type {
  cogen::element_type type;
  std::uint32_t ggml_number;
  std::size_t scale;
  std::optional<std::size_t> minimum;
  float codes;  // the largest magnitude by which a block multiplies its scale, and its minimum
  float minima;
};

const std::vector<quantized_type> quantized_types = {
    {cogen::element_type::q4_0, 2, 0, {}, 8, 0},
    {cogen::element_type::q4_1, 3, 0, 2, 15, 1},
    {cogen::element_type::q5_0, 6, 0, {}, 16, 0},
    {cogen::element_type::q5_1, 7, 0, 2, 31, 1},
    {cogen::element_type::q8_0, 8, 0, {}, 127, 0},
    {cogen::element_type::q2_k, 10, 80, 82, 15 * 3, 15},
    {cogen::element_type::q3_k, 11, 108, {}, 32 * 4, 0},
    {cogen::element_type::q4_k, 12, 0, 2, 63 * 15, 63},
    {cogen::element_type::q5_k, 13, 0, 2, 63 * 31, 63},
    {cogen::element_type::q6_k, 14, 208, {}, 127 * 32, 0},
    {cogen::element_type::iq4_nl, 20, 0, {}, 127, 0},
    {cogen::element_type::iq4_xs, 23, 0, {}, 32 * 127, 0},
    {cogen::element_type::iq1_s, 19, 0, {}, 15 * 9.0F / 8, 0},
    {cogen::element_type::iq2_xxs, 16, 0, {}, 31 * 43.0F / 8, 0},
    {cogen::element_type::iq2_xs, 17, 0, {}, 31 * 43.0F / 8, 0},
    {cogen::element_type::iq2_s, 22, 0, {}, 31 * 43.0F / 8, 0},
    {cogen::element_type::iq3_xxs, 18, 0, {}, 31 * 62.0F / 4, 0},
    {cogen::element_type::iq3_s, 21, 0, {}, 31 * 15, 0},
    {cogen::element_type::tq1_0, 34, 52, {}, 1, 0},
    {cogen::element_type::tq2_0, 35, 64, {}, 2, 0},
    {cogen::element_type::q1_0, 41, 0, {}, 1, 0},
    {cogen::element_type::q2_0, 42, 0, {}, 2, 0},
};

std::size_t block_bytes(cogen::element_type type) { return static_cast<std::size_t>(layout(type).bytes); }

void put_half(std::string& bytes, std::size_t offset, std::uint16_t half) { bytes.replace(offset, 2, raw(half)); }

// So many blocks, all of them sound.
std::string sound_blocks(const quantized_type& kind, std::size_t count) {
  std::string bytes(block_bytes(kind.type) * count, '\x5A');
  for (std::size_t block = 0; block < count; ++block) {
    put_half(bytes, block * block_bytes(kind.type) + kind.scale, 0x0400);  // 2^-14
    if (kind.minimum) put_half(bytes, block * block_bytes(kind.type) + *kind.minimum, 0x8400);
  }
  return bytes;
}

// What is said while a GGUF file's tensor of three rows is read, whose data are these.
std::string reading(std::uint32_t ggml_number, std::uint64_t columns, const std::string& data) {
  gguf_draft draft;
  draft.entries = tiny_llama_entries();
  draft.add("blk.0.ffn_up.weight", {columns, 3}, ggml_number, data);
  const memory_file file(draft.bytes());
  const checkpoint files(file.path());
  const auto up = files.find("model.layers.0.mlp.up_proj.weight").value();
  std::vector<std::byte> rows(up.bytes());
  std::vector<float> values(static_cast<std::size_t>(up.rows() * up.columns()));
  const auto stored = refusal([&] { up.read_rows(0, 3, rows); });
  BOOST_TEST(refusal([&] { up.read_rows_as_float(0, 3, values); }) == stored);
  return stored;
}

bool is_bad(const quantized_type& kind, std::size_t offset, std::uint16_t half) {
  auto bytes = sound_blocks(kind, 1);
  put_half(bytes, offset, half);
  return first_bad_number(kind.type, std::as_bytes(std::span(bytes))).has_value();
}

std::string with_element(std::uint32_t ggml_number, std::size_t element, const std::string& number) {
  std::string data;
  for (int i = 0; i < 3 * 10; ++i) data += std::string(number.size(), '\x11');
  data.replace(element * number.size(), number.size(), number);
  return reading(ggml_number, 10, data);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(number_check)

BOOST_AUTO_TEST_CASE(scales_that_are_not_finite_or_too_large_are_found_in_every_type) {
  for (const auto& kind : quantized_types) BOOST_TEST_CONTEXT(to_string(kind.type)) {
      const auto columns = static_cast<std::uint64_t>(4 * layout(kind.type).elements);
      const auto sound = sound_blocks(kind, 12);
      BOOST_TEST(reading(kind.ggml_number, columns, sound) == "nothing was refused");
      for (const std::size_t block : {0, 6, 11}) {
        const auto place = "tensor 'blk.0.ffn_up.weight' has at row " + std::to_string(block / 4) + ", block " +
                           std::to_string(block % 4) + " the ";
        const auto with = [&](std::size_t field, std::uint16_t half) {
          auto bytes = sound;
          put_half(bytes, block * block_bytes(kind.type) + field, half);
          return reading(kind.ggml_number, columns, bytes);
        };
        BOOST_TEST(says(with(kind.scale, f16_infinity), place + "scale inf; magnitudes up to "));
        BOOST_TEST(says(with(kind.scale, f16_infinity | 0x8000), place + "scale -inf; magnitudes up to "));
        BOOST_TEST(says(with(kind.scale, f16_nan), place + "scale nan; magnitudes up to "));
        if (kind.codes > 1) BOOST_TEST(says(with(kind.scale, f16_largest), place + "scale 65504; magnitudes up to "));
        if (!kind.minimum) continue;
        BOOST_TEST(says(with(*kind.minimum, f16_infinity), place + "minimum inf; magnitudes up to "));
        BOOST_TEST(says(with(*kind.minimum, f16_nan), place + "minimum nan; magnitudes up to "));
      }
    }
}

BOOST_AUTO_TEST_CASE(of_all_halves_those_are_found_that_could_give_weights_beyond_float16) {
  for (const auto& kind : quantized_types) BOOST_TEST_CONTEXT(to_string(kind.type)) {
      std::size_t wrong = 0;
      for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const float magnitude = std::abs(f16_to_f32(half));
        wrong += is_bad(kind, kind.scale, half) != !(magnitude * kind.codes <= 65504.0F);
        if (kind.minimum) wrong += is_bad(kind, *kind.minimum, half) != !(magnitude * kind.minima <= 65504.0F);
      }
      BOOST_TEST(wrong == 0U);
    }
}

// Four bits of the scale end each of four numbers.
BOOST_AUTO_TEST_CASE(scales_of_iq1_m_are_checked_like_those_of_iq1_s) {
  constexpr std::size_t size = 56, scales = 48;
  std::size_t wrong = 0;
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    std::string bytes(2 * size, '\x5A');
    for (std::size_t nibble = 0; nibble < 4; ++nibble) {
      bytes[scales + 2 * nibble + 1] = '\x0A';
      bytes[size + scales + 2 * nibble + 1] = static_cast<char>((bits >> 4 * nibble & 15U) << 4 | 10U);
    }
    const auto found = first_bad_number(cogen::element_type::iq1_m, std::as_bytes(std::span(bytes)));
    wrong += found.has_value() == (std::abs(f16_to_f32(half)) * 15 * 9 / 8 <= 65504.0F) || (found && found->block != 1);
  }
  BOOST_TEST(wrong == 0U);
}

BOOST_AUTO_TEST_CASE(plain_numbers_that_are_not_finite_are_found_in_every_type) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::string place = "tensor 'blk.0.ffn_up.weight' has at row 1, column 7 the number ";
  const std::string allowed = "; numbers finite in float32 are allowed";
  for (const float number : {infinity, -infinity, std::nanf("")}) {
    const auto text = std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
    BOOST_TEST(says(with_element(0, 17, raw(number)), place + text + allowed));
    BOOST_TEST(says(with_element(1, 17, raw(f32_to_f16(number))), place + text + allowed));
    BOOST_TEST(says(with_element(30, 17, raw(f32_to_bf16(number))), place + text + allowed));
    BOOST_TEST(says(with_element(28, 17, raw(static_cast<double>(number))), place + text + allowed));
  }
  BOOST_TEST(says(with_element(28, 17, raw(-1e300)), place + "-1e+300" + allowed));
  BOOST_TEST(says(with_element(0, 0, raw(infinity)), "at row 0, column 0 the number inf"));
  BOOST_TEST(says(with_element(0, 29, raw(infinity)), "at row 2, column 9 the number inf"));
}

BOOST_AUTO_TEST_CASE(the_largest_finite_numbers_are_read) {
  for (const float sign : {1.0F, -1.0F}) {
    BOOST_TEST(with_element(0, 3, raw(sign * std::numeric_limits<float>::max())) == "nothing was refused");
    BOOST_TEST(with_element(1, 3, raw(f32_to_f16(sign * 65504))) == "nothing was refused");
    BOOST_TEST(with_element(30, 3, raw(f32_to_bf16(sign * 0x1.FEp127F))) == "nothing was refused");
    BOOST_TEST(with_element(28, 3, raw(static_cast<double>(sign) * 0x1.fffffep127)) == "nothing was refused");
    BOOST_TEST(with_element(28, 3, raw(static_cast<double>(sign) * 0x1.fffffefffffffp127)) == "nothing was refused");
    BOOST_TEST(says(with_element(28, 3, raw(static_cast<double>(sign) * 0x1.ffffffp127)), "the number"));
  }
}

BOOST_AUTO_TEST_CASE(of_all_16_bit_numbers_those_are_found_that_are_not_finite) {
  std::size_t wrong = 0;
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const auto bytes = std::as_bytes(std::span(&half, 1));
    wrong += first_bad_number(cogen::element_type::f16, bytes).has_value() == std::isfinite(f16_to_f32(half));
    wrong += first_bad_number(cogen::element_type::bf16, bytes).has_value() == std::isfinite(bf16_to_f32(half));
    wrong += first_bad_number(cogen::element_type::i16, bytes).has_value();
  }
  BOOST_TEST(wrong == 0U);
}

BOOST_AUTO_TEST_CASE(elements_of_vectors_and_of_safetensors_are_named) {
  const temporary_folder folder;
  folder.write("config.json", R"({"model_type":"llama","vocab_size":4,"hidden_size":2,"intermediate_size":3,)"
                              R"("num_hidden_layers":1,"num_attention_heads":1,"eos_token_id":1})");
  const auto header = "{" + tensor_entry("a", "BF16", "3", 0, 6) + "," + tensor_entry("b", "F16", "2,2,2", 6, 22) + "}";
  std::string data;
  for (int i = 0; i < 11; ++i) data += raw(i == 2 ? std::uint16_t{0x7FC0} : i == 8 ? f16_infinity : f16_one);
  folder.write("model.safetensors", safetensors_bytes(header, data));
  const checkpoint files(folder.path());
  std::vector<float> three(3), eight(8);
  BOOST_TEST(says(refusal([&] { files.find("a").value().read_rows_as_float(0, 3, three); }),
                  folder.path().string() + ": tensor 'a' has at element 2 the number nan"));
  const auto b = files.find("b").value();
  BOOST_TEST(
      says(refusal([&] { b.read_rows_as_float(0, 4, eight); }), "tensor 'b' has at row 2, column 1 the number inf"));
  b.read_rows_as_float(0, 2, std::span(eight).first(4));
  BOOST_TEST(says(refusal([&] { b.read_rows_as_float(2, 4, std::span(eight).first(4)); }), "at row 2, column 1"));
}

BOOST_AUTO_TEST_SUITE_END()
