#include "test_data.hpp"

#include <cstdlib>

namespace cogen::test {

std::filesystem::path test_data() {
  const char* const moved = std::getenv("COGEN_TEST_DATA");
  return moved != nullptr ? moved : COGEN_TEST_DATA;
}

std::filesystem::path golden_folder(std::string_view name) { return test_data() / "golden" / name; }

std::filesystem::path fetched_data() { return COGEN_DEPS; }

std::filesystem::path default_model_file() { return fetched_data() / "model" / "SmolLM2-135M-Instruct.Q4_1.gguf"; }

}  // namespace cogen::test
