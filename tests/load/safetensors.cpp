#include "formats/checkpoint/safetensors.hpp"

#include "../test_data.hpp"
#include "memory_file.hpp"
#include "refusal.hpp"
#include "safetensors_draft.hpp"
#include "shards.hpp"
#include "temporary_folder.hpp"
#include "tiny_model.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>

using namespace cogen::load;

namespace {

std::string safetensors_refusal(std::string_view bytes) {
  const memory_file file(bytes);
  return refusal([&] { safetensors_file read(file.path()); });
}

std::string refusal_of_header(std::string_view header, std::size_t data = 16) {
  return safetensors_refusal(safetensors_bytes(header, std::string(data, '\0')));
}

std::string refusal_of_folder(const temporary_folder& folder) {
  return refusal([&] { safetensors_folder read(folder.path()); });
}

float first_value(const tensor_file& file, std::string_view name) {
  float value = 0;
  file.read(*file.find(name), 0, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(safetensors)

BOOST_AUTO_TEST_CASE(a_file_of_the_safetensors_package_is_read) {
  const safetensors_file file(cogen::test::test_data() / "load/data/package.safetensors");
  BOOST_TEST(file.metadata().at("format") == "pt");
  BOOST_REQUIRE(file.tensors().size() == 4U);
  const auto* b = file.find("b");
  BOOST_REQUIRE(b != nullptr);
  BOOST_TEST(b->shape == (std::vector<std::int64_t>{2, 3}), boost::test_tools::per_element());
  std::vector<std::int32_t> values(6);
  file.read(*b, 0, std::as_writable_bytes(std::span(values)));
  BOOST_TEST(values == (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5}), boost::test_tools::per_element());
  BOOST_TEST(file.find("a")->shape.empty());
  BOOST_TEST((file.find("a")->type == cogen::element_type::f64));
  BOOST_TEST((file.find("flags")->type == cogen::element_type::boolean));
  BOOST_TEST(file.find("empty")->bytes == 0U);
  BOOST_TEST(file.find("none") == nullptr);
}

BOOST_AUTO_TEST_CASE(the_header_may_list_tensors_in_any_order_and_end_in_spaces) {
  const auto header = "{" + float_entry("late", 2, 4) + "," + float_entry("early", 1, 0) + "}   ";
  const memory_file written(safetensors_bytes(header, counting_floats(3)));
  const safetensors_file file(written.path());
  BOOST_TEST(file.tensors()[0].name == "early");
  BOOST_TEST(first_value(file, "late") == 1);
}

BOOST_AUTO_TEST_CASE(a_file_without_tensors_is_read) {
  const memory_file written(safetensors_bytes("{}", ""));
  BOOST_TEST(safetensors_file(written.path()).tensors().empty());
}

BOOST_AUTO_TEST_CASE(names_keep_escapes_and_long_text) {
  const std::string longest(100'000, 'n');
  const auto header = "{" + float_entry(R"(\u00e9\n)", 1, 0) + "," + float_entry(longest, 1, 4) + "}";
  const memory_file written(safetensors_bytes(header, counting_floats(2)));
  const safetensors_file file(written.path());
  BOOST_TEST(file.find("\xC3\xA9\n") != nullptr);
  BOOST_TEST(file.find(longest) != nullptr);
}

BOOST_AUTO_TEST_CASE(wrong_header_lengths_are_refused) {
  BOOST_TEST(says(safetensors_refusal("1234567"), "has 7 bytes; a safetensors file has at least 8"));
  BOOST_TEST(says(safetensors_refusal(safetensors_bytes("{}", "", 3)), "the header has 3 bytes; 2 remain"));
  BOOST_TEST(says(safetensors_refusal(safetensors_bytes("{}", "", 100'000'001)), "100000001 bytes; at most 100000000"));
  BOOST_TEST(
      says(safetensors_refusal(safetensors_bytes("{}", "", std::uint64_t{1} << 63)), "9223372036854775808 bytes"));
  BOOST_TEST(says(safetensors_refusal(safetensors_bytes("", "")), "does not begin with '{'"));
  BOOST_TEST(says(refusal_of_header(" {}"), "does not begin with '{'"));
  BOOST_TEST(says(refusal_of_header("{}\n"), "does not end with '}' and spaces"));
  BOOST_TEST(says(refusal_of_header("{} {}"), "has more after its JSON value"));
}

BOOST_AUTO_TEST_CASE(headers_of_another_form_are_refused) {
  BOOST_TEST(says(refusal_of_header(R"({"a":{"shape":[1,]}})"), "is not valid JSON"));
  BOOST_TEST(says(refusal_of_header("{\"\xFF\":{}}"), "is not valid JSON"));
  BOOST_TEST(says(refusal_of_header(R"({"a":1})"), "entry 'a' of the header is a number"));
  BOOST_TEST(says(refusal_of_header(R"({"a":[]})"), "entry 'a' of the header is an array"));
  BOOST_TEST(says(refusal_of_header(R"({"a":{}})"), "tensor 'a' has no 'dtype'"));
  BOOST_TEST(says(refusal_of_header(R"({"a":{"dtype":"F32"}})"), "tensor 'a' has no 'shape'"));
  BOOST_TEST(says(refusal_of_header(R"({"a":{"dtype":"F32","shape":[4]}})"), "no two 'data_offsets'"));
  BOOST_TEST(says(refusal_of_header(R"({"a":{"dtype":"F32","dtype":"F32"}})"), "has a string at 'dtype'"));
  BOOST_TEST(says(refusal_of_header(R"({"a":{"shape":[[1]]}})"), "has an array at 'shape'"));
  BOOST_TEST(says(refusal_of_header(R"({"a":{"shape":[{}]}})"), "has an object at 'shape'"));
  BOOST_TEST(says(refusal_of_header(R"({"a":{"shape":[1.0]}})"), "has the number 1 at 'shape'"));
  BOOST_TEST(says(refusal_of_header(R"({"a":{"shape":[18446744073709551615]}})"), "at 'shape'"));
  BOOST_TEST(says(refusal_of_header(R"({"a":{"shape":null}})"), "has null at 'shape'"));
  BOOST_TEST(says(refusal_of_header(R"({"a":{"more":true}})"), "has a boolean at 'more'"));
  BOOST_TEST(says(refusal_of_header(R"({"__metadata__":{"a":1}})"), "has a number at 'a'"));
  BOOST_TEST(says(refusal_of_header(R"({"__metadata__":{"a":"","a":""}})"), "has 'a' twice"));
  BOOST_TEST(says(refusal_of_header(R"({"__metadata__":{},"__metadata__":{}})"), "is there twice"));
  BOOST_TEST(says(refusal_of_header("{" + float_entry("a", 4, 0) + "," + tensor_entry("a", "F32", "0", 16, 16) + "}"),
                  "tensor 'a' is there twice"));
  BOOST_TEST(
      says(refusal_of_header("{\"a\":" + std::string(100'000, '[') + "}"), "entry 'a' of the header is an array"));
}

BOOST_AUTO_TEST_CASE(wrong_tensors_are_refused) {
  const auto refusal_of = [](std::string_view type, std::string_view shape, std::uint64_t begin, std::uint64_t end) {
    return refusal_of_header("{" + tensor_entry("a", type, shape, begin, end) + "}");
  };
  BOOST_TEST(says(refusal_of("F8_E5M2", "16", 0, 16), "dtype 'F8_E5M2'"));
  BOOST_TEST(says(refusal_of("F32", "-4", 0, 16), "a dimension of -4; 0 to 4294967295"));
  BOOST_TEST(says(refusal_of("F32", "4294967296", 0, 16), "a dimension of 4294967296"));
  BOOST_TEST(says(refusal_of("F32", "4294967295,4294967295,4294967295", 0, 16), "does not fit 64 bits"));
  BOOST_TEST(says(refusal_of("U8", "4294967295,4294967295,0", 0, 0), "does not fit 64 bits"));
  BOOST_TEST(says(refusal_of("F32", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,4", 0, 16), "more than 16 dimensions"));
  BOOST_TEST(says(refusal_of("F32", "3", 0, 16), "takes 12 bytes; its data_offsets give 16"));
  BOOST_TEST(says(refusal_of("F32", "4", 16, 0), "has data_offsets [16, 0]"));
  BOOST_TEST(says(refusal_of_header(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16,16]}})"),
                  "more than two data_offsets"));
  BOOST_TEST(says(refusal_of_header(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[-16,0]}})"), "has offset -16"));
}

BOOST_AUTO_TEST_CASE(tensors_that_overlap_leave_holes_or_do_not_fill_the_file_are_refused) {
  BOOST_TEST(says(refusal_of_header("{" + float_entry("a", 2, 0) + "," + float_entry("b", 2, 4) + "}", 12),
                  "tensor 'b' begins at 4; the tensor before it ends at 8"));
  BOOST_TEST(says(refusal_of_header("{" + float_entry("a", 1, 0) + "," + float_entry("b", 2, 8) + "}"),
                  "tensor 'b' begins at 8"));
  BOOST_TEST(says(refusal_of_header("{" + float_entry("a", 2, 8) + "}"), "tensor 'a' begins at 8"));
  BOOST_TEST(says(refusal_of_header("{" + float_entry("a", 4, 0) + "}", 17),
                  "the tensors take 16 bytes; 17 follow the header"));
  BOOST_TEST(says(refusal_of_header("{" + float_entry("a", 4, 0) + "}", 15),
                  "the tensors take 16 bytes; 15 follow the header"));
}

BOOST_AUTO_TEST_CASE(a_file_cut_short_after_it_was_opened_is_an_error_while_reading) {
  memory_file written(safetensors_bytes("{" + float_entry("a", 4, 0) + "}", counting_floats(4)));
  const safetensors_file file(written.path());
  written.cut(20);
  std::vector<float> values(4);
  BOOST_TEST(says(refusal([&] { file.read(*file.find("a"), 0, std::as_writable_bytes(std::span(values))); }),
                  "was cut short"));
}

BOOST_AUTO_TEST_CASE(a_folder_is_read_through_its_index) {
  const temporary_folder folder;
  write_shards(folder);
  folder.write(shard_index_name,
               R"({"metadata":{"total_size":12},"weight_map":{"c":"two.safetensors","a":"one.safetensors",)"
               R"("b":"one.safetensors"}})");
  const safetensors_folder model(folder.path());
  BOOST_TEST(model.tensors().size() == 3U);
  BOOST_TEST(first_value(model, "a") == 1);
  BOOST_TEST(first_value(model, "b") == 2);
  BOOST_TEST(first_value(model, "c") == 3);
}

BOOST_AUTO_TEST_CASE(a_folder_with_one_file_needs_no_index) {
  const temporary_folder folder;
  BOOST_TEST(says(refusal_of_folder(folder), "holds neither model.safetensors nor model.safetensors.index.json"));
  folder.write("model.safetensors", safetensors_bytes("{" + float_entry("a", 1, 0) + "}", counting_floats(1, 5)));
  BOOST_TEST(first_value(safetensors_folder(folder.path()), "a") == 5);
}

BOOST_AUTO_TEST_CASE(one_file_counts_before_an_index_of_others) {
  const temporary_folder folder;
  write_shards(folder);
  folder.write(shard_index_name,
               R"({"weight_map":{"a":"one.safetensors","b":"one.safetensors","c":"two.safetensors"}})");
  BOOST_TEST(first_value(safetensors_folder(folder.path()), "a") == 1);
  folder.write("model.safetensors", safetensors_bytes("{" + float_entry("a", 1, 0) + "}", counting_floats(1, 5)));
  BOOST_TEST(first_value(safetensors_folder(folder.path()), "a") == 5);
}

BOOST_AUTO_TEST_CASE(an_index_may_not_leave_its_folder) {
  const temporary_folder folder;
  for (const auto* name : {"../one.safetensors", "/etc/passwd", "..", ".", "", "a/b", "a\\\\b", "a\\u0000b"}) {
    folder.write(shard_index_name, std::string(R"({"weight_map":{"a":")") + name + "\"}}");
    BOOST_TEST(says(refusal_of_folder(folder), "plain file names are allowed"), name);
  }
}

BOOST_AUTO_TEST_CASE(an_index_and_its_shards_must_agree) {
  const temporary_folder folder;
  write_shards(folder);
  const auto refused = [&](std::string_view index) {
    folder.write(shard_index_name, index);
    return refusal_of_folder(folder);
  };
  BOOST_TEST(says(refused("{}"), "has no object 'weight_map'"));
  BOOST_TEST(says(refused(R"({"weight_map":[]})"), "has no object 'weight_map'"));
  BOOST_TEST(says(refused(R"({"weight_map":{"a":7}})"), "gives tensor 'a' no file name"));
  BOOST_TEST(
      says(refused(R"({"weight_map":{"a":"two.safetensors","a":"one.safetensors"}})"), "key 'a' is there twice"));
  BOOST_TEST(says(refused(R"({"weight_map":{"a":"three.safetensors"}})"), "three.safetensors: cannot be opened"));
  BOOST_TEST(says(refused(R"({"weight_map":{"a":"one.safetensors"}})"), "tensor 'b' is not listed"));
  BOOST_TEST(says(refused(R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors","c":"two.safetensors"}})"),
                  "tensor 'b' is listed in model.safetensors.index.json as part of 'two.safetensors'"));
  BOOST_TEST(says(refused(R"({"weight_map":{"a":"one.safetensors","b":"one.safetensors","d":"one.safetensors"}})"),
                  "tensor 'd' is not in 'one.safetensors'"));
  folder.write("two.safetensors", safetensors_bytes("{" + float_entry("a", 1, 0) + "}", counting_floats(1)));
  BOOST_TEST(says(refused(R"({"weight_map":{"a":"one.safetensors","b":"one.safetensors","c":"two.safetensors"}})"),
                  "tensor 'a' is listed in model.safetensors.index.json as part of 'one.safetensors'"));
}

BOOST_AUTO_TEST_SUITE_END()
