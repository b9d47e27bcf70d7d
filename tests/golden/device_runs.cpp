#include "device_runs.hpp"

#include <cogen/engine.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <string_view>
#include <utility>

namespace cogen::golden {

namespace {

void keep_rows(const logits& source, int first, std::vector<std::vector<float>>& in) {
  for (int row = first; row < source.rows(); ++row) in.emplace_back(source[row].begin(), source[row].end());
}

/// How a prompt is run on a device.
struct way {
  std::string_view name;
  int chunk = 0;          // tokens of the prompt in one forward; 0: all
  bool suspends = false;  // half-way through the continuation the sequence leaves its slot
  bool forks = false;     // half-way a fork goes on instead
};

constexpr std::array ways{way{"alone"}, way{"in chunks of 3", 3}, way{"swapped", 0, true},
                          way{"on a fork", 0, false, true}};

net::awaitable<void> read_prompt(sequence& seq, const reference_prompt& prompt, int chunk, transcript& output) {
  const auto& ids = prompt.ids;
  const auto at_once = chunk == 0 ? ids.size() : static_cast<std::size_t>(chunk);
  for (std::size_t first = 0; first < ids.size(); first += at_once) {
    const auto end = std::min(ids.size(), first + at_once);
    const auto begin = ids.begin();
    const std::vector<token> part(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(end));
    const auto read = co_await seq.async_forward(part, prompt.prompt_rows.empty() ? logits_of::last : logits_of::all);
    const bool last = end == ids.size();
    if (!prompt.prompt_rows.empty()) keep_rows(read, 0, output.prompt);
    if (last && prompt.prompt_rows.empty()) keep_rows(read, read.rows() - 1, output.prompt);
    if (last) keep_rows(read, read.rows() - 1, output.steps);
  }
}

net::awaitable<void> run_prompt(engine& running, const reference_prompt& prompt, way mode, transcript& output) {
  auto seq = prompt.source.empty() ? running.open() : running.open(prompt.source);
  co_await read_prompt(seq, prompt, mode.chunk, output);
  const auto half = prompt.continuation.size() / 2;
  for (std::size_t k = 0; k + 1 < prompt.continuation.size(); ++k) {
    if (k == half && mode.suspends) co_await seq.async_suspend();
    if (k == half && mode.forks) seq = seq.fork();
    keep_rows(co_await seq.async_forward({prompt.continuation[k]}), 0, output.steps);
  }
}

void rethrow(const std::exception_ptr& error) {
  if (error) std::rethrow_exception(error);
}

}  // namespace

engine_options options_on_device(const golden& reference) {
  engine_options options;
  options.kv.prefix_caching = false;  // it cuts prompts where others may go on, and a device's bits depend on the cut
  options.batching.slots = static_cast<int>(std::min<std::size_t>(8, reference.prompts.size()));
  for (const auto& prompt : reference.prompts)
    options.limits.max_sequence_length = std::max(options.limits.max_sequence_length.value_or(1),
                                                  static_cast<int>(prompt.ids.size() + prompt.continuation.size()));
  return options;
}

verdict judge_on_device(std::shared_ptr<const model> model, const golden& reference, float tolerance, runner* by_hand) {
  engine running(std::move(model), options_on_device(reference));
  verdict result;
  std::vector<transcript> alone(reference.prompts.size()), together(reference.prompts.size());
  for (std::size_t i = 0; i < alone.size(); ++i)
    for (const auto& mode : ways) {
      transcript output;
      net::io_context context;
      net::co_spawn(context, run_prompt(running, reference.prompts[i], mode, output), rethrow);
      context.run();
      compare(result, output, reference.prompts[i], tolerance);
      if (by_hand && !mode.suspends && !mode.forks)
        result.unlike_engine |= by_hand->alone(reference.prompts[i], mode.chunk) != output;
      if (&mode == ways.begin()) alone[i] = std::move(output);
    }
  net::io_context context;
  for (std::size_t i = 0; i < together.size(); ++i)
    net::co_spawn(context, run_prompt(running, reference.prompts[i], ways.front(), together[i]), rethrow);
  context.run();
  for (std::size_t i = 0; i < together.size(); ++i) {
    compare(result, together[i], reference.prompts[i], tolerance);
    if (together[i] != alone[i]) result.changed.push_back(fmt::format("prompt {} in a batch", i));
  }
  return result;
}

}  // namespace cogen::golden
