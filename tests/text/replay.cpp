// What the fuzzers begin from also runs as an ordinary test.
#include "../test_data.hpp"
#include "untrusted.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

BOOST_AUTO_TEST_SUITE(fuzzing_corpus)
namespace {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// With a few characters replaced by others of the same file.
std::string spoiled(std::string bytes, std::mt19937& draw) {
  for (int i = 0; i < 3; ++i) bytes[draw() % bytes.size()] = bytes[draw() % bytes.size()];
  return bytes;
}

void replay(const std::string& folder, void (*use)(std::string_view)) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(cogen::test::test_data() / "text" / folder)) {
    BOOST_TEST_CONTEXT(entry.path()) BOOST_CHECK_NO_THROW(use(content_of(entry.path())));
    ++files;
  }
  BOOST_TEST(files > 0);
}

}  // namespace

BOOST_AUTO_TEST_CASE(tokenizers_replay) { replay("corpus/tokenizer", use_as_tokenizer); }
BOOST_AUTO_TEST_CASE(charsmaps_replay) { replay("corpus/charsmap", use_as_charsmap); }
BOOST_AUTO_TEST_CASE(texts_replay) { replay("corpus/text", use_as_text); }
BOOST_AUTO_TEST_CASE(templates_replay) { replay("templates", use_as_template); }
BOOST_AUTO_TEST_CASE(patterns_replay) { replay("corpus/pattern", use_as_pattern); }
BOOST_AUTO_TEST_CASE(stop_strings_replay) { replay("corpus/stop_strings", use_as_stop_strings); }

BOOST_AUTO_TEST_CASE(steps_replay) { replay("corpus/steps", use_as_steps); }
BOOST_AUTO_TEST_CASE(gguf_vocabularies_replay) { replay("corpus/gguf_vocabulary", use_as_gguf_vocabulary); }

BOOST_AUTO_TEST_CASE(spoiled_tokenizers_are_refused_or_consistent) {
  std::mt19937 draw(11);
  for (const auto& entry : std::filesystem::directory_iterator(cogen::test::test_data() / "text/tokenizers")) {
    const auto whole = content_of(entry.path() / "tokenizer.json");
    for (int i = 0; i < 40; ++i) {
      BOOST_TEST_CONTEXT(entry.path() << " round " << i) {
        BOOST_CHECK_NO_THROW(use_as_tokenizer(std::string_view(whole).substr(0, draw() % whole.size())));
        BOOST_CHECK_NO_THROW(use_as_tokenizer(spoiled(whole, draw)));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(spoiled_charsmaps_are_refused_or_consistent) {
  std::mt19937 draw(12);
  const auto whole = content_of(cogen::test::test_data() / "text/corpus/charsmap/rules.bin");
  for (std::size_t size = 0; size < whole.size(); ++size) use_as_charsmap(std::string_view(whole).substr(0, size));
  for (int i = 0; i < 2000; ++i) use_as_charsmap(spoiled(whole, draw));
}

BOOST_AUTO_TEST_SUITE_END()
