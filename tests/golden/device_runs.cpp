#include "device_runs.hpp"

#include <cogen/engine.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <exception>

namespace cogen::golden {

namespace {

void keep_rows(const logits& from, int first, std::vector<std::vector<float>>& in) {
  for (int row = first; row < from.rows(); ++row) in.emplace_back(from[row].begin(), from[row].end());
}

net::awaitable<void> run_prompt(engine& running, const reference_prompt& prompt, transcript& into) {
  auto one = running.open();
  const auto read = co_await one.async_forward(prompt.ids, logits_of::all);
  keep_rows(read, prompt.prompt_rows.empty() ? read.rows() - 1 : 0, into.prompt);
  keep_rows(read, read.rows() - 1, into.steps);
  for (std::size_t k = 0; k + 1 < prompt.continuation.size(); ++k)
    keep_rows(co_await one.async_forward({prompt.continuation[k]}), 0, into.steps);
}

void rethrow(const std::exception_ptr& error) {
  if (error) std::rethrow_exception(error);
}

}  // namespace

verdict judge_on_device(std::shared_ptr<const model> model, const golden& reference, float tolerance) {
  engine_options options;
  options.batching.slots = static_cast<int>(std::min<std::size_t>(8, reference.prompts.size()));
  for (const auto& prompt : reference.prompts)
    options.limits.max_sequence_length = std::max(options.limits.max_sequence_length.value_or(1),
                                                  static_cast<int>(prompt.ids.size() + prompt.continuation.size()));
  engine running(std::move(model), options);
  verdict result;
  std::vector<transcript> alone(reference.prompts.size()), together(reference.prompts.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    net::io_context context;
    net::co_spawn(context, run_prompt(running, reference.prompts[i], alone[i]), rethrow);
    context.run();
    compare(result, alone[i], reference.prompts[i], tolerance);
  }
  net::io_context context;
  for (std::size_t i = 0; i < together.size(); ++i)
    net::co_spawn(context, run_prompt(running, reference.prompts[i], together[i]), rethrow);
  context.run();
  for (std::size_t i = 0; i < together.size(); ++i) {
    compare(result, together[i], reference.prompts[i], tolerance);
    if (together[i] != alone[i]) result.changed.push_back(fmt::format("prompt {} in company", i));
  }
  return result;
}

}  // namespace cogen::golden
