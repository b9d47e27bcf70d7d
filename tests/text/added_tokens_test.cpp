// Added tokens with settings of every kind, compared with what Hugging Face `tokenizers` makes of them.
#include "../test_data.hpp"
#include "small_tokenizer.hpp"

#include <cogen/text/tokenizer.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/value_to.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace {

using namespace cogen;
using namespace cogen::text;

boost::json::array settings() {
  std::ifstream file(test::test_data() / "text/added_tokens.json");
  return boost::json::parse((std::ostringstream() << file.rdbuf()).str()).as_array();
}

/// Content that the vocabulary spells keeps its id there.
token id_of(const std::string& content, const tokenizer_spec& spec) {
  const auto spelled = std::find(spec.vocabulary.begin(), spec.vocabulary.end(), content);
  if (spelled != spec.vocabulary.end()) return static_cast<token>(spelled - spec.vocabulary.begin());
  const auto is_new = [&](const added_token& added) { return added.id >= std::ssize(spec.vocabulary); };
  return static_cast<token>(std::ssize(spec.vocabulary) + std::ranges::count_if(spec.added, is_new));
}

added_token added_of(const boost::json::object& fields, const tokenizer_spec& spec) {
  const std::string content(fields.at("content").as_string());
  return {.id = id_of(content, spec),
          .content = content,
          .special = fields.contains("special"),
          .lstrip = fields.contains("lstrip"),
          .rstrip = fields.contains("rstrip"),
          .normalized = fields.contains("normalized"),
          .single_word = fields.contains("single_word")};
}

tokenizer tokenizer_of(const boost::json::object& setting) {
  auto spec = small_spec({});
  for (const auto& each : setting.at("added").as_array()) spec.added.push_back(added_of(each.as_object(), spec));
  const auto& normalizer = setting.at("normalizer").as_string();
  if (normalizer == "lowercase") spec.normalizer = {unicode_form::lowercase};
  if (normalizer == "nfkd") spec.normalizer = {unicode_form::nfkd};
  return tokenizer(std::move(spec));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(added_tokens)

BOOST_AUTO_TEST_CASE(every_setting_of_added_tokens_agrees_with_the_reference) {
  std::size_t cases = 0;
  for (const auto& each : settings()) {
    const auto& setting = each.as_object();
    const auto tokens = tokenizer_of(setting);
    for (const auto& line : setting.at("cases").as_array()) {
      const std::string text(line.at("text").as_string());
      const auto ids = tokens.encode(text, {.parse_special = line.at("parse_special").as_bool()});
      BOOST_TEST_CONTEXT(setting.at("added") << ": \"" << text << '"')
      BOOST_TEST(ids == boost::json::value_to<std::vector<token>>(line.at("ids")), boost::test_tools::per_element());
      ++cases;
    }
  }
  BOOST_TEST(cases > 1000u);
}

BOOST_AUTO_TEST_CASE(space_that_an_earlier_token_took_is_an_added_token_again) {
  auto spec = small_spec({}, {"[R]", "  ", "[L]"});
  spec.added[0].rstrip = true;
  spec.added[2].lstrip = true;
  const tokenizer tokens(spec);
  const auto right = *tokens.find("[R]"), spaces = *tokens.find("  "), left = *tokens.find("[L]");
  const auto encoded = [&](std::string_view text) { return tokens.encode(text, {.parse_special = true}); };
  BOOST_TEST(encoded("[R]  y") == (std::vector<token>{right, spaces, 'y'}), boost::test_tools::per_element());
  BOOST_TEST(encoded("[R]   [L]") == (std::vector<token>{right, spaces, left}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
