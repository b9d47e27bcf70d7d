// What Hugging Face `tokenizers` and sentencepiece make of 2,000 texts, by hash.
#include "../test_data.hpp"
#include "formats/text/base64.hpp"
#include "formats/text/gguf_pre_tokenizers.hpp"
#include "formats/text/normalizer.hpp"
#include "formats/text/pre_tokenizer.hpp"
#include "hashed_texts.hpp"
#include "tokenizer_of_model.hpp"

#include <cogen/text/tokenizer.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/value_to.hpp>
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

BOOST_AUTO_TEST_SUITE(hashed_references)
namespace {

using namespace cogen;
using namespace cogen::text;
using strings = std::vector<std::string>;

const std::filesystem::path folder = test::test_data() / "text";

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::move(std::ostringstream() << file.rdbuf()).str();
}

boost::json::value json_of(const std::filesystem::path& path) { return boost::json::parse(content_of(path)); }

strings lines_of(const std::filesystem::path& path) {
  std::istringstream content(content_of(path));
  strings lines;
  for (std::string line; std::getline(content, line);) lines.push_back(line);
  return lines;
}

std::string listed(const std::vector<token>& ids) {
  std::string list;
  for (auto id : ids) list += (list.empty() ? "" : " ") + std::to_string(id);
  return list;
}

std::string joined_pieces(const tokenizer& tokens, const std::vector<token>& ids) {
  detokenizer pieces(tokens);
  std::string text;
  for (auto id : ids) text += pieces.push(id);
  return text + pieces.flush();
}

/// A vocabulary as a GGUF file holds it.
gguf_vocabulary vocabulary_of(const boost::json::object& fields) {
  gguf_vocabulary vocabulary{.model = std::string(fields.at("model").as_string()),
                             .tokens = boost::json::value_to<strings>(fields.at("tokens")),
                             .token_types = boost::json::value_to<std::vector<std::int32_t>>(fields.at("types"))};
  const auto id = [&](std::string_view key) {
    auto* found = fields.if_contains(key);
    return found ? std::optional(static_cast<token>(found->as_int64())) : std::nullopt;
  };
  const auto flag = [&](std::string_view key) {
    auto* found = fields.if_contains(key);
    return found ? std::optional(found->as_bool()) : std::nullopt;
  };
  if (auto* found = fields.if_contains("merges")) vocabulary.merges = boost::json::value_to<strings>(*found);
  if (auto* found = fields.if_contains("scores")) vocabulary.scores = boost::json::value_to<std::vector<float>>(*found);
  if (auto* found = fields.if_contains("precompiled_charsmap"))
    vocabulary.precompiled_charsmap = *decoded_base64(found->as_string());
  vocabulary.bos = id("bos");
  vocabulary.eos = id("eos");
  vocabulary.unknown = id("unknown");
  vocabulary.cls = id("cls");
  vocabulary.separator = id("separator");
  vocabulary.add_space_prefix = flag("add_space_prefix");
  vocabulary.remove_extra_whitespaces = flag("remove_extra_whitespaces");
  return vocabulary;
}

std::string pieces_of(const normalizer& normalize, const pre_tokenizer& split, const std::string& text) {
  text_budget budget(text.size());
  auto parts = split(normalize(text, budget), true, budget);
  std::string pieces;
  for (auto piece : parts.pieces) (pieces += piece.slice(parts.text)) += '\xFF';
  return pieces;
}

}  // namespace

BOOST_AUTO_TEST_CASE(tokenizer_files_encode_and_decode_as_their_reference) {
  std::size_t kinds = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "tokenizers")) {
    const auto tokens = tokenizer_of_model(entry.path());
    const auto different = different_blocks(lines_of(entry.path() / "hashes.txt"), [&](auto& hash, const auto& text) {
      const auto ids = tokens->encode(text, {.add_special = true, .parse_special = true});
      const auto decoded = tokens->decode(ids, true);
      hash.add(listed(ids));
      hash.add(decoded);
      BOOST_TEST(joined_pieces(*tokens, ids) == decoded);
    });
    BOOST_TEST(different == "", entry.path().filename() << " differs in blocks" << different);
    ++kinds;
  }
  BOOST_TEST(kinds == 17u);
}

BOOST_AUTO_TEST_CASE(gguf_vocabularies_encode_as_their_reference) {
  std::size_t kinds = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "vocabularies")) {
    const auto fields = json_of(entry.path()).as_object();
    const auto tokens = tokenizer::from_gguf(vocabulary_of(fields));
    const auto hashes = boost::json::value_to<strings>(fields.at("hashes"));
    const auto different = different_blocks(hashes, [&](auto& hash, const auto& text) {
      const auto ids = tokens.encode(text);
      hash.add(listed(ids));
      BOOST_TEST(joined_pieces(tokens, ids) == tokens.decode(ids, true));
    });
    BOOST_TEST(different == "", entry.path().filename() << " differs in blocks" << different);
    ++kinds;
  }
  BOOST_TEST(kinds == 7u);
}

BOOST_AUTO_TEST_CASE(gguf_pre_tokenizers_split_as_their_reference) {
  const auto splits = json_of(folder / "splits.json").as_object();
  for (const auto& [name, hashes] : splits) {
    tokenizer_spec spec;
    pre_tokenizer_named(name).apply(spec);
    if (std::holds_alternative<byte_level_step>(spec.pre_tokenizer.back())) spec.pre_tokenizer.pop_back();
    const normalizer normalize(spec.normalizer);
    const pre_tokenizer split(spec.pre_tokenizer);
    const auto different = different_blocks(boost::json::value_to<strings>(hashes), [&](auto& hash, const auto& text) {
      hash.add(pieces_of(normalize, split, text));
    });
    BOOST_TEST(different == "", name << " differs in blocks" << different);
  }
}

BOOST_AUTO_TEST_SUITE_END()
