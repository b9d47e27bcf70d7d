// Tokenizers trained for the tests, compared with what Hugging Face `tokenizers` makes of the same texts.
#include "../test_data.hpp"
#include "reference_lines.hpp"
#include "tokenizer_of_model.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>

BOOST_AUTO_TEST_SUITE(references)

BOOST_AUTO_TEST_CASE(every_kind_of_tokenizer_agrees_with_its_reference) {
  std::size_t kinds = 0;
  for (const auto& entry : std::filesystem::directory_iterator(cogen::test::test_data() / "text/tokenizers")) {
    auto tokens = tokenizer_of_model(entry.path());
    auto lines = read_reference_lines(entry.path() / "strings.jsonl");
    BOOST_TEST(lines.size() > 100u);
    for (const auto& line : lines) {
      BOOST_TEST_CONTEXT(entry.path().filename() << ": " << line.text) BOOST_TEST(difference(*tokens, line) == "");
    }
    ++kinds;
  }
  BOOST_TEST(kinds == 17u);
}

BOOST_AUTO_TEST_SUITE_END()
