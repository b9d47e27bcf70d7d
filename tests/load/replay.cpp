#include "../test_data.hpp"
#include "readers.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

void replay(const std::string& reader, void (*read)(std::string_view)) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(cogen::test::test_data() / "load/corpus" / reader)) {
    BOOST_TEST_CONTEXT(entry.path()) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes(std::istreambuf_iterator<char>(file), {});
      BOOST_CHECK_NO_THROW(read(bytes));
    }
    ++files;
  }
  BOOST_TEST(files > 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fuzzing_corpus)

BOOST_AUTO_TEST_CASE(gguf_files_replay) { replay("gguf", read_as_gguf); }
BOOST_AUTO_TEST_CASE(parts_of_gguf_files_replay) { replay("gguf_parts", read_as_gguf_parts); }
BOOST_AUTO_TEST_CASE(safetensors_files_replay) { replay("safetensors", read_as_safetensors); }
BOOST_AUTO_TEST_CASE(shard_indices_replay) { replay("shard_index", read_as_shard_index); }
BOOST_AUTO_TEST_CASE(configurations_replay) { replay("config", read_as_config); }

BOOST_AUTO_TEST_SUITE_END()
