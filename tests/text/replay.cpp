// What the fuzzers begin from also runs as an ordinary test.
#include "untrusted.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

void replay(const std::string& folder, void (*use)(std::string_view)) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(COGEN_TEST_DATA "/text/" + folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(file), {});
    BOOST_TEST_CONTEXT(entry.path()) BOOST_CHECK_NO_THROW(use(bytes));
    ++files;
  }
  BOOST_TEST(files > 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fuzzing_corpus)

BOOST_AUTO_TEST_CASE(tokenizers_replay) { replay("corpus/tokenizer", use_as_tokenizer); }
BOOST_AUTO_TEST_CASE(texts_replay) { replay("corpus/text", use_as_text); }
BOOST_AUTO_TEST_CASE(templates_replay) { replay("templates", use_as_template); }
BOOST_AUTO_TEST_CASE(patterns_replay) { replay("corpus/pattern", use_as_pattern); }
BOOST_AUTO_TEST_CASE(stop_strings_replay) { replay("corpus/stop_strings", use_as_stop_strings); }

BOOST_AUTO_TEST_SUITE_END()
