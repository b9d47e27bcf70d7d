// Weights of quantized folders: those that tools packed, bit for bit, and what is refused.
#include "../test_data.hpp"
#include "formats/checkpoint/safetensors.hpp"
#include "refusal.hpp"
#include "safetensors_draft.hpp"
#include "temporary_folder.hpp"

#include <cogen/load/checkpoint.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

using namespace cogen::load;

namespace {

const std::string up_proj = "model.layers.0.mlp.up_proj", gate_proj = "model.layers.0.mlp.gate_proj",
                  down_proj = "model.layers.0.mlp.down_proj";

struct packed_folder {
  const char* name;
  std::vector<std::pair<std::string, cogen::element_type>> types;  // of its weights
};

/// What make_quantized.py wrote.
const std::vector<packed_folder>& packed_folders() {
  using enum cogen::element_type;
  static const std::vector<packed_folder> folders{
      {"fp8_block", {{up_proj, f32}, {down_proj, scaled_e4m3}}},  // 320 inputs are no blocks of 128
      {"fp8_block_e8m0", {{up_proj, scaled_e4m3}}},
      {"fp8_other_blocks", {{up_proj, f32}, {down_proj, scaled_e4m3}}},
      {"fp8_row", {{up_proj, scaled_e4m3}}},
      {"fp8_tensor", {{up_proj, f32}, {gate_proj, f32}, {down_proj, f32}}},
      {"int8", {{up_proj, q8_0}}},
      {"int8_zeros", {{up_proj, q8_zero}}},
      {"packed_4_32", {{up_proj, q4_0}}},
      {"packed_4_64_zeros", {{up_proj, q4_zero}}},
      {"packed_4_row", {{up_proj, q4_zero}}},  // scales that float16 does not hold
      {"packed_8_32_zeros", {{up_proj, q8_zero}}},
      {"packed_3_96_zeros", {{up_proj, q4_zero}}},
      {"mixed", {{up_proj, q4_0}, {gate_proj, q8_0}, {down_proj, scaled_e4m3}}},
      {"nvfp4", {{up_proj, scaled_e2m1}}},
      {"nvfp4_modelopt", {{up_proj, nvfp4}}},
      {"mxfp4", {{up_proj, mxfp4}, {down_proj, mxfp4}}},
      {"awq_64", {{up_proj, q4_zero}}},
      {"awq_row", {{up_proj, q4_zero}}},
      {"gptq_4_64", {{up_proj, q4_zero}}},
      {"gptq_4_32_symmetric", {{up_proj, q4_0}}},
      {"gptq_2_32_v2", {{up_proj, q4_zero}}},
      {"gptq_3_64", {{up_proj, q4_zero}}},
      {"gptq_8_row", {{up_proj, q8_zero}}},
      {"gptq_4_64_desc_act", {{up_proj, f32}}},  // groups of inputs that do not follow one another
      {"packed_4_32_order", {{up_proj, f32}}},
      {"bitsandbytes_nf4", {{up_proj, f32}, {down_proj, f32}}},
      {"bitsandbytes_nf4_nested", {{up_proj, f32}}},
      {"bitsandbytes_fp4", {{up_proj, f32}}},
      {"bitsandbytes_8", {{up_proj, q8_zero}}}};
  return folders;
}

std::filesystem::path path_of(const std::string& name) {
  return cogen::test::test_data() / "load/data/quantized" / name;
}

/// What NAME.scale has for NAME.weight; 1 without it.
float factor_of(const checkpoint& files, const std::string& weight) {
  float factor = 1;
  const auto found = files.find(weight.substr(0, weight.rfind('.')) + ".scale");
  if (found) found->read_rows_as_float(0, 1, {&factor, 1});
  return factor;
}

/// Rows [first, last) of a weight, times its factor, are those of the truth, bit for bit.
bool has_rows(const weight& found, float factor, const std::vector<float>& truth, std::int64_t first,
              std::int64_t last) {
  std::vector<float> values(static_cast<std::size_t>((last - first) * found.columns()));
  found.read_rows_as_float(first, last, values);
  for (auto& value : values) value *= factor;
  return std::memcmp(values.data(), truth.data() + first * found.columns(), values.size() * sizeof(float)) == 0;
}

struct stored_tensor {
  std::string name, type, shape, bytes;
};

std::string ones_of_e4m3(std::size_t count, char code = 0x38) { return std::string(count, code); }

template <class Number>
std::string bytes_of(std::initializer_list<Number> values) {
  std::string bytes;
  for (const auto value : values) bytes += raw(value);
  return bytes;
}

std::string repeated(float value, std::size_t count) {
  std::string bytes;
  for (std::size_t index = 0; index < count; ++index) bytes += raw(value);
  return bytes;
}

struct module_draft {
  std::vector<stored_tensor> tensors;
  std::string quantization = "{}";

