// How fast an engine generates on a device, by concurrent requests and length of what they have read, beside what the
// device's memory could give.
#include "engine_parts/make_parts.hpp"
#include "library_backend.hpp"
#include "nn/network_on_device.hpp"
#include "random_model.hpp"

#include <cogen/cache/transfer.hpp>
#include <cogen/engine.hpp>
#include <cogen/extend/runner.hpp>
#include <cogen/load_model.hpp>
#include <cogen/metrics.hpp>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/program_options.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>
#include <sstream>

namespace cogen::bench {

namespace {

namespace po = boost::program_options;
using seconds = std::chrono::duration<double>;
using time_point = std::chrono::steady_clock::time_point;

struct cell {
  int requests;
  int context;
};

constexpr int sinks_of_a_window = 4;

struct settings {
  std::string device;
  std::string model;
  std::string shape;
  std::vector<cell> cells;
  int new_tokens = 0;
  int max_batched_tokens = 0;
  int repeat = 0;
  int swapping_clients = 0;
  std::string kv_quantization;
  std::string weights;
  int window = 0;
  bool kv_offload = false;
  bool fp8 = false;
  bool eager = false;
  bool in_turn = false;
  bool library = false;
  bool lively = false;
  bool apart = false;
  bool json = false;
  std::string trace;
};

struct measurement {
  double decode = 0;       // tokens per second while all requests decode
  double prefill = 0;      // prompt tokens per second
  double first_token = 0;  // seconds, median
  double share = 0;        // of the measured bandwidth, by the bytes that a step has to read
  double alone = 0;        // seconds of a step that is replayed back to back
  int turns = 0;           // of swapping_clients
  double steps = 0;        // per second while all decode
};

std::vector<token> prompt(int request, int length, std::int64_t vocabulary) {
  std::vector<token> ids;
  for (std::int64_t j = 0; j < length; ++j)
    ids.push_back(static_cast<token>((std::int64_t{request} * 1009 + j * 131 + 17) % (vocabulary - 64) + 32));
  return ids;
}

/// Bytes read and written per second by a large copy within the device.
double copy_bandwidth(const device::backend& where) {
  const auto stream = where.make_stream();
  double best = 0;
  stream->run_on_stream([&] {
    const auto from = at::empty({std::int64_t{1} << 31}, at::TensorOptions(where.device()).dtype(at::kByte)).fill_(1);
    auto to = at::empty_like(from);
    for (int i = 0; i < 5; ++i) {
      to.copy_(from);
      stream->wait();
      const auto begin = std::chrono::steady_clock::now();
      for (int j = 0; j < 10; ++j) to.copy_(from, true);
      stream->wait();
      best = std::max(
          best, 20.0 * static_cast<double>(from.nbytes()) / seconds(std::chrono::steady_clock::now() - begin).count());
    }
  });
  return best;
}

net::awaitable<void> read(token_stream stream, std::vector<time_point>& into) {
  while (auto piece = co_await stream.async_next())
    into.insert(into.end(), piece->tokens.size(), std::chrono::steady_clock::now());
}

/// Sequences that share one slot: each feeds a token in its turn, for which the one before it is swapped out, and it is
/// restored, while streams go on. Until there are none left.
net::awaitable<void> take_turns(std::vector<sequence>& swapping_clients, const int& streams, int& turns) {
  std::size_t next = 0;
  while (streams > 0) {
    co_await swapping_clients[next].async_forward({5});
    next = (next + 1) % swapping_clients.size();
    ++turns;
  }
}

net::awaitable<void> arrive(engine& running, const cell& what, const settings& wanted, std::int64_t vocabulary,
                            std::vector<sequence>& swapping_clients) {
  for (int i = 0; i < wanted.swapping_clients; ++i) {
    swapping_clients.push_back(running.open());
    co_await swapping_clients.back().async_forward(prompt(1000 + i, what.context, vocabulary));
  }
}

void rethrow(const std::exception_ptr& error) {
  if (error) std::rethrow_exception(error);
}

std::vector<std::vector<time_point>> run(engine& running, std::int64_t vocabulary, const cell& what,
                                         const settings& wanted, int& turns) {
  std::vector<sequence> swapping_clients;
  net::io_context context;
  net::co_spawn(context, arrive(running, what, wanted, vocabulary, swapping_clients), rethrow);
  context.run();
  context.restart();
  int streams = what.requests;
  std::vector<std::vector<time_point>> seen(static_cast<std::size_t>(what.requests));
  for (int i = 0; i < what.requests; ++i) {
    cogen::request request{.prompt = prompt(wanted.apart ? i : 0, what.context, vocabulary),
                           .max_tokens = wanted.new_tokens,
                           .ignore_eos = true,
                           .max_buffered_tokens = wanted.new_tokens};
    if (wanted.lively)
      request.sampling = {.temperature = 0.8, .top_k = 50, .top_p = 0.95, .seed = static_cast<std::uint64_t>(i)};
    net::co_spawn(context, read(running.generate(std::move(request)), seen[static_cast<std::size_t>(i)]),
                  [&streams](const std::exception_ptr& error) {
                    --streams;
                    rethrow(error);
                  });
  }
  if (!swapping_clients.empty()) net::co_spawn(context, take_turns(swapping_clients, streams, turns), rethrow);
  context.run();
  return seen;
}

std::int64_t token_bytes(const model& of) {
  std::int64_t bytes = 0;
  for (const auto& layer : of.kv_cache_specs()) bytes += std::int64_t{2} * 2 * layer.kv_heads * layer.head_dim;
  return bytes;
}

/// By one query, in the middle of what is generated.
double seen_tokens(const cell& what, const settings& wanted) {
  const double held = what.context + wanted.new_tokens / 2.0;
  return wanted.window > 0 ? std::min<double>(held, wanted.window) : held;
}

/// A decode step without an engine: what the device takes for it when the host asks for nothing else.
double step_alone(const model& of, const cell& what) {
  const auto& where = of.on_device()->backend;
  const auto& network = of.on_device()->network;
  const auto operators = where->make_operators();
  const auto stream = where->make_stream();
  const cache::device_cache memory(network->kv_cache_specs(), {.device = network->device(),
                                                               .type = network->type(),
                                                               .slots = what.requests,
                                                               .max_sequence_length = what.context + 1});
  double took = 0;
  stream->run_on_stream([&] {
    const auto like = at::TensorOptions(network->device());
    const auto scratch = network->make_scratch(what.requests, /*sinks=*/false);
    const auto logits = at::empty({what.requests, of.config().vocabulary}, like.dtype(at::kFloat));
    const auto last = at::ones({what.requests}, like.dtype(at::kInt));
    const device::step_rows rows{.ids = at::ones({what.requests}, like.dtype(at::kInt)),
                                 .slots = at::arange(what.requests, like.dtype(at::kInt)),
                                 .positions = at::full({what.requests}, what.context, like.dtype(at::kInt)),
                                 .single = what.requests};
    const auto step = [&] {
      network->score(*operators, network->forward(*operators, rows, last, {}, {memory}, scratch), logits);
    };
    step();
    const auto recorded = stream->record(step);
    const auto replay = [&] { recorded ? recorded->replay() : step(); };
    replay();
    stream->wait();
    constexpr int times = 50;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) replay();
    stream->wait();
    took = seconds(std::chrono::steady_clock::now() - begin).count() / times;
  });
  return took;
}

measurement measure(const std::shared_ptr<const model>& of, const cell& what, const settings& wanted,
                    double bandwidth) {
  engine_options options;
  options.batching.slots = what.requests + (wanted.swapping_clients > 0 ? 1 : 0);
  options.policies.idle_timeout = std::chrono::milliseconds(0);
  options.limits.max_sequence_length = what.context + wanted.new_tokens;
  if (wanted.max_batched_tokens > 0) options.batching.max_batched_tokens = wanted.max_batched_tokens;
  if (wanted.kv_quantization == "int8") options.kv.quantization = cache::int8();
  if (wanted.kv_quantization == "int8_int4") options.kv.quantization = cache::int8_int4();
  if (wanted.kv_quantization == "int4") options.kv.quantization = cache::int4();
  if (wanted.kv_quantization == "kivi2") options.kv.quantization = cache::kivi2();
  if (wanted.window > 0)
    options.kv.sinks = cache::sink_window{.sinks = sinks_of_a_window, .window = wanted.window - sinks_of_a_window};
  if (wanted.fp8) options.kv.dtype = cache::scalar::fp8;
  if (wanted.kv_offload) options.kv.offload = std::make_shared<cache::immediate_transfer>();
  if (!wanted.trace.empty()) options.events = std::make_shared<chrome_trace>(wanted.trace);
  auto parts = detail::make_parts(of, options, {.recorded = !wanted.eager, .overlapped = !wanted.in_turn});
  parts.limits.swap_bytes = std::int64_t{64} << 30;
  measurement result;
  std::optional<engine> running(std::in_place, std::move(parts), options);
  const auto begin = std::chrono::steady_clock::now();
  const auto seen = run(*running, of->config().vocabulary, what, wanted, result.turns);
  std::vector<double> first;
  time_point all_begun = begin, first_end = time_point::max();
  for (const auto& each : seen) {
    first.push_back(seconds(each.front() - begin).count());
    all_begun = std::max(all_begun, each.front());
    first_end = std::min(first_end, each.back());
  }
  std::ranges::sort(first);
  double decoded = 0;
  for (const auto& each : seen)
    decoded += static_cast<double>(
        std::ranges::count_if(each, [&](auto time) { return time > all_begun && time <= first_end; }));
  const double took = std::max(1e-9, seconds(first_end - all_begun).count());
  result.decode = decoded / took;
  result.steps = result.decode / what.requests;
  const auto read =
      static_cast<double>(running->stats().tokens) - static_cast<double>(what.requests) * wanted.new_tokens;
  result.prefill = read / std::max(1e-9, seconds(all_begun - begin).count());
  result.first_token = first[first.size() / 2];
  const double step_bytes = static_cast<double>(of->weight_bytes()) +
                            static_cast<double>(token_bytes(*of)) * what.requests * seen_tokens(what, wanted);
  result.share = result.steps * step_bytes / bandwidth;
  running.reset();  // both caches would not fit
  result.alone = step_alone(*of, what);
  return result;
}

void print(const cell& what, const measurement& one, bool json) {
  if (json)
    fmt::print(
        "{{\"requests\": {}, \"context\": {}, \"decode_tokens_per_second\": {:.1f}, \"steps_per_second\": {:.2f}, "
        "\"step_ms\": {:.3f}, \"step_alone_ms\": {:.3f}, "
        "\"share_of_bandwidth\": {:.3f}, \"prefill_tokens_per_second\": {:.0f}, \"first_token_ms\": {:.2f}, \"turns\": "
        "{}}}\n",
        what.requests, what.context, one.decode, one.steps, 1000 / one.steps, 1000 * one.alone, one.share, one.prefill,
        one.first_token * 1000, one.turns);
  else
    fmt::print("{:>8}  {:>7}  {:>12.1f}  {:>7.2f}  {:>8.2f}  {:>15.1f} %  {:>13.0f}  {:>16.1f}\n", what.requests,
               what.context, one.decode, 1000 / one.steps, 1000 * one.alone, 100 * one.share, one.prefill,
               one.first_token * 1000);
  std::fflush(stdout);
}

void print(const cell& what, const char* why_not, bool json) {
  if (json)
    fmt::print("{{\"requests\": {}, \"context\": {}, \"why_not\": \"{}\"}}\n", what.requests, what.context, why_not);
  else
    fmt::print("{:>8}  {:>7}  {}\n", what.requests, what.context, why_not);
  std::fflush(stdout);
}

/// "8x1024,64x8192"
std::vector<cell> cells(const std::string& text) {
  std::vector<cell> all;
  std::stringstream stream(text);
  for (std::string each; std::getline(stream, each, ',');) {
    cell one{};
    char by = 0;
    std::stringstream parts(each);
    if (!(parts >> one.requests >> by >> one.context) || by != 'x' || one.requests < 1 || one.context < 1)
      throw std::invalid_argument(fmt::format("--cells holds \"{}\"; each is REQUESTSxCONTEXT, as 8x1024", each));
    all.push_back(one);
  }
  return all;
}

std::optional<settings> parse(int argc, char** argv) {
  settings wanted;
  std::string text;
  po::options_description options(
      "Measures how fast an engine generates on a device, beside the bandwidth of its memory.\n\nOptions");
  auto add = options.add_options();
  add("help", "show this and end");
  add("device", po::value(&wanted.device)->default_value("cuda"), "cuda or cuda:N");
  add("model", po::value(&wanted.model)->default_value(""), "a GGUF file or a Hugging Face folder");
  add("shape", po::value(&wanted.shape)->default_value("1b"),
      fmt::format("without a model, random weights of a shape: {}", fmt::join(shape_names(), ", ")).c_str());
  add("cells", po::value(&text)->default_value("1x128,1x1024,8x1024,64x1024"),
      "requests at the same time x tokens that each has read");
  add("new-tokens", po::value(&wanted.new_tokens)->default_value(128), "tokens to generate for each");
  add("max-batched-tokens", po::value(&wanted.max_batched_tokens)->default_value(0),
      "engine_options.batching.max_batched_tokens");
  add("repeat", po::value(&wanted.repeat)->default_value(1), "runs of each cell, of which the median is shown");
  add("swapping-clients", po::value(&wanted.swapping_clients)->default_value(0),
      "sequences of as many tokens that take turns in one slot beside the requests: each is swapped out and restored");
  add("quantized", po::value(&wanted.kv_quantization)->default_value(""),
      "caches that pack: int8, int8_int4, int4 or kivi2");
  add("weights", po::value(&wanted.weights)->default_value("whole"), "whole, int8 or int4");
  add("window", po::value(&wanted.window)->default_value(0),
      "tokens that are seen: the first 4 and the newest; 0: all, as far as the model goes");
  add("offload", po::bool_switch(&wanted.kv_offload), "caches stay on the host, and come near layer by layer");
  add("fp8", po::bool_switch(&wanted.fp8), "caches of 8-bit floats");
  add("eager", po::bool_switch(&wanted.eager), "begin each kernel anew instead of playing recorded steps");
  add("in-turn", po::bool_switch(&wanted.in_turn), "begin a step only when the one before it has been looked at");
  add("library", po::bool_switch(&wanted.library), "LibTorch's operators instead of cogen's kernels");
  add("lively", po::bool_switch(&wanted.lively), "sample with temperature, top-k and top-p instead of greedily");
  add("apart", po::bool_switch(&wanted.apart), "prompts differ; without this all read the same one once");
  add("trace", po::value(&wanted.trace)->default_value(""), "a file for a trace of the last run");
  add("json", po::bool_switch(&wanted.json), "one JSON object a line");
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, options), given);
  po::notify(given);
  if (given.contains("help")) return std::cout << options, std::nullopt;
  wanted.cells = cells(text);
  if (wanted.new_tokens < 2 || wanted.repeat < 1)
    throw std::invalid_argument("--new-tokens must be at least 2, --repeat at least 1");
  if (wanted.window != 0 && wanted.window <= sinks_of_a_window)
    throw std::invalid_argument(
        fmt::format("--window is {}; it may be 0, or above {}", wanted.window, sinks_of_a_window));
  if (wanted.library &&
      (wanted.fp8 || wanted.window > 0 || wanted.weights != "whole" || !wanted.kv_quantization.empty()))
    throw std::invalid_argument("--library goes without --fp8, --window, --weights and --quantized");
  return wanted;
}

