// golden_check [options] GOLDEN...: compares models with the reference outputs of tests/golden/README.md.
#include "golden.hpp"
#include "runs.hpp"
#include "verdict.hpp"

#include <cogen/model.hpp>

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <exception>
#include <iostream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace cogen;
namespace options = boost::program_options;

struct request {
  std::vector<std::string> goldens;
  std::string model;
  cache::scalar kv = cache::scalar::f32;
  std::optional<float> tolerance;
};

template <class Value>
Value choose(const std::map<std::string, Value>& choices, const std::string& option, const std::string& name) {
  const auto found = choices.find(name);
  if (found != choices.end()) return found->second;
  throw std::invalid_argument(fmt::format("--{} {}: not one of the choices in --help", option, name));
}

std::optional<request> parse(int argc, char** argv) {
  request wanted;
  std::string mode, kv;
  options::options_description described("golden_check [options] FOLDER|FILE.json...");
  auto add = described.add_options();
  add("help", "show this");
  add("mode", options::value(&mode)->default_value("exact"), "arithmetic: exact, the only one there is");
  add("kv", options::value(&kv)->default_value("f32"), "number format of the cache: f32, f16 or bf16");
  add("tolerance", options::value<float>(), "greatest difference of a logit that passes");
  add("model", options::value(&wanted.model)->default_value(COGEN_DEFAULT_MODEL), "the model of a FILE.json");
  add("golden", options::value(&wanted.goldens), "folders with a model and golden.safetensors, or continuations");
  options::positional_options_description positions;
  positions.add("golden", -1);
  options::variables_map given;
  options::store(options::command_line_parser(argc, argv).options(described).positional(positions).run(), given);
  options::notify(given);
  if (given.contains("help") || wanted.goldens.empty()) {
    std::cout << described;
    return std::nullopt;
  }
  choose<bool>({{"exact", true}}, "mode", mode);
  wanted.kv = choose<cache::scalar>(
      {{"f32", cache::scalar::f32}, {"f16", cache::scalar::f16}, {"bf16", cache::scalar::bf16}}, "kv", kv);
  if (given.contains("tolerance")) wanted.tolerance = given["tolerance"].as<float>();
  return wanted;
}

bool is_continuations(const std::string& path) { return path.ends_with(".json"); }

/// Of logits with a standard deviation of 2; a real model's 30 layers round more often.
float default_tolerance(const request& wanted, const std::string& path) {
  if (wanted.kv == cache::scalar::bf16) return 0.5F;
  if (wanted.kv == cache::scalar::f16) return 0.05F;
  return is_continuations(path) ? 2e-3F : 2e-4F;
}

bool check(const request& wanted, const std::string& path) {
  const auto reference =
      is_continuations(path) ? golden::read_continuations(path, wanted.model) : golden::read_folder(path);
  const auto model = load_model(reference.model);
  const float tolerance = wanted.tolerance.value_or(default_tolerance(wanted, path));
  golden::runner run(*model, wanted.kv);
  const auto result = golden::judge(run, reference, tolerance);
  const bool passed = result.passes(tolerance);
  std::cout << fmt::format("{:<20} {:<5} max|dlogit| {:.1e} of {:.0e}  greedy {}/{}  {}  {}\n", reference.name,
                           model->weight_type(), result.worst, tolerance, result.same_tokens, result.tokens,
                           result.changed.empty() ? "same bits in all company"
                                                  : fmt::format("other bits: {}", result.changed.front()),
                           passed ? "ok" : "FAILED")
            << std::flush;
  return passed;
}

bool check_or_say_why_not(const request& wanted, const std::string& path) {
  try {
    return check(wanted, path);
  } catch (const std::exception& error) {
    std::cout << fmt::format("{}: {}\n", path, error.what());
    return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto wanted = parse(argc, argv);
    if (!wanted) return 2;
    bool passed = true;
    for (const auto& path : wanted->goldens) passed &= check_or_say_why_not(*wanted, path);
    return passed ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