  void write(const temporary_folder& folder) const {
    folder.write("config.json", R"({"model_type":"llama","quantization_config":)" + quantization + "}");
    std::string header, data;
    for (const auto& tensor : tensors) {
      header += (header.empty() ? "" : ",") +
                tensor_entry(tensor.name, tensor.type, tensor.shape, data.size(), data.size() + tensor.bytes.size());
      data += tensor.bytes;
    }
    folder.write("model.safetensors", safetensors_bytes("{" + header + "}", data));
  }
};

std::string opening_of(const module_draft& source) {
  const temporary_folder folder;
  source.write(folder);
  return refusal([&] { checkpoint opened(folder.path()); });
}

/// Opens it and reads all of a.weight.
std::string reading_of(const module_draft& source) {
  const temporary_folder folder;
  source.write(folder);
  return refusal([&] {
    const checkpoint files(folder.path());
    const auto found = files.find("a.weight").value();
    std::vector<float> values(static_cast<std::size_t>(found.rows() * found.columns()));
    found.read_rows_as_float(0, found.rows(), values);
  });
}

stored_tensor codes_of_e4m3() { return {"a.weight", "F8_E4M3", "2,128", ones_of_e4m3(256)}; }
stored_tensor row_scales() { return {"a.weight_scale", "F32", "2,1", bytes_of({1.0F, 2.0F})}; }

/// Of 4 bits, [2, 64] in groups of 32.
std::vector<stored_tensor> packed_parts() {
  return {{"a.weight_packed", "I32", "2,8", std::string(64, '\x98')},
          {"a.weight_scale", "F32", "2,2", repeated(1, 4)},
          {"a.weight_shape", "I64", "2", bytes_of({std::int64_t{2}, std::int64_t{64}})}};
}

/// Of GPTQ with 4 bits, [8, 64] in groups of 32.
std::vector<stored_tensor> gptq_parts() {
  return {{"a.qweight", "I32", "8,8", std::string(256, '\x98')},
          {"a.qzeros", "I32", "2,1", std::string(8, '\x77')},
          {"a.scales", "F32", "2,8", repeated(1, 16)}};
}

stored_tensor state_part(const std::string& text) {
  return {"a.weight.quant_state.bitsandbytes__nf4", "U8", std::to_string(text.size()), text};
}

/// Of bitsandbytes, [2, 64] in blocks of 64 whose maxima are codes.
std::vector<stored_tensor> four_bit_parts() {
  return {{"a.weight", "U8", "64,1", std::string(64, '\x98')},
          {"a.weight.absmax", "U8", "2", std::string(2, 1)},
          {"a.weight.quant_map", "F32", "16", repeated(1, 16)},
          {"a.weight.nested_absmax", "F32", "1", repeated(1, 1)},
          {"a.weight.nested_quant_map", "F32", "256", repeated(1, 256)},
          state_part(R"({"shape":[2,64],"blocksize":64,"nested_blocksize":256,"nested_offset":0.5})")};
}

template <class Change>
std::vector<stored_tensor> changed(std::vector<stored_tensor> tensors, Change change) {
  change(tensors);
  return tensors;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(quantized_weights)

BOOST_AUTO_TEST_CASE(weights_that_tools_packed_have_every_bit) {
  for (const auto& [name, types] : packed_folders()) BOOST_TEST_CONTEXT(name) {
      const checkpoint files(path_of(name));
      const safetensors_file truth(path_of(name) / "truth.safetensors");
      for (const auto& tensor : truth.tensors()) BOOST_TEST_CONTEXT(tensor.name) {
          std::vector<float> numbers(static_cast<std::size_t>(element_count(tensor)));
          truth.read(tensor, 0, std::as_writable_bytes(std::span(numbers)));
          const auto found = files.at(tensor.name, tensor.shape);
          const auto factor = factor_of(files, tensor.name);
          BOOST_TEST(has_rows(found, factor, numbers, 0, found.rows()));
          for (const auto& [first, last] : {std::pair(0, 1), std::pair(5, 6), std::pair(3, 17), std::pair(7, 24)})
            BOOST_TEST(has_rows(found, factor, numbers, first, last));
          BOOST_TEST(has_rows(found, factor, numbers, found.rows() - 1, found.rows()));
        }
    }
}

BOOST_AUTO_TEST_CASE(weights_have_one_name_and_the_type_that_keeps_them) {
  for (const auto& [name, types] : packed_folders()) BOOST_TEST_CONTEXT(name) {
      const checkpoint files(path_of(name));
      std::vector<std::string> names;
      for (const auto& [module, type] : types) {
        names.push_back(module + ".weight");
        BOOST_TEST(to_string(files.find(names.back()).value().type()) == to_string(type));
      }
      if (std::string_view(name) == "nvfp4_modelopt") names.push_back(up_proj + ".scale");
      if (std::string_view(name) == "mixed") names.emplace_back("model.layers.0.input_layernorm.weight");
      files.refuse_others(names);
      BOOST_TEST(files.weight_names().size() == names.size());
    }
}

BOOST_AUTO_TEST_CASE(methods_that_are_not_read_are_named) {
  const auto refusal_for = [](const std::string& fields) {
    return opening_of({.tensors = {}, .quantization = "{" + fields + "}"});
  };
  for (const char* method : {"hqq", "torchao", "quanto", "aqlm", "vptq", "spqr", "higgs", "exl3", "qqq"})
    BOOST_TEST(says(refusal_for(R"("quant_method":")" + std::string(method) + "\""),
                    "quantization_config.quant_method is \"" + std::string(method) +
                        "\"; it is not read; fp8, fbgemm_fp8, "
                        "compressed-tensors, modelopt, gptq, awq, auto-round, quark, mxfp4, bitsandbytes are"));
  BOOST_TEST(says(refusal_for(R"("quant_method":"awq","version":"gemv")"),
                  "quantization_config.version is \"gemv\"; gemm is read"));
  BOOST_TEST(says(refusal_for(R"("quant_method":"bitsandbytes","bnb_4bit_quant_storage":"bfloat16")"),
                  "codes in bytes are read"));
  BOOST_TEST(says(refusal_for(R"("quant_method":"gptq","checkpoint_format":"gptq_p")"), "gptq and gptq_v2 are read"));
  BOOST_TEST(says(refusal_for(R"("quant_method":"auto-round","packing_format":"auto_round:exl")"),
                  "auto_gptq and auto_awq are read"));
  BOOST_TEST(
      says(refusal_for(R"("quant_method":"compressed-tensors","format":"marlin-24")"), "quantization_config.format"));
  BOOST_TEST(
      says(refusal_for(R"("quant_method":"compressed-tensors","sparsity_config":{"format":"sparse-24-bitmask"})"),
           "dense weights are read"));
  BOOST_TEST(says(refusal_for(R"("quant_method":"compressed-tensors","transform_config":{"config_groups":{"u":1}})"),
                  "weights that are transformed at run time are not read"));
  for (const char* method : {"fp8", "fbgemm_fp8", "compressed-tensors", "modelopt", "modelopt_fp4", "gptq", "awq",
                             "auto-round", "quark", "mxfp4", "bitsandbytes"})
    BOOST_TEST(refusal_for(R"("quant_method":")" + std::string(method) + "\"") == "nothing was refused");
}