device_weights form_named(const std::string& name) {
  if (name == "whole") return device_weights::whole;
  if (name == "int8") return device_weights::int8;
  if (name == "int4") return device_weights::int4;
  throw std::invalid_argument(fmt::format("--weights {}: there are whole, int8 and int4", name));
}

int run(const settings& wanted) {
  const auto form = form_named(wanted.weights);
  auto where = device::backend_named(wanted.device);
  if (wanted.library) where = with_library_operators(where);
  const double bandwidth = copy_bandwidth(*where);
  const auto begin = std::chrono::steady_clock::now();
  const auto of = wanted.model.empty() ? random_model(where, wanted.shape, form)
                                       : load_model(wanted.model, {.device = wanted.device, .device_weights = form});
  if (wanted.json)
    fmt::print(
        "{{\"device\": \"{}\", \"copy_gb_per_second\": {:.0f}, \"weight_bytes\": {}, \"load_seconds\": {:.2f}}}\n",
        where->description(), bandwidth / 1e9, of->weight_bytes(),
        seconds(std::chrono::steady_clock::now() - begin).count());
  else
    fmt::print(
        "{}, copies {:.0f} GB/s; {} of {:.2f} GB\n\nrequests  context  decode tok/s  step ms  alone ms  share of "
        "bandwidth"
        "  prefill tok/s  first token (ms)\n",
        where->description(), bandwidth / 1e9, wanted.model.empty() ? wanted.shape : wanted.model,
        static_cast<double>(of->weight_bytes()) / 1e9);
  for (const auto& each : wanted.cells) {
    std::vector<measurement> all;
    try {
      for (int i = 0; i < wanted.repeat; ++i) all.push_back(measure(of, each, wanted, bandwidth));
    } catch (const std::invalid_argument& error) {  // it does not fit
      print(each, error.what(), wanted.json);
      continue;
    }
    std::ranges::sort(all, {}, &measurement::decode);
    print(each, all[all.size() / 2], wanted.json);
  }
  return 0;
}

}  // namespace

}  // namespace cogen::bench

int main(int argc, char** argv) try {
  const auto wanted = cogen::bench::parse(argc, argv);
  return wanted ? cogen::bench::run(*wanted) : 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "device: {}\n", e.what());
  return 1;
}
