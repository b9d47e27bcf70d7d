// model_table [--write] MODELS TYPES: checks that one page has the table of models that the code makes, and that the
// other says of each model type of Transformers whether it is read; prints what is missing, or writes it.
#include "../test_data.hpp"
#include "formats/checkpoint/config_fields.hpp"
#include "formats/checkpoint/family_fields.hpp"
#include "formats/checkpoint/read_model_config.hpp"
#include "network/models/families.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
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
#include <vector>

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

/// One section for each kind of model: which of its types are read, and which are not.
std::string model_types() {
  const auto types = boost::json::parse(text_of(test::test_data() / "golden/model_types.json"));
  const auto families = models::family_names();
  std::string text = fmt::format(
      "# Model types\n\nWhat [Transformers](https://github.com/huggingface/transformers) {} calls `model_type` in the\n"
      "`config.json` of a folder, for all of its models that read or write text. Of models with pictures or sounds "
      "cogen\n"
      "reads the text half. [Models](models.md) lists what is read by the names of the models.\n",
      types.at("transformers").as_string());
  for (const auto& [kind, names] : types.at("kinds").as_object()) {
    std::vector<std::string> read, unread;
    for (const auto& name : names.as_array()) {
      const std::string_view type = name.as_string();
      (std::ranges::find(families, type) != families.end() ? read : unread).push_back(fmt::format("`{}`", type));
    }
    std::string title(kind);
    title.front() = static_cast<char>(std::toupper(title.front()));
    text += fmt::format("\n## {}\n\n", title);
    if (!read.empty()) text += fmt::format("{} are read: {}.\n\n", read.size(), fmt::join(read, ", "));
    text += fmt::format("{} are not: {}.\n", unread.size(), fmt::join(unread, ", "));
  }
  return text;
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

/// The page with the table in the place of the one that it has.
std::string models_page(const std::string& page) {
  const auto lines = table();
  const auto begin = page.find(lines.substr(0, lines.find('\n') + 1));
  if (begin == std::string::npos) throw std::runtime_error("the page of models has no table of models");
  const auto end = page.find("\n\n", begin);
  return page.substr(0, begin) + lines + (end == std::string::npos ? "" : page.substr(end + 1));
}

/// Whether the page is what the code makes, or now is.
bool is_right(const std::filesystem::path& path, const std::string& expected, bool writes) {
  if (std::filesystem::exists(path) && text_of(path) == expected) return true;
  if (writes) return static_cast<bool>(std::ofstream(path, std::ios::binary) << expected);
  std::cout << path.string() << " is not what the code makes; tests/model_table --write makes it so:\n\n" << expected;
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const bool writes = arguments.size() == 3 && arguments.front() == "--write";
    if (!writes && arguments.size() != 2) throw std::runtime_error("usage: model_table [--write] MODELS TYPES");
    const auto &models = arguments.at(writes), &types = arguments.at(writes + 1);
    const bool has_table = is_right(models, models_page(text_of(models)), writes);
    return is_right(types, model_types(), writes) && has_table ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
  }
  return 1;
}
