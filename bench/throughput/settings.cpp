#include "settings.hpp"

#include "default_model.hpp"

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace throughput {
namespace {

namespace po = boost::program_options;

std::vector<int> numbers(const std::string& text) {
  std::vector<int> values;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    const int value = std::stoi(part);
    if (value < 1 || value > 4096)
      throw std::invalid_argument(fmt::format("--requests holds {}; each must be between 1 and 4096", value));
    values.push_back(value);
  }
  return values;
}

cogen::compute_type compute_type_named(const std::string& name) {
  if (name == "float32") return cogen::compute_type::float32;
  if (name == "int8") return cogen::compute_type::int8;
  throw std::invalid_argument(fmt::format("--compute-type {}: there are float32 and int8", name));
}

void set_cache(cogen::kv_options& kv, const std::string& name) {
  namespace cache = cogen::cache;
  static const std::map<std::string, cache::scalar> types{
      {"f32", cache::scalar::f32}, {"f16", cache::scalar::f16}, {"bf16", cache::scalar::bf16}};
  static const std::map<std::string, cache::quantization> codes{{"int8", cache::int8()}, {"int4", cache::int4()}};
  if (name.empty()) return;
  if (types.contains(name))
    kv.dtype = types.at(name);
  else if (codes.contains(name))
    kv.quantization = codes.at(name);
  else
    throw std::invalid_argument(fmt::format("--kv-dtype {}: there are f32, f16, bf16, int8 and int4", name));
}

void check(const settings& wanted) {
  if (wanted.prompt_tokens < 1 || wanted.new_tokens < 2 || wanted.repeat < 1 || wanted.max_buffered_tokens < -1)
    throw std::invalid_argument(
        "--prompt-tokens and --repeat must be at least 1, --new-tokens at least 2, --max-buffered-tokens at least -1");
  if (wanted.serve && wanted.parallel.tensor * wanted.parallel.pipeline > 1)
    throw std::invalid_argument("--serve is for one process");
}

}  // namespace

std::optional<settings> parse(int argc, char** argv) {
  settings wanted{};
  std::string requests, compute_type, kv_dtype;
  int max_batched_tokens = 0;
  po::options_description options("Measures tokens per second by number of concurrent requests.\n\nOptions");
  auto add = options.add_options();
  add("help", "show this and end");
  add("model", po::value(&wanted.model)->default_value(bench::default_model()), "a GGUF file or a Hugging Face folder");
  add("requests", po::value(&requests)->default_value("1,4,8,16,32"), "how many at the same time, one run for each");
  add("prompt-tokens", po::value(&wanted.prompt_tokens)->default_value(64), "length of each prompt");
  add("new-tokens", po::value(&wanted.new_tokens)->default_value(64), "tokens to generate for each");
  add("repeat", po::value(&wanted.repeat)->default_value(1), "runs of each, of which the median is shown");
  add("threads", po::value<int>()->notifier([&](int threads) { wanted.engine.threads = threads; }),
      "that compute; all if not given");
  add("tensor", po::value(&wanted.parallel.tensor)->default_value(1),
      "processes that share each layer; mpirun starts tensor * pipeline of them");
  add("pipeline", po::value(&wanted.parallel.pipeline)->default_value(1), "groups of them that have some layers each");
  add("max-batched-tokens", po::value(&max_batched_tokens)->default_value(0), "tokens of a step; 0: the engine's own");
  add("max-buffered-tokens", po::value(&wanted.max_buffered_tokens)->default_value(-1),
      "tokens ahead of the reader; -1: all of them");
  add("kv-dtype", po::value(&kv_dtype)->default_value(""),
      "f32, f16, bf16, int8 or int4; the model's own if not given");
  add("compute-type", po::value(&compute_type), "float32 or int8: how products are computed; the engine's own default");
  add("trace", po::value(&wanted.trace)->default_value(""),
      "a file for a trace of the last run, for chrome://tracing, ui.perfetto.dev and bench/timeline/plot.py");
  add("compare-sampling", po::bool_switch(&wanted.compare_sampling),
      "run each number of requests greedily and with temperature, top-p and penalties in turn, --repeat times each, "
      "and print the median ratio of the decode rates with its range");
  add("chats", po::bool_switch(&wanted.chats),
      "with --compare-sampling: ask questions in a chat, whose answers are text; the ids of other prompts have no "
      "meaning, and nearly flat distributions follow");
  add("json", po::bool_switch(&wanted.json), "one JSON object a line");
  add("serve", po::bool_switch(&wanted.serve),
      "run what each line of the input says (FIRST_PROMPT SLOTS PROMPT_TOKENS NEW_TOKENS ARRIVAL..., in seconds), and "
      "answer with the time of each token, as bench/peers asks for it");
  add("prefix-caching", po::bool_switch(&wanted.prefix_caching),
      "served prompts that were read before are not read again");
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, options), given);
  po::notify(given);
  if (given.contains("help")) return std::cout << options, std::nullopt;
  wanted.requests = numbers(requests);
  if (max_batched_tokens > 0) wanted.engine.batching.max_batched_tokens = max_batched_tokens;
  if (given.contains("compute-type")) wanted.engine.compute_type = compute_type_named(compute_type);
  set_cache(wanted.engine.kv, kv_dtype);
  check(wanted);
  return wanted;
}

}  // namespace throughput