BOOST_AUTO_TEST_CASE(codes_without_scales_and_scales_without_codes_are_named) {
  BOOST_TEST(says(opening_of({.tensors = {codes_of_e4m3()}}),
                  "tensor 'a.weight' has codes without numbers; a tensor NAME_scale_inv or NAME_scale belongs to it"));
  BOOST_TEST(says(opening_of({.tensors = {row_scales()}}),
                  "tensor 'a.weight_scale' belongs to codes of 'a.weight', which are missing"));
  BOOST_TEST(
      says(opening_of({.tensors = {row_scales(), {"a.weight", "BF16", "1", std::string(2, 0)}}}), "are missing"));
  BOOST_TEST(says(opening_of({.tensors = {{"a.scales", "F16", "1,8", std::string(16, 0)}}}), "are missing"));
  for (std::size_t left_out = 0; left_out < 3; ++left_out) {
    auto parts = packed_parts(), words = gptq_parts();
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(left_out));
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(left_out));
    BOOST_TEST(says(opening_of({.tensors = parts}), left_out == 0 ? "which are missing" : "has codes without numbers"));
    BOOST_TEST(says(opening_of({.tensors = words}), left_out == 0 ? "which are missing" : "has codes without numbers"));
  }
  BOOST_TEST(says(opening_of({.tensors = {{"a.weight_packed", "U8", "2,16", std::string(32, 1)},
                                          {"a.weight_scale", "F8_E4M3", "2,2", ones_of_e4m3(4)}}}),
                  "NAME_global_scale or NAME_scale_2"));
}

