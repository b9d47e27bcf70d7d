// model_table README.md: checks that the page has the table of models that the code makes, and prints it if not.
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
  for (const auto& entry : std::filesystem::directory_iterator(test::test_data() + "/golden")) {
    const auto path = entry.path() / "config.json";
    if (!std::filesystem::exists(path)) continue;
    families.insert(load::read_model_config(load::config_fields::from_json(text_of(path), path.string())).family);
  }
  return families;
}

std::string formats_of(std::string_view family) {
  return load::fields_of(family).gguf.known ? "Hugging Face folder, GGUF" : "Hugging Face folder";
}

/// One line for all families that are read from the same formats.
std::string table() {
  const auto goldens = golden_families();
  std::map<std::string, std::string> lines;
  for (const auto& name : models::family_names()) {
    if (!goldens.contains(name)) throw std::runtime_error(fmt::format("tests/golden has no {} model", name));
    auto& titles = lines[formats_of(name)];
    titles += fmt::format("{}{}", titles.empty() ? "" : "; ", models::family_title(name));
  }
  std::string made = "| models | formats |\n|---|---|\n";
  for (const auto& [formats, titles] : lines) made += fmt::format("| {} | {} |\n", titles, formats);
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("usage: model_table README.md");
    const auto made = table();
    if (text_of(argv[1]).find(made) != std::string::npos) return 0;
    std::cout << argv[1] << " does not have the table of models:\n\n" << made;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
  }
  return 1;
}
