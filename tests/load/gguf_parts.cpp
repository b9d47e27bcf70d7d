#include "formats/checkpoint/gguf_parts.hpp"

#include "../test_data.hpp"
#include "formats/checkpoint/gguf.hpp"
#include "refusal.hpp"
#include "split_model.hpp"
#include "tiny_model.hpp"

#include <cogen/load/checkpoint.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>

using namespace cogen::load;

namespace {

std::vector<float> floats(const weight& w) {
  std::vector<float> values(static_cast<std::size_t>(w.rows() * w.columns()));
  w.read_rows_as_float(0, w.rows(), values);
  return values;
}

std::string opening(const std::filesystem::path& path) {
  return refusal([&] { checkpoint opened(path); });
}

void replace(gguf_draft& draft, std::string_view key, const std::string& written) {
  for (auto& each : draft.entries) {
    if (each.find(key) != each.npos) each = written;
  }
}

void check_same_weights(const std::filesystem::path& path, const gguf_draft& whole) {
  const temporary_folder folder;
  const checkpoint files(path), expected(folder.write("whole.gguf", whole.bytes()));
  BOOST_TEST(files.weight_names() == expected.weight_names(), boost::test_tools::per_element());
  for (const auto& name : files.weight_names())
    BOOST_TEST(floats(files.find(name).value()) == floats(expected.find(name).value()),
               boost::test_tools::per_element());
  BOOST_TEST(files.config().tie_embeddings == expected.config().tie_embeddings);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gguf_parts)

BOOST_AUTO_TEST_CASE(the_first_part_opens_all) {
  for (const std::size_t count : {1, 2, 3, 7})
    for (const std::size_t in_first : {0, 1, 5}) {
      const temporary_folder folder;
      check_same_weights(write_parts(folder, split(tiny_llama(), count, count == 1 ? 11 : in_first)), tiny_llama());
    }
}

BOOST_AUTO_TEST_CASE(tensors_of_later_parts_tell_of_the_model_too) {
  auto whole = tiny_llama();
  whole.add("output.weight", {8, 3}, 0, counting_floats(24));
  const temporary_folder folder;
  const checkpoint files(write_parts(folder, split(whole, 3, 2)));
  BOOST_TEST(!files.config().tie_embeddings);
  BOOST_TEST(std::get<cogen::text::gguf_vocabulary>(files.tokenizer()).tokens.size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_folder_with_the_parts_of_one_model_is_read) {
  const temporary_folder folder;
  write_parts(folder, split(tiny_llama(), 3, 4));
  check_same_weights(folder.path(), tiny_llama());
  folder.write("other.gguf", tiny_llama().bytes());
  BOOST_TEST(says(opening(folder.path()), "holds 2 .gguf files; name the one to read"));
  const temporary_folder rest;
  rest.write(part_name(1, 3), split(tiny_llama(), 3, 4)[1].bytes());
  BOOST_TEST(says(opening(rest.path()), "holds neither config.json nor a .gguf file, or the first part of one"));
}

BOOST_AUTO_TEST_CASE(parts_that_the_gguf_package_wrote_are_read) {
  const auto corpus = cogen::test::test_data() / "load/corpus/gguf_parts";
  const gguf_file whole(cogen::test::test_data() / "load/data/package.gguf"), parts(corpus / part_name(0, 2));
  BOOST_TEST(parts.tensors().size() == whole.tensors().size());
  for (const auto& tensor : whole.tensors()) {
    const auto* split = parts.find(tensor.name);
    BOOST_REQUIRE(split != nullptr);
    BOOST_REQUIRE(split->bytes == tensor.bytes);
    std::vector<std::byte> expected(tensor.bytes), read(tensor.bytes);
    whole.read(tensor, 0, expected);
    parts.read(*split, 0, read);
    BOOST_TEST((read == expected));
  }
}

BOOST_AUTO_TEST_CASE(another_part_than_the_first_is_refused) {
  const temporary_folder folder;
  write_parts(folder, split(tiny_llama(), 3, 4));
  BOOST_TEST(says(opening(folder.path() / part_name(1, 3)),
                  "model-00002-of-00003.gguf: is part 2 of 3 of a model; the first part is named, "
                  "model-00001-of-00003.gguf"));
}

BOOST_AUTO_TEST_CASE(a_first_part_under_another_name_is_refused) {
  const temporary_folder folder;
  const auto path = folder.write("model.gguf", split(tiny_llama(), 3, 4)[0].bytes());
  BOOST_TEST(says(opening(path), "is the first of 3 parts of a model; its name does not end in -00001-of-00003.gguf"));
}

BOOST_AUTO_TEST_CASE(a_missing_part_is_named) {
  const temporary_folder folder;
  const auto path = write_parts(folder, split(tiny_llama(), 3, 4));
  std::filesystem::remove(folder.path() / part_name(2, 3));
  BOOST_TEST(says(opening(path),
                  "model-00001-of-00003.gguf: part 3 of 3 is missing: there is no 'model-00003-of-00003.gguf'"));
}

BOOST_AUTO_TEST_CASE(a_part_that_is_another_one_is_refused) {
  const temporary_folder folder;
  auto parts = split(tiny_llama(), 3, 4);
  std::swap(parts[1], parts[2]);
  BOOST_TEST(says(opening(write_parts(folder, parts)),
                  "model-00002-of-00003.gguf: says that it is part 3 of 3; its name says part 2 of 3"));
  parts = split(tiny_llama(), 3, 4);
  replace(parts[2], "split.count", split_count(4));
  BOOST_TEST(says(opening(write_parts(folder, parts)), "says that it is part 3 of 4; its name says part 3 of 3"));
  parts[2] = tiny_llama();
  BOOST_TEST(says(opening(write_parts(folder, parts)), "says that it is part 1 of 1; its name says part 3 of 3"));
}

BOOST_AUTO_TEST_CASE(wrong_counts_are_refused) {
  const temporary_folder folder;
  const auto refused = [&](std::string_view key, const std::string& written) {
    auto parts = split(tiny_llama(), 3, 4);
    replace(parts[0], key, written);
    return opening(write_parts(folder, parts));
  };
  BOOST_TEST(says(refused("split.tensors.count", split_tensors(12)),
                  "split.tensors.count is 12; its 3 parts hold 11 tensors"));
  BOOST_TEST(says(refused("split.tensors.count", split_tensors(0)), "split.tensors.count is 0"));
  BOOST_TEST(says(refused("split.tensors.count", entry("split.tensors.count", 5, raw(std::int32_t{-1}))),
                  "split.tensors.count is -1; an integer from 0"));
  BOOST_TEST(says(refused("split.count", entry_u32("split.count", 5000)), "split.count is 5000; an integer from 0"));
  BOOST_TEST(says(refused("split.count", entry_text("split.count", "3")), "split.count is of another type"));
  BOOST_TEST(says(refused("split.no", entry_f32("split.no", 0)), "split.no is of another type"));
  BOOST_TEST(says(refused("split.no", entry_u32("split.no", 2)), "is part 3 of 3 of a model"));
}

BOOST_AUTO_TEST_CASE(a_tensor_in_two_parts_is_refused) {
  const temporary_folder folder;
  auto parts = split(tiny_llama(), 3, 4);
  parts[2].tensors[1].name = parts[1].tensors[0].name;
  BOOST_TEST(says(opening(write_parts(folder, parts)),
                  "model-00003-of-00003.gguf: tensor 'blk.0.attn_k.weight' is in 'model-00002-of-00003.gguf' too"));
  parts = split(tiny_llama(), 3, 4);
  parts[2].tensors[1].name = parts[2].tensors[0].name;
  BOOST_TEST(says(opening(write_parts(folder, parts)), "is there twice"));
}

BOOST_AUTO_TEST_CASE(a_damaged_part_is_named) {
  const temporary_folder folder;
  const auto parts = split(tiny_llama(), 3, 4);
  const auto path = write_parts(folder, parts);
  const auto last = parts[2].bytes();
  folder.write(part_name(2, 3), last.substr(0, last.size() - 40));
  BOOST_TEST(says(opening(path), "model-00003-of-00003.gguf: tensor 'blk.0.ffn_down.weight' needs 384 bytes"));
  folder.write(part_name(2, 3), "GGML");
  BOOST_TEST(says(opening(path), "model-00003-of-00003.gguf: header: this is not a GGUF file"));
}

BOOST_AUTO_TEST_CASE(names_of_later_parts_are_known) {
  BOOST_TEST(is_later_gguf_part("a/model-00002-of-00003.gguf"));
  BOOST_TEST(is_later_gguf_part("-00003-of-00003.gguf"));
  for (const auto* name : {"model-00001-of-00003.gguf", "model-00004-of-00003.gguf", "model-2-of-3.gguf", "model.gguf",
                           "00002-of-00003.gguf", "-0002x-of-00003.gguf", "of-00003.gguf", ".gguf", ""})
    BOOST_TEST(!is_later_gguf_part(name), name);
}

BOOST_AUTO_TEST_SUITE_END()
