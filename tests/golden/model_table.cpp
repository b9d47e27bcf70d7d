// model_table README.md: checks that the page has the table of models that the code makes, and prints it if not.
#include "../test_data.hpp"
#include "load/config_fields.hpp"
#include "load/family_fields.hpp"
#include "load/read_model_config.hpp"
#include "models/families.hpp"
#include "nn/device_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace cogen;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The descriptions of the golden models of each family.
std::map<std::string, std::vector<models::model_spec>> described_goldens() {
  std::map<std::string, std::vector<models::model_spec>> specs;
  for (const auto& entry : std::filesystem::directory_iterator(test::test_data() + "/golden")) {
    const auto path = entry.path() / "config.json";
    if (!std::filesystem::exists(path)) continue;
    const auto fields = load::config_fields::from_json(text_of(path), path.string());
    const auto config = load::read_model_config(fields);
    specs[config.family].push_back(models::family_named(config.family)(fields, config));
  }
  return specs;
}

bool runs(const models::model_spec& spec, bool every_part) {
  try {
    nn::refuse_what_it_lacks("device", every_part, spec);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

std::string devices_of(const std::vector<models::model_spec>& specs) {
  std::string devices = "CPU";
  for (const auto& [name, every_part] : {std::pair("reference", true), std::pair("CUDA", false)}) {
    const auto count = std::ranges::count_if(specs, [&](const auto& spec) { return runs(spec, every_part); });
    if (count == 0) continue;
    devices += fmt::format(", {}{}", name, count < static_cast<std::ptrdiff_t>(specs.size()) ? " in part" : "");
  }
  return devices;
}

std::string formats_of(std::string_view family) {
  return load::fields_of(family).gguf.known ? "Hugging Face folder, GGUF" : "Hugging Face folder";
}

/// One line for all families that are read and run alike.
std::string table() {
  const auto goldens = described_goldens();
  std::map<std::pair<std::string, std::string>, std::string> lines;
  for (const auto& name : models::family_names()) {
    const auto specs = goldens.find(std::string(name));
    if (specs == goldens.end()) throw std::runtime_error(fmt::format("tests/golden has no {} model", name));
    auto& titles = lines[{devices_of(specs->second), formats_of(name)}];
    titles += fmt::format("{}{}", titles.empty() ? "" : "; ", models::family_title(name));
  }
  std::vector<std::pair<std::pair<std::string, std::string>, std::string>> sorted(lines.begin(), lines.end());
  std::ranges::stable_sort(sorted,
                           [](const auto& a, const auto& b) { return a.first.first.size() > b.first.first.size(); });
  std::string made = "| models | formats | devices |\n|---|---|---|\n";
  for (const auto& [kind, titles] : sorted) made += fmt::format("| {} | {} | {} |\n", titles, kind.second, kind.first);
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