BOOST_AUTO_TEST_CASE(parts_that_do_not_belong_to_codes_are_named) {
  BOOST_TEST(says(opening_of({.tensors = {codes_of_e4m3(), row_scales(), {"a.qscale_weight", "F32", "", raw(1.0F)}}}),
                  "are the same part of 'a.weight'"));
  BOOST_TEST(
      says(opening_of({.tensors = {codes_of_e4m3(), row_scales(), {"a.weight_zero_point", "I8", "2,1", "\1\1"}}}),
           "tensor 'a.weight_zero_point' is i8 [2, 1]; numbers of FP8 are read without zeros"));
  auto parts = packed_parts();
  parts.push_back({"a.weight_zero_point", "I32", "2,2", std::string(16, 0)});
  BOOST_TEST(says(opening_of({.tensors = parts}), "i32 [1, 2] belongs to 'a.weight_packed'"));
}

BOOST_AUTO_TEST_CASE(numbers_that_are_none_are_named) {
  BOOST_TEST(reading_of({.tensors = {codes_of_e4m3(), row_scales()}}) == "nothing was refused");
  for (const char code : {'\x7F', '\xFF'}) {
    auto codes = codes_of_e4m3();
    codes.bytes[200] = code;
    BOOST_TEST(
        says(reading_of({.tensors = {codes, row_scales()}}), "tensor 'a.weight' has at row 1, block 0 the number nan"));
    codes.shape = "4,64";
    BOOST_TEST(says(reading_of({.tensors = {codes, {"a.weight_scale", "F32", "1", raw(1.0F)}}}), "at row 3, column 8"));
  }
  for (const float scale : {std::nanf(""), 1e9F, -INFINITY}) {
    auto scales = row_scales();
    scales.bytes = bytes_of({1.0F, scale});
    BOOST_TEST(says(reading_of({.tensors = {codes_of_e4m3(), scales}}), "at row 1, block 0 the scale"));
    auto parts = packed_parts();
    parts[1].bytes = bytes_of({1.0F, 1.0F, 1.0F, scale});
    BOOST_TEST(says(reading_of({.tensors = parts}), "at row 1, block 1 the scale"));
  }
  BOOST_TEST(says(opening_of({.tensors = {{"a.weight", "F8_E5M2", "2,2", std::string(4, 0)}}}), "has dtype 'F8_E5M2'"));
  BOOST_TEST(says(reading_of({.tensors = {codes_of_e4m3(), {"a.weight_scale_inv", "F8_E8M0", "1,1", "\xFF"}}}),
                  "the scale nan"));
}

BOOST_AUTO_TEST_CASE(scales_that_do_not_lie_over_the_codes_are_named) {
  const auto with_scales = [](const std::string& shape, std::size_t count) {
    return opening_of({.tensors = {codes_of_e4m3(), {"a.weight_scale_inv", "F32", shape, repeated(1, count)}}});
  };
  BOOST_TEST(says(with_scales("3", 3),
                  "tensor 'a.weight' is f8_e4m3 [2, 128], and tensor 'a.weight_scale_inv' is f32 [3]; one scale"));
  BOOST_TEST(says(with_scales("2,3", 6), "each block of [128, 128]"));
  BOOST_TEST(says(with_scales("0", 0), "scales are one at least"));
  BOOST_TEST(with_scales("1,1", 1) == "nothing was refused");
  BOOST_TEST(with_scales("2,4", 8) == "nothing was refused");
  const auto more = [](const std::string& field) {
    return opening_of({.tensors = {codes_of_e4m3(), {"a.weight_scale_inv", "F32", "1,2", repeated(1, 2)}},
                       .quantization = "{" + field + "}"});
  };
  BOOST_TEST(says(more(""), "each block of [128, 128]"));
  BOOST_TEST(more(R"("quant_method":"fp8","weight_block_size":[128,64])") == "nothing was refused");
}

