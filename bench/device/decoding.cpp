#include "decoding.hpp"

#include "engine_on_device.hpp"
#include "extra_request.hpp"
#include "network/nn/device/device_layout.hpp"
#include "network/nn/device/device_model.hpp"
#include "statistics.hpp"
#include "throughput/job.hpp"

#include <cogen/extend/tensors.hpp>
#include <cogen/sequence.hpp>
#include <cogen/token_stream.hpp>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

namespace cogen::bench {

namespace {

namespace net = boost::asio;
using throughput::prompt;
using seconds = std::chrono::duration<double>;
using time_point = std::chrono::steady_clock::time_point;

/// What one run came to.
struct measurement {
  double decode = 0;       // tokens per second while all requests decode
  double prefill = 0;      // prompt tokens per second
  double first_token = 0;  // seconds, median
  double turns = 0;        // of swapping_clients
  double cache = 0;        // GB that are reserved for tokens, at most, while requests decode
};

/// What was seen of a run.
struct seen {
  std::vector<std::vector<time_point>> tokens;  // [requests], when each came
  std::int64_t cache_bytes = 0;                 // at most, when a request has a second piece
  int turns = 0;                                // of swapping_clients
};

net::awaitable<void> read(const engine& running, token_stream stream, std::vector<time_point>& times,
                          std::int64_t& cache_bytes) {
  for (int pieces = 0; auto piece = co_await stream.async_next(); ++pieces) {
    if (pieces == 1) cache_bytes = std::max(cache_bytes, running.stats().cache_bytes);  // once: it is timed
    times.insert(times.end(), piece->tokens.size(), std::chrono::steady_clock::now());
  }
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

net::awaitable<void> arrive(engine& running, const cell& point, const settings& wanted, std::int64_t vocabulary,
                            std::vector<sequence>& swapping_clients) {
  for (int i = 0; i < wanted.swapping_clients; ++i) {
    swapping_clients.push_back(running.open());
    co_await swapping_clients.back().async_forward(prompt(1000 + i, point.context, vocabulary));
  }
}

void rethrow(const std::exception_ptr& error) {
  if (error) std::rethrow_exception(error);
}

seen run(engine& running, std::int64_t vocabulary, const cell& point, const settings& wanted) {
  std::vector<sequence> swapping_clients;
  net::io_context context;
  net::co_spawn(context, arrive(running, point, wanted, vocabulary, swapping_clients), rethrow);
  context.run();
  context.restart();
  int streams = point.requests;
  seen result{.tokens = std::vector<std::vector<time_point>>(static_cast<std::size_t>(point.requests))};
  for (int i = 0; i < point.requests; ++i) {
    cogen::request request{.prompt = prompt(wanted.apart ? i : 0, point.context, vocabulary),
                           .max_tokens = wanted.new_tokens,
                           .sampling = sampling_of(wanted, i),
                           .ignore_eos = true,
                           .max_buffered_tokens = wanted.new_tokens};
    auto& tokens = result.tokens[static_cast<std::size_t>(i)];
    net::co_spawn(context, read(running, running.generate(std::move(request)), tokens, result.cache_bytes),
                  [&streams](const std::exception_ptr& error) {
                    --streams;
                    rethrow(error);
                  });
  }
  if (!swapping_clients.empty()) net::co_spawn(context, take_turns(swapping_clients, streams, result.turns), rethrow);
  if (!wanted.beside.empty())
    net::co_spawn(context, run_extra(running, wanted.beside, point.context + wanted.new_tokens, vocabulary, streams),
                  rethrow);
  context.run();
  return result;
}

std::int64_t token_bytes(const model& lm) {
  std::int64_t bytes = 0;
  for (const auto& layer : lm.kv_cache_specs()) bytes += std::int64_t{2} * 2 * layer.kv_heads * layer.head_dim;
  return bytes;
}

/// By one query, in the middle of what is generated.
double seen_tokens(const cell& point, const settings& wanted) {
  const double held = point.context + wanted.new_tokens / 2.0;
  const auto& sinks = wanted.engine.kv.sinks;
  return sinks ? std::min<double>(held, sinks->sinks + sinks->window) : held;
}

/// A cache like the engine's, on the device even if the engine's is offloaded.
cache::device_options cache_of(const nn::device_model& model, const cell& point, const settings& wanted) {
  auto layout = nn::device_layout(model, {.slots = point.requests,
                                          .max_sequence_length = point.context + wanted.new_tokens,
                                          .kv_quantization = wanted.engine.kv.quantization,
                                          .sinks = wanted.engine.kv.sinks});
  layout.type = wanted.engine.kv.dtype ? cache::tensor_type(*wanted.engine.kv.dtype) : model.type();
  return layout;
}

/// Seconds of a decode step without an engine: what the device takes for it when the host asks for nothing else.
double step_alone(const model& lm, const cell& point, const settings& wanted) {
  const auto& where = lm.on_device()->backend;
  const auto* network = lm.on_device();
  const auto operators =
      wanted.engine.batch_invariant ? where->make_batch_invariant_operators() : where->make_operators();
  const auto stream = where->make_stream();
  double took = 0;
  stream->run_on_stream([&] {
    const auto layout = cache_of(*lm.on_device(), point, wanted);
    const cache::device_cache memory(network->kv_cache_specs(), layout);
    const auto like = at::TensorOptions(where->device());
    const auto scratch = network->make_scratch(point.requests, layout.sinks.has_value());
    const auto logits = at::empty({point.requests, lm.config().vocabulary}, like.dtype(at::kFloat));
    const auto last = at::ones({point.requests}, like.dtype(at::kInt));
    const auto position = static_cast<std::int64_t>(point.context) + wanted.new_tokens / 2;
    const device::step_rows rows{.ids = at::ones({point.requests}, like.dtype(at::kInt)),
                                 .slots = at::arange(point.requests, like.dtype(at::kInt)),
                                 .positions = at::full({point.requests}, position, like.dtype(at::kInt)),
                                 .single = point.requests};
    const auto step = [&] {
      network->score(*operators, network->forward(*operators, rows, last, {}, {memory}, scratch), logits);
    };
    step();
    const auto recorded = stream->record(step);
    const auto replay = [&] { recorded ? recorded->replay() : step(); };
    replay();
    stream->wait();
    const int times = where->device().is_cpu() ? 3 : 50;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) replay();
    stream->wait();
    took = seconds(std::chrono::steady_clock::now() - begin).count() / times;
  });
  return took;
}

measurement measure(const std::shared_ptr<const model>& lm, const cell& point, const settings& wanted) {
  auto running =
      make_engine(lm, point.requests + (wanted.swapping_clients > 0 ? 1 : 0) + (wanted.beside.empty() ? 0 : 1),
                  std::max(wanted.max_length, point.context + wanted.new_tokens), wanted);
  measurement result;
  const auto begin = std::chrono::steady_clock::now();
  const auto observed = run(running, lm->config().vocabulary, point, wanted);
  result.turns = observed.turns;
  result.cache = static_cast<double>(observed.cache_bytes) / 1e9;
  std::vector<double> first;
  time_point all_begun = begin, first_end = time_point::max();
  for (const auto& each : observed.tokens) {
    first.push_back(seconds(each.front() - begin).count());
    all_begun = std::max(all_begun, each.front());
    first_end = std::min(first_end, each.back());
  }
  double decoded = 0;
  for (const auto& each : observed.tokens)
    decoded += static_cast<double>(
        std::ranges::count_if(each, [&](auto time) { return time > all_begun && time <= first_end; }));
  result.decode = decoded / std::max(1e-9, seconds(first_end - all_begun).count());
  const auto read =
      static_cast<double>(running.stats().tokens) - static_cast<double>(point.requests) * wanted.new_tokens;
  result.prefill = read / std::max(1e-9, seconds(all_begun - begin).count());
  result.first_token = quantile(first, 0.5);
  return result;
}

}  // namespace

void measure_decoding(const std::shared_ptr<const model>& lm, const cell& point, const settings& wanted,
                      double bandwidth) {
  std::vector<measurement> runs;
  for (int i = 0; i < wanted.repeat; ++i) runs.push_back(measure(lm, point, wanted));
  const double alone = step_alone(*lm, point, wanted);  // after the engines: both caches would not fit
  const auto decode = over(runs, &measurement::decode), first = over(runs, &measurement::first_token);
  const double steps = decode.median / point.requests;
  const double step_bytes = static_cast<double>(lm->weight_bytes()) +
                            static_cast<double>(token_bytes(*lm)) * point.requests * seen_tokens(point, wanted);
  const double share = steps * step_bytes / bandwidth;
  const double prefill = over(runs, &measurement::prefill).median, cache = over(runs, &measurement::cache).median;
  if (wanted.json)
    fmt::print(
        "{{\"requests\": {}, \"context\": {}, \"beside\": \"{}\", \"decode_tokens_per_second\": {:.1f}, "
        "\"decode_tokens_per_second_range\": [{:.1f}, {:.1f}], \"steps_per_second\": {:.2f}, \"step_ms\": {:.3f}, "
        "\"step_alone_ms\": {:.3f}, \"share_of_bandwidth\": {:.3f}, \"prefill_tokens_per_second\": {:.0f}, "
        "\"first_token_ms\": {:.2f}, \"cache_gb\": {:.4f}, \"turns\": {}}}\n",
        point.requests, point.context, wanted.beside, decode.median, decode.least, decode.most, steps, 1000 / steps,
        1000 * alone, share, prefill, first.median * 1000, cache, over(runs, &measurement::turns).median);
  else
    fmt::print(
        "{:>8}  {:>7}  {:>10.1f} ({:.1f}-{:.1f})  {:>7.2f}  {:>8.2f}  {:>15.1f} %  {:>13.0f}  {:>14.1f}  {:>8.3f}\n",
        point.requests, point.context, decode.median, decode.least, decode.most, 1000 / steps, 1000 * alone,
        100 * share, prefill, first.median * 1000, cache);
  std::fflush(stdout);
}

}  // namespace cogen::bench
