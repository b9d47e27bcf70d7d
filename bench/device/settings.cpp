#include "settings.hpp"

#include "command_line.hpp"
#include "extra_request.hpp"
#include "random_model.hpp"

#include <cogen/metrics.hpp>

#include <boost/program_options.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace cogen::bench {

namespace {

namespace po = boost::program_options;

constexpr int sinks_of_a_window = 4;

/// What stands on the command line for options that have other types.
struct written {
  std::string cells, prompts, rates, arriving, kv_quantization, weights, trace;
  int max_batched_tokens = 0;
  int window = 0;
  bool kv_offload = false;
  bool fp8 = false;
  bool batch_invariant = false;
};

std::vector<std::string> between_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

/// "8x1024,64x8192"
std::vector<cell> cells(const std::string& text) {
  std::vector<cell> result;
  for (const auto& each : between_commas(text)) {
    cell entry{};
    char separator = 0;
    std::stringstream parts(each);
    if (!(parts >> entry.requests >> separator >> entry.context) || separator != 'x' || entry.requests < 1 ||
        entry.context < 1)
      throw std::invalid_argument(fmt::format("\"{}\" is not a cell; each is REQUESTSxTOKENS, as 8x1024", each));
    result.push_back(entry);
  }
  return result;
}

std::vector<double> rates(const std::string& text) {
  std::vector<double> result;
  for (const auto& each : between_commas(text)) {
    std::stringstream number(each);
    double rate = 0;
    if (!(number >> rate) || !number.eof() || rate <= 0)
      throw std::invalid_argument(fmt::format("--arrivals holds \"{}\"; each is above 0, in requests a second", each));
    result.push_back(rate);
  }
  return result;
}

device_weights weights_named(const std::string& name) {
  if (name == "whole") return device_weights::whole;
  if (name == "stored") return device_weights::stored;
  if (name == "int8") return device_weights::int8;
  if (name == "int4") return device_weights::int4;
  if (name == "fp8") return device_weights::fp8;
  throw std::invalid_argument(fmt::format("--weights {}: there are whole, stored, int8, int4 and fp8", name));
}

std::optional<cache::quantization> quantization_named(const std::string& name) {
  if (name.empty()) return std::nullopt;
  if (name == "int8") return cache::int8();
  if (name == "int8_int4") return cache::int8_int4();
  if (name == "int4") return cache::int4();
  if (name == "kivi2") return cache::kivi2();
  throw std::invalid_argument(fmt::format("--quantized {}: there are int8, int8_int4, int4 and kivi2", name));
}

po::options_description described(settings& wanted, written& words) {
  po::options_description options(
      "Measures how fast an engine generates on a device, beside what its memory and products could give. Decodes, "
      "unless"
      " --prompts or --arrivals say what else.\n\nOptions");
  auto add = options.add_options();
  add("help", "show this and end");
  add("device", po::value(&wanted.device)->default_value("cuda"), "cuda, cuda:N, or reference for a trial without one");
  add("model", po::value(&wanted.model)->default_value(""), "a GGUF file or a Hugging Face folder");
  add("shape", po::value(&wanted.shape)->default_value("1b"),
      fmt::format("without a model, random weights of a shape: {}", fmt::join(shape_names(), ", ")).c_str());
  add("cells", po::value(&words.cells),
      "requests at the same time x tokens that each has read, of which the rate of "
      "decoding is measured; 1x128,1x1024,8x1024,64x1024 unless something else is measured");
  add("prompts", po::value(&words.prompts),
      "prompts at the same time x tokens of each, no two of them alike: how fast they are read, also by a new engine");
  add("arrivals", po::value(&words.rates), "requests a second that arrive at random (as a Poisson process)");
  add("arriving", po::value(&words.arriving)->default_value("64x1024"), "how many arrive x tokens of each prompt");
  add("slots", po::value(&wanted.slots)->default_value(64), "of the engine at which they arrive");
  add("first-token-limit", po::value(&wanted.limits.first_token_ms)->default_value(1000),
      "milliseconds; goodput counts the requests that keep to both limits");
  add("token-limit", po::value(&wanted.limits.token_ms)->default_value(50), "milliseconds between tokens, on average");
  add("new-tokens", po::value(&wanted.new_tokens)->default_value(128), "tokens to generate for each");
  add("max-batched-tokens", po::value(&words.max_batched_tokens)->default_value(0),
      "engine_options.batching.max_batched_tokens");
  add("repeat", po::value(&wanted.repeat)->default_value(7), "runs of each cell: the median is shown, and the range");
  add("swapping-clients", po::value(&wanted.swapping_clients)->default_value(0),
      "sequences of as many tokens that take turns in one slot beside the requests: each is swapped out and restored");
  add("beside", po::value(&wanted.beside)->default_value(""),
      fmt::format("one more request beside those of --cells: {}", fmt::join(extra_kinds, ", ")).c_str());
  add("max-length", po::value(&wanted.max_length)->default_value(0),
      "tokens that a slot of --cells can hold, if they are more than the cell's; memory comes with tokens");
  add("quantized", po::value(&words.kv_quantization)->default_value(""),
      "caches that pack: int8, int8_int4, int4 or kivi2");
  add("weights", po::value(&words.weights)->default_value("whole"),
      "whole, int8, int4, fp8, or of a model's file stored: as the file has them");
  add("window", po::value(&words.window)->default_value(0),
      "tokens that are seen: the first 4 and the newest; 0: all, as far as the model goes");
  add("offload", po::bool_switch(&words.kv_offload), "caches stay on the host, and come near layer by layer");
  add("fp8", po::bool_switch(&words.fp8), "caches of 8-bit floats");
  add("batch-invariant", po::bool_switch(&words.batch_invariant), "engine_options.batch_invariant");
  add("eager", po::bool_switch(&wanted.eager), "begin each kernel anew instead of playing recorded steps");
  add("in-turn", po::bool_switch(&wanted.in_turn), "begin a step only when the one before it has been looked at");
  add("library", po::bool_switch(&wanted.library), "LibTorch's operators instead of cogen's kernels");
  add("flash", po::bool_switch(&wanted.flash), "FlashAttention-2 for all prompts, without cuDNN");
  add("lively", po::bool_switch(&wanted.lively), "sample with temperature, top-k and top-p instead of greedily");
  add("apart", po::bool_switch(&wanted.apart), "prompts of --cells differ; without this all read the same one once");
  add("trace", po::value(&words.trace)->default_value(""), "a file for a trace of the last run");
  add("json", po::bool_switch(&wanted.json), "one JSON object a line");
  return options;
}

/// Of the command line, what belongs to the engine.
engine_options engine_of(const written& words) {
  engine_options options;
  options.policies.idle_timeout = std::chrono::milliseconds(0);
  options.kv.quantization = quantization_named(words.kv_quantization);
  if (words.max_batched_tokens > 0) options.batching.max_batched_tokens = words.max_batched_tokens;
  if (words.window > 0)
    options.kv.sinks = cache::sink_window{.sinks = sinks_of_a_window, .window = words.window - sinks_of_a_window};
  options.batch_invariant = words.batch_invariant;
  if (words.fp8) options.kv.dtype = cache::scalar::fp8;
  if (words.kv_offload) options.kv.offload = true;
  if (!words.trace.empty()) options.events = std::make_shared<chrome_trace>(words.trace);
  return options;
}

void check(const settings& wanted, const written& words) {
  if (wanted.new_tokens < 2 || wanted.repeat < 1 || wanted.slots < 1)
    throw std::invalid_argument("--new-tokens must be at least 2, --repeat and --slots at least 1");
  if (!wanted.beside.empty() && std::ranges::find(extra_kinds, wanted.beside) == extra_kinds.end())
    throw std::invalid_argument(fmt::format("--beside {}: there are {}", wanted.beside, fmt::join(extra_kinds, ", ")));
  if (wanted.max_length < 0) throw std::invalid_argument("--max-length must be at least 0");
  if (words.window != 0 && words.window <= sinks_of_a_window)
    throw std::invalid_argument(
        fmt::format("--window is {}; it may be 0, or above {}", words.window, sinks_of_a_window));
  if (wanted.library && (words.fp8 || words.batch_invariant || words.window > 0 || words.weights != "whole" ||
                         !words.kv_quantization.empty()))
    throw std::invalid_argument("--library goes without --fp8, --batch-invariant, --window, --weights and --quantized");
  if (wanted.flash && !wanted.model.empty()) throw std::invalid_argument("--flash goes without --model");
  if (wanted.weights == device_weights::stored && wanted.model.empty())
    throw std::invalid_argument("--weights stored needs the file of a --model");
}

}  // namespace

std::optional<settings> parse(int argc, char** argv) {
  settings wanted;
  written words;
  if (!read_command_line(argc, argv, described(wanted, words))) return std::nullopt;
  const bool decodes = !words.cells.empty() || (words.prompts.empty() && words.rates.empty());
  if (decodes) wanted.cells = cells(words.cells.empty() ? "1x128,1x1024,8x1024,64x1024" : words.cells);
  wanted.prompts = cells(words.prompts);
  wanted.arrival_rates = rates(words.rates);
  const auto arriving = cells(words.arriving);
  if (arriving.size() != 1) throw std::invalid_argument("--arriving is one REQUESTSxTOKENS, as 64x1024");
  wanted.arriving = arriving.front();
  wanted.weights = weights_named(words.weights);
  wanted.engine = engine_of(words);
  check(wanted, words);
  return wanted;
}

}  // namespace cogen::bench
