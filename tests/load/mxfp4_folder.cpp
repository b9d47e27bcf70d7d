// Weights of folders in mxfp4, which store codes and scales as tensors of their own.
#include "refusal.hpp"
#include "safetensors_draft.hpp"
#include "temporary_folder.hpp"

#include <cogen/load/checkpoint.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace cogen::load;

namespace {

constexpr const char* config =
    R"({"model_type":"gpt_oss","vocab_size":4,"hidden_size":32,"intermediate_size":32,"num_hidden_layers":1,)"
    R"("num_attention_heads":8,"quantization_config":{"quant_method":"mxfp4"}})";

/// One expert with two rows of two groups: codes count up in the first group of a row and down in the second.
std::string counting_codes() {
  std::string codes;
  for (int group = 0; group < 4; ++group)
    for (int index = 0; index < 16; ++index) {
      const int low = 2 * index % 16, high = low + 1;
      codes += static_cast<char>(group % 2 == 0 ? low | high << 4 : (15 - low) | (15 - high) << 4);
    }
  return codes;
}

struct draft {
  std::string blocks_name = "down_proj_blocks", scales_name = "down_proj_scales";
  std::string blocks_shape = "1,2,2,16", scales_shape = "1,2,2";
  std::string scales_type = "U8";
  std::string scales = {127, 126, 0, static_cast<char>(140)};
  std::string more = {};
  std::string config = ::config;

  void write(const temporary_folder& folder) const {
    folder.write("config.json", config);
    folder.write(
        "model.safetensors",
        safetensors_bytes("{" + tensor_entry(blocks_name, "U8", blocks_shape, 0, 64) + "," +
                              tensor_entry(scales_name, scales_type, scales_shape, 64, 64 + scales.size()) + more + "}",
                          counting_codes() + scales));
  }
};

std::string opening(const draft& source) {
  const temporary_folder folder;
  source.write(folder);
  return refusal([&] { checkpoint opened(folder.path()); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(mxfp4_folder)

BOOST_AUTO_TEST_CASE(codes_and_scales_are_one_tensor) {
  constexpr float numbers[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, 0, -0.5F, -1, -1.5F, -2, -3, -4, -6};
  constexpr float scales[] = {1, 0.5F, 0x1p-127F, 8192};
  const temporary_folder folder;
  draft().write(folder);
  const checkpoint files(folder.path());
  BOOST_TEST((files.weight_names() == std::vector<std::string>{"down_proj"}));
  files.refuse_others(std::vector<std::string>{"down_proj"});
  const auto found = files.at("down_proj", {1, 2, 64});
  BOOST_TEST((found.type() == cogen::element_type::mxfp4));
  BOOST_TEST(found.row_bytes() == 34U);
  std::vector<float> values(64);
  for (int row = 0; row < 2; ++row) {
    found.read_rows_as_float(row, row + 1, values);
    for (int column = 0; column < 64; ++column) {
      const int code = column < 32 ? column % 16 : 15 - column % 16;
      BOOST_TEST(values[static_cast<std::size_t>(column)] == scales[2 * row + column / 32] * numbers[code]);
    }
  }
}

BOOST_AUTO_TEST_CASE(half_of_a_pair_is_named) {
  BOOST_TEST(says(opening({.scales_name = "down_proj_scale"}),
                  "tensor 'down_proj_scales' is missing, without which 'down_proj_blocks' has no numbers"));
  BOOST_TEST(says(opening({.blocks_name = "down_proj_codes"}),
                  "tensor 'down_proj_blocks' is missing, without which 'down_proj_scales' has no numbers"));
}

BOOST_AUTO_TEST_CASE(shapes_and_types_that_do_not_belong_together_are_named) {
  const std::string rule = "u8 [..., groups, 16] and u8 [..., groups] belong together";
  BOOST_TEST(says(opening({.scales_shape = "1,4"}),
                  "tensor 'down_proj_blocks' is u8 [1, 2, 2, 16], and 'down_proj_scales' is u8 [1, 4]; " + rule));
  BOOST_TEST(says(opening({.blocks_shape = "1,2,4,8"}), "'down_proj_blocks' is u8 [1, 2, 4, 8]"));
  BOOST_TEST(says(opening({.blocks_shape = "4,16"}), rule));
  BOOST_TEST(says(opening({.scales_type = "I8"}), "'down_proj_scales' is i8 [1, 2, 2]"));
  BOOST_TEST(
      says(opening({.more = "," + tensor_entry("down_proj", "U8", "0", 68, 68)}), "tensor 'down_proj' is there twice"));
}

BOOST_AUTO_TEST_CASE(scales_without_a_number_are_named) {
  for (const auto& [exponent, scale] :
       {std::pair(255, "nan"), std::pair(254, "1.7014118e+38"), std::pair(141, "16384")}) {
    const temporary_folder folder;
    draft({.scales = {127, 127, 127, static_cast<char>(exponent)}}).write(folder);
    const checkpoint files(folder.path());
    std::vector<std::byte> rows(68);
    BOOST_TEST(says(refusal([&] { files.find("down_proj")->read_rows(0, 2, rows); }),
                    std::string("tensor 'down_proj' has at row 1, block 1 the scale ") + scale +
                        "; magnitudes up to 8192 are allowed"));
  }
}

BOOST_AUTO_TEST_CASE(other_folders_keep_such_names) {
  const temporary_folder folder;
  draft({.config = R"({"model_type":"gpt_oss"})"}).write(folder);
  BOOST_TEST((checkpoint(folder.path()).find("down_proj_blocks")->type() == cogen::element_type::u8));
}

BOOST_AUTO_TEST_SUITE_END()
