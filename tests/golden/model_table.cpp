// model_table PAGE: checks that the page has the table of models that the code makes, and prints it if not.
#include "../test_data.hpp"
#include "formats/checkpoint/config_fields.hpp"
#include "formats/checkpoint/family_fields.hpp"
#include "formats/checkpoint/read_model_config.hpp"
#include "network/models/families.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

using namespace cogen;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Those of the golden models.
std::set<std::string, std::less<>> golden_families() {
  std::set<std::string, std::less<>> families;
  for (const auto& entry : std::filesystem::directory_iterator(test::test_data() / "golden")) {
    const auto path = entry.path() / "config.json";
    if (!std::filesystem::exists(path)) continue;
    families.insert(load::read_model_config(load::config_fields::from_json(text_of(path), path.string())).family);
  }
  return families;
}

/// One line for each family.
std::string table() {
  const auto goldens = golden_families();
  std::string lines = "| model | Hugging Face folder | GGUF |\n|---|---|---|\n";
  for (const auto& name : models::family_names()) {
    if (!goldens.contains(name)) throw std::runtime_error(fmt::format("tests/golden has no {} model", name));
    lines +=
        fmt::format("| {} | yes | {} |\n", models::family_title(name), load::fields_of(name).gguf.known ? "yes" : "");
  }
  return lines;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("usage: model_table PAGE");
    const auto expected = table();
    if (text_of(argv[1]).find(expected) != std::string::npos) return 0;
    std::cout << argv[1] << " does not have the table of models:\n\n" << expected;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
  }
  return 1;
}
