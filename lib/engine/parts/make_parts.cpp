#include "engine/parts/make_parts.hpp"

#include "engine/parts/checked_options.hpp"
#include "engine/parts/cpu_engine.hpp"
#include "engine/parts/machine_memory.hpp"
#include "engine/parts/rank_agreement.hpp"
#include "engine/runner/leading_runner.hpp"
#include "engine/runner/rank_worker.hpp"
#include "network/model/text_encoder.hpp"

#include <cogen/model.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace cogen {

namespace detail {

namespace {

std::int64_t swap_memory(const engine_options& options) { return options.swap.bytes.value_or(machine_memory() / 4); }

/// Bytes for swapped-out slots, in memory and in the file together.
std::int64_t swap_budget(const engine_options& options) {
  const auto memory = swap_memory(options);
  if (options.swap.directory.empty()) return memory;
  return memory + std::min(options.swap.file_bytes, std::numeric_limits<std::int64_t>::max() - memory);
}

/// Workers report the end of a swap with the end of its step.
swap_room swap_room_of(const engine_options& options, bool is_worker) {
  swap_room room{.bytes = swap_memory(options), .format = options.swap.format, .transfer = options.swap.transfer};
  if (!options.swap.directory.empty() && options.swap.file_bytes > 0)
    room.file = std::make_shared<swap_file>(options.swap.directory, options.swap.file_bytes);
  if (is_worker || (!room.transfer && options.external_stepping))
    room.transfer = std::make_shared<cache::immediate_transfer>();
  return room;
}

template <class Policy>
std::unique_ptr<Policy> made_by(const std::function<std::unique_ptr<Policy>()>& option,
                                std::unique_ptr<Policy> (*otherwise)(), const char* why_not) {
  if (!option) return otherwise();
  auto result = option();
  if (!result) throw std::invalid_argument(why_not);
  return result;
}

void set_policies(engine_parts& parts, const policy_options& options) {
  parts.scheduling_policy =
      made_by(options.scheduling, &scheduler::fcfs, "engine_options.policies.scheduling made no policy");
  parts.preemption_policy =
      made_by(options.preemption, &scheduler::longest_idle, "engine_options.policies.preemption made no policy");
  parts.allocation_policy =
      made_by(options.allocation, &scheduler::reserve_max_length, "engine_options.policies.allocation made no policy");
}

void set_limits(scheduler::limits& limits, const engine_options& options) {
  limits.slots = options.batching.slots;
  limits.prefix_caching = options.kv.prefix_caching;
  limits.idle_timeout = options.policies.idle_timeout;
  limits.swap_bytes = swap_budget(options);
  limits.exact_swaps = options.swap.format == swap_format::exact;
  if (const auto latency = options.batching.target_step_latency) limits.target_step_latency = *latency;
  limits.max_draft_tokens = step_draft_tokens;
}

void set_text(engine_parts& parts, const std::shared_ptr<const model>& model) {
  if (model->chat()) parts.chat = {model, model->chat()};
  parts.chat_error = model->chat_error();
  if (!model->has_tokenizer()) return;
  parts.tokenizer = {model, &model->tokenizer()};
  const auto ends = model->tokenizer().eos();
  parts.end_tokens.assign(ends.begin(), ends.end());
}

std::string settings_of(const model& model, const engine_options& options) {
  return model.on_device() ? registered_device_engines().settings(model, options) : settings_on_cpu(model, options);
}

}  // namespace

engine_parts make_parts(const std::shared_ptr<const model>& model, const engine_options& options,
                        const device_switches& switches) {
  if (!model) throw std::invalid_argument("engine: the model is null");
  if (model->rank() != 0)
    throw std::logic_error(fmt::format(
        "this process has rank {} of the model; rank 0 runs an engine, and this one run_worker()", model->rank()));
  check(options);
  engine_parts parts;
  set_limits(parts.limits, options);
  set_policies(parts, options.policies);
  auto room = swap_room_of(options, false);
  if (model->on_device())
    registered_device_engines().put_on_device(parts, model, options, std::move(room), switches);
  else
    put_on_cpu(parts, model, options, std::move(room));
  if (!parts.texts && !model->ranks() && model->embedding_width() > 0)
    parts.texts = std::make_shared<nn::text_encoder>(model, workspace(1));
  set_text(parts, model);
  parts.fingerprint = model->fingerprint();
  if (auto* const ranks = model->ranks()) {
    if (model->awaits_logits()) parts.limits.depth = 2, parts.limits.run_ahead = false;
    agree(parts.limits, *ranks, settings_of(*model, options));
    parts.runner = std::make_unique<leading_runner>(std::move(parts.runner), *ranks);
  }
  return parts;
}

}  // namespace detail

void run_worker(const std::shared_ptr<const model>& model, const engine_options& options) {
  if (!model || model->rank() == 0)
    throw std::logic_error("run_worker() is for the ranks of a model but rank 0, which runs an engine");
  detail::check(options);
  engine_parts parts;
  detail::set_limits(parts.limits, options);
  auto room = detail::swap_room_of(options, true);
  if (model->on_device())
    detail::registered_device_engines().put_on_device(parts, model, options, std::move(room), {});
  else
    detail::put_on_cpu(parts, model, options, std::move(room));
  detail::agree(parts.limits, *model->ranks(), detail::settings_of(*model, options));
  detail::run_steps(std::move(parts.runner), *model->ranks());
}

}  // namespace cogen
