// schema_check PATH...: walks the instances of JSON schemas through their guides, token by token.
#include "../test_data.hpp"
#include "answers/grammar/compiler.hpp"
#include "formats/json/parse.hpp"
#include "json_texts.hpp"
#include "text/tokenizer_of_model.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace json = boost::json;
using cogen::grammar::compiled_grammar;

constexpr const char* usage = R"(usage: schema_check [--model MODEL] [--verbose] PATH...

Each PATH is a .jsonl file whose lines are {"schema": ..., "tests": [{"data": ..., "valid": true or false}, ...]}, a
.json file with one such object, as MaskBench has them, or a folder of such files. Compiles each schema, and walks each
instance through its guide, written without spaces and with those that JSON allows, token by token of the model's
tokenizer. An instance counts as accepted if one of both texts is, and as rejected if one of both is. Ends with

  compiled N refused R instances I wrongly_accepted A wrongly_rejected J mask_us_p50 P mask_us_p99 Q

and fails if an instance was accepted that is not valid.

--model MODEL  a GGUF file, a model's folder or a tokenizer.json, instead of the default model
--verbose      also prints why schemas are refused, and which valid instances are rejected
)";

struct settings {
  std::filesystem::path model = cogen::test::default_model_file();
  std::vector<std::filesystem::path> paths = {};
  bool verbose = false;
};

class check {
 public:
  check(const std::shared_ptr<const cogen::text::tokenizer>& tokens, bool verbose)
      : tokens_(*tokens), compiler_(tokens), allowed_((tokens->size() + 63) / 64), verbose_(verbose) {}

  /// `name` is what messages call it.
  void run(const json::value& schema, const json::array& tests, const std::string& name) {
    std::shared_ptr<const compiled_grammar> grammar;
    try {
      grammar = compiler_.compile(cogen::json_schema(json::serialize(schema)));
    } catch (const std::invalid_argument& error) {
      ++refused_;
      if (verbose_) std::cout << name << " refused: " << error.what() << '\n';
      return;
    }
    ++compiled_;
    for (const auto& test : tests) walk(*grammar, test, name);
  }

  int report() {
    std::ranges::sort(mask_us_);
    std::printf(
        "compiled %d refused %d instances %d wrongly_accepted %d wrongly_rejected %d mask_us_p50 %.1f mask_us_p99 "
        "%.1f\n",
        compiled_, refused_, instances_, wrongly_accepted_, wrongly_rejected_, quantile(0.5), quantile(0.99));
    return wrongly_accepted_ == 0 ? 0 : 1;
  }

 private:
  void walk(const compiled_grammar& grammar, const json::value& test, const std::string& name) {
    const bool valid = test.at("valid").as_bool();
    const auto compact = json_text(test.at("data"), false), spaced = json_text(test.at("data"), true);
    const bool accepts_compact = accepts(grammar, compact), accepts_spaced = accepts(grammar, spaced);
    ++instances_;
    if (!valid && (accepts_compact || accepts_spaced)) {
      ++wrongly_accepted_;
      std::cout << name << " accepts " << compact << '\n';
    }
    if (valid && !(accepts_compact && accepts_spaced)) {
      ++wrongly_rejected_;
      if (verbose_) std::cout << name << " rejects " << compact << '\n';
    }
  }

  bool accepts(const compiled_grammar& grammar, const std::string& text) {
    auto guide = grammar.start();
    for (const auto id : tokens_.encode(text)) {
      const auto start = std::chrono::steady_clock::now();
      const bool limited = guide->allow(allowed_);
      mask_us_.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
      const auto place = static_cast<std::size_t>(id);
      if (limited && (allowed_[place / 64] >> place % 64 & 1) == 0) return false;
      guide->accept(id);
    }
    return guide->is_complete();
  }

  double quantile(double share) const {
    if (mask_us_.empty()) return 0;
    return mask_us_[static_cast<std::size_t>(share * static_cast<double>(mask_us_.size() - 1))];
  }

  const cogen::text::tokenizer& tokens_;
  cogen::grammar::compiler compiler_;
  std::vector<std::uint64_t> allowed_;
  std::vector<double> mask_us_;
  bool verbose_;
  int compiled_ = 0, refused_ = 0, instances_ = 0, wrongly_accepted_ = 0, wrongly_rejected_ = 0;
};

settings read_settings(int argc, char** argv) {
  settings result;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--verbose") {
      result.verbose = true;
    } else if (argument == "--model" && i + 1 < argc) {
      result.model = argv[++i];
    } else if (argument.starts_with('-')) {
      throw std::invalid_argument("the argument " + std::string(argument) + " is not understood; --help explains all");
    } else {
      result.paths.emplace_back(argument);
    }
  }
  if (result.paths.empty()) throw std::invalid_argument("a PATH is needed; --help explains all");
  return result;
}

void run_text(check& checks, const std::string& text, const std::string& name) {
  const auto parsed = cogen::json::parse(text, name);
  const auto* members = parsed.if_object();
  const auto* schema = members ? members->if_contains("schema") : nullptr;
  const auto* tests = members ? members->if_contains("tests") : nullptr;
  if (!schema || !tests || !tests->is_array())
    throw std::runtime_error(name + " must be an object with schema and tests");
  checks.run(*schema, tests->get_array(), name);
}

void run_file(check& checks, const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path.string() + " cannot be read");
  if (path.extension() == ".json")
    return run_text(checks, {std::istreambuf_iterator<char>(file), {}}, path.filename().string());
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number)
    if (!line.empty()) run_text(checks, line, path.filename().string() + " line " + std::to_string(number));
}

std::vector<std::filesystem::path> files_of(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::filesystem::path> files;
  for (const auto& each : std::filesystem::directory_iterator(path))
    if (each.path().extension() == ".json" || each.path().extension() == ".jsonl") files.push_back(each.path());
  std::ranges::sort(files);
  return files;
}

int run(const settings& options) {
  const std::shared_ptr<const cogen::text::tokenizer> tokens = tokenizer_of_model(options.model);
  check checks(tokens, options.verbose);
  for (const auto& path : options.paths)
    for (const auto& file : files_of(path)) run_file(checks, file);
  return checks.report();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--help") {
    std::cout << usage;
    return 0;
  }
  try {
    return run(read_settings(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "schema_check: " << error.what() << '\n';
    return 2;
  }
}