BOOST_AUTO_TEST_CASE(shapes_that_are_not_so_are_named) {
  BOOST_TEST(reading_of({.tensors = packed_parts()}) == "nothing was refused");
  for (const auto& [outputs, inputs] : {std::pair(3, 64), std::pair(2, 257), std::pair(2, 0), std::pair(2, -64)}) {
    auto parts = packed_parts();
    parts[2].bytes = bytes_of<std::int64_t>({outputs, inputs});
    BOOST_TEST(says(opening_of({.tensors = parts}), "tensor 'a.weight_shape' says [" + std::to_string(outputs)));
  }
  auto parts = packed_parts();
  parts[2].bytes = bytes_of<std::int64_t>({2, 25});
  BOOST_TEST(says(opening_of({.tensors = parts}), "25 inputs take no such number of words"));
  parts = packed_parts();
  parts[1] = {"a.weight_scale", "F32", "2,4", repeated(1, 8)};
  BOOST_TEST(says(opening_of({.tensors = parts}), "groups of 16 inputs are not read; multiples of 32 are"));
  parts[1] = {"a.weight_scale", "F32", "2,3", repeated(1, 6)};
  BOOST_TEST(says(opening_of({.tensors = parts}), "groups of equal size in 64 inputs are read"));
  parts = gptq_parts();
  parts[1].shape = "1,2";
  BOOST_TEST(says(opening_of({.tensors = parts}), "belong together"));
  parts[1].shape = "2";
  BOOST_TEST(says(opening_of({.tensors = parts}), "belong together"));
}

BOOST_AUTO_TEST_CASE(groups_are_checked) {
  const auto with_index = [](std::int32_t at_40) {
    auto parts = gptq_parts();
    std::string index;
    for (std::int32_t input = 0; input < 64; ++input) index += raw(input == 40 ? at_40 : input / 32);
    parts.push_back({"a.g_idx", "I32", "64", index});
    return opening_of({.tensors = parts});
  };
  for (const std::int32_t group : {0, 1}) BOOST_TEST(with_index(group) == "nothing was refused");
  for (const std::int32_t group : {2, -1, 1 << 30})
    BOOST_TEST(says(with_index(group), "tensor 'a.g_idx' gives input 40 to group " + std::to_string(group)));
}

