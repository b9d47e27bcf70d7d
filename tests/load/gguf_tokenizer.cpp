// What a GGUF file says about vocabularies that are not byte-level.
#include "formats/checkpoint/gguf.hpp"
#include "formats/checkpoint/tokenizer_source.hpp"
#include "memory_file.hpp"
#include "refusal.hpp"
#include "tiny_model.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(gguf_tokenizers)
namespace {

using namespace cogen::load;

gguf_draft draft_with(std::vector<std::string> entries) {
  auto draft = tiny_llama();
  for (auto& entry : entries) draft.entries.push_back(std::move(entry));
  return draft;
}

cogen::text::gguf_vocabulary tokenizer_of(const gguf_draft& draft) {
  const memory_file written(draft.bytes());
  return read_gguf_vocabulary(gguf_file(written.path()));
}

std::string refusal_of(const std::string& entry) {
  return refusal([&] { tokenizer_of(draft_with({entry})); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(scores_replacements_ids_and_flags_are_read) {
  const auto tokenizer = tokenizer_of(
      draft_with({entry_array("tokenizer.ggml.scores", 6, 3, raw(-1.5F) + raw(0.F) + raw(2.F)),
                  entry_array("tokenizer.ggml.precompiled_charsmap", 0, 3, std::string("\x01\x00\xFF", 3)),
                  entry_u32("tokenizer.ggml.eot_token_id", 0), entry_u32("tokenizer.ggml.eom_token_id", 1),
                  entry_u32("tokenizer.ggml.cls_token_id", 1), entry_u32("tokenizer.ggml.seperator_token_id", 2),
                  entry_bool("tokenizer.ggml.add_space_prefix", false),
                  entry_bool("tokenizer.ggml.remove_extra_whitespaces", true),
                  entry_bool("tokenizer.ggml.normalizer.lowercase", false),
                  entry_bool("tokenizer.ggml.normalizer.strip_accents", true)}));
  BOOST_TEST(tokenizer.scores == (std::vector<float>{-1.5F, 0, 2}), boost::test_tools::per_element());
  BOOST_TEST(tokenizer.precompiled_charsmap == std::string("\x01\x00\xFF", 3));
  BOOST_TEST(tokenizer.eot.value() == 0);
  BOOST_TEST(tokenizer.eom.value() == 1);
  BOOST_TEST(tokenizer.cls.value() == 1);
  BOOST_TEST(tokenizer.separator.value() == 2);
  BOOST_TEST(!tokenizer.add_space_prefix.value());
  BOOST_TEST(tokenizer.remove_extra_whitespaces.value());
  BOOST_TEST(!tokenizer.lowercase.value());
  BOOST_TEST(tokenizer.strip_accents.value());
}

BOOST_AUTO_TEST_CASE(a_table_of_signed_bytes_is_the_same) {
  const auto entry = entry_array("tokenizer.ggml.precompiled_charsmap", 1, 2, "\xFE\x02");
  BOOST_TEST(tokenizer_of(draft_with({entry})).precompiled_charsmap == "\xFE\x02");
}

BOOST_AUTO_TEST_CASE(scores_may_be_integers) {
  const auto entry = entry_array("tokenizer.ggml.scores", 5, 3, raw(std::int32_t{-2}) + raw(0) + raw(7));
  BOOST_TEST(tokenizer_of(draft_with({entry})).scores == (std::vector<float>{-2, 0, 7}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_a_file_leaves_out_is_empty) {
  const auto tokenizer = tokenizer_of(tiny_llama());
  BOOST_TEST(tokenizer.scores.empty());
  BOOST_TEST(tokenizer.precompiled_charsmap.empty());
  BOOST_TEST(!tokenizer.eot.has_value());
  BOOST_TEST(!tokenizer.add_space_prefix.has_value());
  BOOST_TEST(!tokenizer.lowercase.has_value());
}

BOOST_AUTO_TEST_CASE(wrong_types_and_lengths_are_refused) {
  BOOST_TEST(says(refusal_of(entry_u32("tokenizer.ggml.scores", 1)), "tokenizer.ggml.scores has the wrong type"));
  BOOST_TEST(says(refusal_of(entry_array("tokenizer.ggml.scores", 6, 1, raw(1.F))),
                  "tokenizer.ggml.scores has 1 entries; tokenizer.ggml.tokens has 3"));
  BOOST_TEST(says(refusal_of(entry_text("tokenizer.ggml.precompiled_charsmap", "x")),
                  "tokenizer.ggml.precompiled_charsmap has the wrong type"));
  BOOST_TEST(
      says(refusal_of(entry_u32("tokenizer.ggml.cls_token_id", 3)), "cls_token_id is 3; an integer from 0 to 2"));
  BOOST_TEST(says(refusal_of(entry_u32("tokenizer.ggml.add_space_prefix", 1)), "tokenizer.ggml.add_space_prefix"));
}

BOOST_AUTO_TEST_SUITE_END()
