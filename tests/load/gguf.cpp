#include "formats/checkpoint/gguf.hpp"

#include "../test_data.hpp"
#include "../thread_group.hpp"
#include "gguf_draft.hpp"
#include "memory_file.hpp"
#include "refusal.hpp"
#include "tiny_model.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <numeric>

using namespace cogen::load;

namespace {

std::string gguf_refusal(const gguf_draft& draft) {
  const memory_file file(draft.bytes());
  return refusal([&] { gguf_file read(file.path()); });
}

template <class T>
const T& value(const gguf_file& file, std::string_view key) {
  const auto* found = file.metadata(key);
  BOOST_REQUIRE_MESSAGE(found != nullptr, key);
  BOOST_REQUIRE_MESSAGE(std::holds_alternative<T>(*found), key << " has another type");
  return std::get<T>(*found);
}

gguf_draft with_value(std::uint32_t type, std::string_view bytes) {
  gguf_draft draft;
  draft.entries.push_back(entry("k", type, bytes));
  return draft;
}

gguf_draft two_vectors() {
  gguf_draft draft;
  draft.add("a", {3}, 0, counting_floats(3));
  draft.add("b", {4}, 0, counting_floats(4));
  return draft;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gguf)

BOOST_AUTO_TEST_CASE(scalars_of_every_type_are_read) {
  gguf_draft draft;
  draft.entries = {entry("u8", 0, raw(std::uint8_t{200})),
                   entry("i8", 1, raw(std::int8_t{-3})),
                   entry("u16", 2, raw(std::uint16_t{60000})),
                   entry("i16", 3, raw(std::int16_t{-300})),
                   entry("u32", 4, raw(std::uint32_t{4000000000})),
                   entry("i32", 5, raw(std::int32_t{-70000})),
                   entry("f32", 6, raw(0.25F)),
                   entry("bool", 7, raw(std::uint8_t{1})),
                   entry("text", 8, raw_text(std::string_view("a\0b", 3))),
                   entry("u64", 10, raw(std::uint64_t{1} << 63)),
                   entry("i64", 11, raw(std::int64_t{-1} << 40)),
                   entry("f64", 12, raw(-0.1))};
  const memory_file written(draft.bytes());
  const gguf_file file(written.path());
  BOOST_TEST(value<std::uint8_t>(file, "u8") == 200);
  BOOST_TEST(value<std::int8_t>(file, "i8") == -3);
  BOOST_TEST(value<std::uint16_t>(file, "u16") == 60000);
  BOOST_TEST(value<std::int16_t>(file, "i16") == -300);
  BOOST_TEST(value<std::uint32_t>(file, "u32") == 4000000000);
  BOOST_TEST(value<std::int32_t>(file, "i32") == -70000);
  BOOST_TEST(value<float>(file, "f32") == 0.25F);
  BOOST_TEST(value<bool>(file, "bool"));
  BOOST_TEST(value<std::string>(file, "text") == std::string("a\0b", 3));
  BOOST_TEST(value<std::uint64_t>(file, "u64") == std::uint64_t{1} << 63);
  BOOST_TEST(value<std::int64_t>(file, "i64") == -(std::int64_t{1} << 40));
  BOOST_TEST(value<double>(file, "f64") == -0.1);
  BOOST_TEST(file.keys().size() == 12U);
  BOOST_TEST(file.metadata("absent") == nullptr);
}

BOOST_AUTO_TEST_CASE(numbers_widen_where_they_fit) {
  BOOST_TEST(as_integer(gguf_value(std::uint8_t{7})).value() == 7);
  BOOST_TEST(as_integer(gguf_value(std::int64_t{-7})).value() == -7);
  BOOST_TEST(!as_integer(gguf_value(std::uint64_t{1} << 63)));
  BOOST_TEST(!as_integer(gguf_value(1.0F)));
  BOOST_TEST(!as_integer(gguf_value(true)));
  BOOST_TEST(as_real(gguf_value(std::uint32_t{3})).value() == 3.0);
  BOOST_TEST(as_real(gguf_value(0.5F)).value() == 0.5);
  BOOST_TEST(!as_real(gguf_value(std::string("1"))));
}

BOOST_AUTO_TEST_CASE(a_file_of_the_gguf_package_is_read) {
  const gguf_file file(cogen::test::test_data() / "load/data/package.gguf");
  BOOST_TEST(file.version() == 3U);
  BOOST_TEST(value<std::string>(file, "general.architecture") == "llama");
  BOOST_TEST(value<std::uint32_t>(file, "llama.embedding_length") == 32U);
  BOOST_TEST(
      value<cogen::json::string_list>(file, "tokenizer.ggml.tokens").strings() == (std::vector<std::string>{"a", "b",
                                                                                                            "\xC4\xA0"
                                                                                                            "c"}),
      boost::test_tools::per_element());
  BOOST_TEST(value<std::vector<bool>>(file, "test.flags") == (std::vector<bool>{true, false, true}),
             boost::test_tools::per_element());
  BOOST_TEST(value<std::vector<float>>(file, "test.reals") == (std::vector<float>{0.5F, -1.25F}),
             boost::test_tools::per_element());
  BOOST_TEST(value<std::int64_t>(file, "test.large") == -(std::int64_t{1} << 40));

  const auto* embedding = file.find("token_embd.weight");
  BOOST_REQUIRE(embedding != nullptr);
  BOOST_TEST(embedding->shape == (std::vector<std::int64_t>{3, 32}), boost::test_tools::per_element());
  BOOST_TEST((embedding->type == cogen::element_type::f16));
  const auto* query = file.find("blk.0.attn_q.weight");
  BOOST_REQUIRE(query != nullptr);
  BOOST_TEST((query->type == cogen::element_type::q8_0));
  BOOST_TEST(query->bytes == 32U * 34U);
  const auto* norm = file.find("output_norm.weight");
  BOOST_REQUIRE(norm != nullptr);
  std::vector<float> read(32);
  file.read(*norm, 0, std::as_writable_bytes(std::span(read)));
  BOOST_TEST(read[31] == 31);
}

BOOST_AUTO_TEST_CASE(a_part_of_a_tensor_is_read) {
  const memory_file written(two_vectors().bytes());
  const gguf_file file(written.path());
  const auto& second = file.tensors()[1];
  std::vector<float> part(2);
  file.read(second, 4, std::as_writable_bytes(std::span(part)));
  BOOST_TEST(part == (std::vector<float>{1, 2}), boost::test_tools::per_element());
  BOOST_CHECK_THROW(file.read(second, 12, std::as_writable_bytes(std::span(part))), std::out_of_range);
  BOOST_CHECK_THROW(file.read(second, ~std::uint64_t{0}, std::as_writable_bytes(std::span(part))), std::out_of_range);
}

BOOST_AUTO_TEST_CASE(version_2_is_read_as_well) {
  auto draft = two_vectors();
  draft.version = 2;
  const memory_file written(draft.bytes());
  BOOST_TEST(gguf_file(written.path()).tensors().size() == 2U);
}

BOOST_AUTO_TEST_CASE(the_file_may_choose_its_alignment) {
  gguf_draft draft;
  draft.alignment = 128;
  draft.entries.push_back(entry_u32("general.alignment", 128));
  draft.add("a", {3}, 0, counting_floats(3));
  draft.add("b", {2}, 0, counting_floats(2, 7));
  const memory_file written(draft.bytes());
  const gguf_file file(written.path());
  BOOST_TEST(file.tensors()[1].begin % 128 == 0U);
  float first = 0;
  file.read(file.tensors()[1], 0, std::as_writable_bytes(std::span(&first, 1)));
  BOOST_TEST(first == 7);
}

BOOST_AUTO_TEST_CASE(padding_may_follow_the_last_tensor_but_nothing_more) {
  auto draft = two_vectors();
  draft.data.resize(64);
  BOOST_TEST(gguf_refusal(draft) == "nothing was refused");
  draft.data.resize(65);
  BOOST_TEST(says(gguf_refusal(draft), "its last tensor ends at byte"));
}

BOOST_AUTO_TEST_CASE(a_file_cut_short_after_it_was_opened_is_an_error_while_reading) {
  const auto bytes = two_vectors().bytes();
  memory_file written(bytes);
  const gguf_file file(written.path());
  written.cut(bytes.size() - 5);
  std::vector<float> read(4);
  BOOST_TEST(says(refusal([&] { file.read(file.tensors()[1], 0, std::as_writable_bytes(std::span(read))); }),
                  "was cut short"));
  written.assign(bytes);
  file.read(file.tensors()[1], 0, std::as_writable_bytes(std::span(read)));
  BOOST_TEST(read[3] == 3);
}

BOOST_AUTO_TEST_CASE(threads_may_read_at_once) {
  gguf_draft draft;
  draft.add("a", {1024}, 0, counting_floats(1024));
  const memory_file written(draft.bytes());
  const gguf_file file(written.path());
  std::vector<float> sums(4);
  {
    cogen::test::thread_group threads;
    for (auto& sum : sums) {
      threads.start([&file, &sum] {
        std::vector<float> values(1024);
        for (std::uint64_t i = 0; i < values.size(); ++i) {
          file.read(*file.find("a"), i * sizeof(float), std::as_writable_bytes(std::span(values).subspan(i, 1)));
        }
        sum = std::accumulate(values.begin(), values.end(), 0.0F);
      });
    }
  }
  for (const float sum : sums) BOOST_TEST(sum == 1024 * 1023 / 2);
}

BOOST_AUTO_TEST_CASE(a_wrong_beginning_is_refused) {
  auto draft = two_vectors();
  draft.magic = "GGML";
  BOOST_TEST(says(gguf_refusal(draft), "does not begin with 'GGUF'"));
  draft = two_vectors();
  draft.version = 1;
  BOOST_TEST(says(gguf_refusal(draft), "version 1 is not read; 2 and 3 are"));
  draft.version = 4;
  BOOST_TEST(says(gguf_refusal(draft), "version 4 is not read"));
  draft.version = 3U << 24;
  BOOST_TEST(says(gguf_refusal(draft), "big-endian"));
  const memory_file empty;
  BOOST_TEST(says(refusal([&] { gguf_file file(empty.path()); }), "the file ends within the magic number"));
  BOOST_TEST(says(refusal([&] { gguf_file file("/nonexistent/model.gguf"); }),
                  "/nonexistent/model.gguf: cannot be opened: No such file"));
  BOOST_TEST(says(refusal([&] { gguf_file file("/tmp"); }), "is not a regular file"));
}

BOOST_AUTO_TEST_CASE(counts_beyond_the_file_are_refused_before_anything_is_allocated) {
  auto draft = two_vectors();
  draft.tensor_count = 1'000'000'000;
  BOOST_TEST(says(gguf_refusal(draft), "the number of tensors is 1000000000; at most 1048576 are read"));
  draft.tensor_count = 1'000'000;
  BOOST_TEST(says(gguf_refusal(draft), "the number of tensors is 1000000, which needs at least 32 bytes each"));
  draft = two_vectors();
  draft.entry_count = std::uint64_t{1} << 63;
  BOOST_TEST(says(gguf_refusal(draft), "the number of metadata entries is 9223372036854775808"));
  draft.entry_count = 60000;
  BOOST_TEST(says(gguf_refusal(draft), "bytes remain in the file"));
  BOOST_TEST(
      says(gguf_refusal(with_value(8, raw(std::uint64_t{1} << 25))), "the value has 33554432 bytes; 0 bytes remain"));
  BOOST_TEST(
      says(gguf_refusal(with_value(8, raw(~std::uint64_t{0}))), "the value has 18446744073709551615 bytes; at most"));
  BOOST_TEST(says(gguf_refusal(with_value(9, raw(std::uint32_t{8}) + raw(std::uint64_t{1'000'000'000}))),
                  "the array's length is 1000000000"));
  BOOST_TEST(says(gguf_refusal(with_value(9, raw(std::uint32_t{12}) + raw(std::uint64_t{1} << 28))),
                  "needs at least 8 bytes each"));
  BOOST_TEST(says(gguf_refusal(with_value(9, raw(std::uint32_t{12}) + raw(std::uint64_t{1} << 61))),
                  "at most 268435456 are read"));
}

BOOST_AUTO_TEST_CASE(wrong_metadata_are_refused) {
  BOOST_TEST(says(gguf_refusal(with_value(13, "")), "metadata entry 0 ('k'): value type 13 is not one of GGUF's"));
  BOOST_TEST(says(gguf_refusal(with_value(7, raw(std::uint8_t{2}))), "a boolean is 2"));
  BOOST_TEST(says(gguf_refusal(with_value(9, raw(std::uint32_t{9}) + raw(std::uint64_t{1}))),
                  "arrays of arrays are not read"));
  BOOST_TEST(
      says(gguf_refusal(with_value(9, raw(std::uint32_t{7}) + raw(std::uint64_t{2}) + raw(std::uint16_t{0x0201}))),
           "a boolean is 2"));
  gguf_draft draft;
  draft.entries = {entry_u32("twice", 1), entry_u32("twice", 1)};
  BOOST_TEST(says(gguf_refusal(draft), "metadata key 'twice' is there twice"));
  draft.entries = {entry_u32("", 1)};
  BOOST_TEST(says(gguf_refusal(draft), "the key is empty"));
  draft.entries = {entry_u32(std::string(70000, 'k'), 1)};
  BOOST_TEST(says(gguf_refusal(draft), "the key has 70000 bytes; at most 65535"));
  draft.entries = {entry("\x1B[31m'\n", 13, "")};
  BOOST_TEST(says(gguf_refusal(draft), R"('\x1b[31m\x27\x0a')"));
}

BOOST_AUTO_TEST_CASE(wrong_alignments_are_refused) {
  auto draft = two_vectors();
  draft.entries = {entry_u32("general.alignment", 0)};
  BOOST_TEST(says(gguf_refusal(draft), "general.alignment is 0; powers of two"));
  draft.entries = {entry_u32("general.alignment", 24)};
  BOOST_TEST(says(gguf_refusal(draft), "general.alignment is 24"));
  draft.entries = {entry_u32("general.alignment", 1U << 31)};
  BOOST_TEST(says(gguf_refusal(draft), "general.alignment is 2147483648"));
  draft.entries = {entry_text("general.alignment", "32")};
  BOOST_TEST(says(gguf_refusal(draft), "general.alignment has another type"));
}

BOOST_AUTO_TEST_CASE(wrong_tensors_are_refused) {
  auto draft = two_vectors();
  draft.tensors[1].name = "a";
  BOOST_TEST(says(gguf_refusal(draft), "tensor 'a' is there twice"));
  draft.tensors[1].name = "";
  BOOST_TEST(says(gguf_refusal(draft), "tensor '': the name is empty"));
  draft = two_vectors();
  draft.tensors[1].dimensions = {};
  BOOST_TEST(says(gguf_refusal(draft), "tensor 'b': it has 0 dimensions; 1 to 4"));
  draft.tensors[1].dimensions = {4, 1, 1, 1, 1};
  BOOST_TEST(says(gguf_refusal(draft), "it has 5 dimensions"));
  draft.tensors[1].dimensions = {0};
  BOOST_TEST(says(gguf_refusal(draft), "dimension 0 is 0; 1 to 4294967295"));
  draft.tensors[1].dimensions = {4, std::uint64_t{1} << 32};
  BOOST_TEST(says(gguf_refusal(draft), "dimension 1 is 4294967296"));
  draft.tensors[1].dimensions = {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF};
  BOOST_TEST(says(gguf_refusal(draft), "does not fit 64 bits"));
  draft.tensors[1].dimensions = {0x80000000, 0x80000000};
  BOOST_TEST(says(gguf_refusal(draft), "does not fit 64 bits"));
  draft.tensors[1].dimensions = {0x40000000, 0x40000000};
  BOOST_TEST(says(gguf_refusal(draft), "tensor 'b' needs 4611686018427387904 bytes"));
  draft = two_vectors();
  draft.tensors[1].type = 15;
  BOOST_TEST(says(gguf_refusal(draft), "tensor 'b': GGML type 15 (Q8_K) is not read"));
  draft.tensors[1].type = 1000;
  BOOST_TEST(says(gguf_refusal(draft), "GGML type 1000 (unknown)"));
  draft.tensors[1].type = 3;
  BOOST_TEST(says(gguf_refusal(draft), "rows of 4 elements are no whole number of q4_1 blocks of 32"));
}

BOOST_AUTO_TEST_CASE(tensors_that_overlap_leave_holes_or_point_outside_are_refused) {
  auto draft = two_vectors();
  draft.tensors[1].offset = 0;
  BOOST_TEST(
      says(gguf_refusal(draft), "tensor 'b' has offset 0; the tensor before it and an alignment of 32 make it 32"));
  draft.tensors[1].offset = 33;
  BOOST_TEST(says(gguf_refusal(draft), "has offset 33"));
  draft.tensors[1].offset = 64;
  BOOST_TEST(says(gguf_refusal(draft), "has offset 64"));
  draft.tensors[1].offset = ~std::uint64_t{0} - 31;
  BOOST_TEST(says(gguf_refusal(draft), "has offset 18446744073709551584"));
  draft = two_vectors();
  draft.data.resize(40);
  BOOST_TEST(says(gguf_refusal(draft), "tensor 'b' needs 16 bytes"));
  draft.data.clear();
  BOOST_TEST(says(gguf_refusal(draft), "tensor 'a' needs 12 bytes"));
}

BOOST_AUTO_TEST_SUITE_END()