BOOST_AUTO_TEST_CASE(parts_of_bitsandbytes_are_checked) {
  const auto refusal_of = [](std::size_t part, auto change) {
    auto parts = four_bit_parts();
    change(parts[part]);
    return opening_of({.tensors = parts});
  };
  BOOST_TEST(refusal_of(0, [](auto&) {}) == "nothing was refused");
  for (const std::size_t left_out : {1, 2, 3, 4, 5}) {
    auto parts = four_bit_parts();
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(left_out));
    BOOST_TEST(says(opening_of({.tensors = parts}), "has codes without numbers"), left_out);
  }
  const auto state_of = [&](const char* text) { return refusal_of(5, [&](auto& part) { part = state_part(text); }); };
  BOOST_TEST(says(state_of(R"({"shape":[3,43],"blocksize":64,"nested_blocksize":256,"nested_offset":0})"),
                  "tensor 'a.weight' is u8 [64, 1]; 65 numbers in u8 belong there"));
  BOOST_TEST(says(state_of(R"({"shape":[2,64],"blocksize":32,"nested_blocksize":256,"nested_offset":0})"),
                  "tensor 'a.weight.absmax' is u8 [2]; 4 numbers in u8 belong there"));
  BOOST_TEST(says(state_of(R"({"shape":[2,64],"blocksize":64,"nested_blocksize":1,"nested_offset":0})"),
                  "tensor 'a.weight.nested_absmax' is f32 [1]; 2 numbers in f32 belong there"));
  BOOST_TEST(says(state_of(R"({"shape":[2,64],"blocksize":0,"nested_blocksize":256,"nested_offset":0})"), "blocksize"));
  BOOST_TEST(says(state_of(R"({"shape":[128],"blocksize":64,"nested_blocksize":256,"nested_offset":0})"),
                  "[outputs, inputs] is read"));
  BOOST_TEST(
      says(state_of(R"({"shape":[2147483648,2147483648],"blocksize":64,"nested_blocksize":256,"nested_offset":0})"),
           "tensor 'a.weight' is u8 [64, 1]"));
  BOOST_TEST(says(state_of("[]"), "tensor a.weight.quant_state.bitsandbytes__nf4"));
  BOOST_TEST(says(state_of(std::string(5000, ' ').c_str()), "a text of 4096 bytes at most belongs there"));
  BOOST_TEST(says(refusal_of(2, [](auto& part) { part.shape = "15", part.bytes.resize(60); }), "16 numbers in f32"));
  std::vector<stored_tensor> rows{{"a.weight", "I8", "2,32", std::string(64, 1)},
                                  {"a.SCB", "F32", "2", repeated(1, 2)},
                                  {"a.weight_format", "U8", "", std::string(1, 0)}};
  BOOST_TEST(opening_of({.tensors = rows}) == "nothing was refused");
  rows[2].bytes[0] = 2;
  BOOST_TEST(says(opening_of({.tensors = rows}), "tensor 'a.weight_format' is u8 []; u8 0 is read"));
}

// A zero of 16 is one of 15 and a carry: GPTQModel takes 1 from whole words.
BOOST_AUTO_TEST_CASE(zeros_of_gptq_are_more_by_one_in_whole_words) {
  const auto first_weight = [](const std::string& format) {
    const temporary_folder folder;
    auto parts = gptq_parts();
    parts[1].bytes = bytes_of<std::uint32_t>({0xFFFFFFFF, 0x77777777});
    module_draft{parts, R"({"quant_method":"gptq","checkpoint_format":")" + format + "\"}"}.write(folder);
    std::vector<float> values(64);
    checkpoint(folder.path()).find("a.weight")->read_rows_as_float(1, 2, values);
    return std::vector<float>{values[0], values[32]};
  };
  BOOST_TEST(first_weight("gptq") == (std::vector<float>{8 - 1, 0}));  // 0xFFFFFFFF + 0x11111111 = 0x11111110
  BOOST_TEST(first_weight("gptq_v2") == (std::vector<float>{8 - 15, 1}));
}

BOOST_AUTO_TEST_CASE(scales_of_activations_and_caches_are_left_out) {
  std::vector<stored_tensor> tensors{codes_of_e4m3(), row_scales()};
  for (const char* name : {"a.input_scale", "a.activation_scale", "a.k_scale", "b.v_scale", "b.output_scale",
                           "a.input_global_scale", "a.qscale_act"})
    tensors.push_back({name, "F32", "", raw(1.0F)});
  const temporary_folder folder;
  module_draft{tensors}.write(folder);
  BOOST_TEST((checkpoint(folder.path()).weight_names() == std::vector<std::string>{"a.weight"}));
}

// Experts in one tensor: each has rows of blocks of its own.
BOOST_AUTO_TEST_CASE(stacks_of_matrices_have_scales_of_their_own) {
  for (const auto& [shape, scales] : {std::pair("2,1,1", 2), std::pair("2,2,1", 4), std::pair("2", 2)}) {
    std::string bytes;
    for (int index = 1; index <= scales; ++index) bytes += raw(static_cast<float>(index));
    const temporary_folder folder;
    module_draft{{{"a.experts", "F8_E4M3", "2,2,128", ones_of_e4m3(512)}, {"a.experts_scale_inv", "F32", shape, bytes}}}
        .write(folder);
    const checkpoint files(folder.path());
    const auto found = files.at("a.experts", {2, 2, 128});
    BOOST_TEST(to_string(found.type()) == "scaled_e4m3");
    for (int row = 0; row < 4; ++row) {
      std::vector<float> values(128);
      found.read_rows_as_float(row, row + 1, values);
      BOOST_TEST(values[127] == static_cast<float>(scales == 4 ? row + 1 : row / 2 + 1));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
