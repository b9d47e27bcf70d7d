#include "engine/device_runner.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace cogen::detail {

namespace {

/// Logits are made of so many rows at a time, or of one for each slot.
constexpr std::int64_t least_score_rows = 64;

std::int64_t score_rows(const device_runner_options& options) {
  return std::max<std::int64_t>(options.slots, least_score_rows);
}

/// Every step of single tokens is played with the next of these many rows.
std::vector<std::int64_t> buckets_for(std::int64_t slots) {
  std::vector<std::int64_t> buckets;
  for (std::int64_t rows = 1; rows < slots; rows += rows < 4 ? rows : rows < 32 ? 8 - rows % 8 : rows < 64 ? 16 : 32)
    buckets.push_back(rows);
  buckets.push_back(slots);
  return buckets;
}

cache::device_options cache_options(const models::device_network& network, const device_runner_options& options) {
  return {.device = network.device(), .type = network.type(), .slots = options.slots, .max_length = options.max_length};
}

const device_runner_options& checked(const device_runner_options& options, const models::device_network& network) {
  const auto rows =
      std::int64_t{options.slots} * 2 * static_cast<std::int64_t>(network.layer_shapes().size()) * options.max_length;
  if (rows > std::numeric_limits<std::int32_t>::max())
    throw std::invalid_argument(
        fmt::format("{} slots of {} tokens in {} layers are more than a device can number; slots * max_length may be "
                    "at most {}",
                    options.slots, options.max_length, network.layer_shapes().size(),
                    std::numeric_limits<std::int32_t>::max() / (2 * network.layer_shapes().size())));
  return options;
}

}  // namespace

device_runner::device_runner(std::shared_ptr<const device::place> where,
                             std::shared_ptr<const models::device_network> network,
                             const device_runner_options& options)
    : where_(std::move(where)),
      network_(std::move(network)),
      options_(checked(options, *network_)),
      operators_(where_->make_operators()),
      cache_(network_->layer_shapes(), cache_options(*network_, options_)),
      work_(where_->make_queue()),
      spilled_(*where_, cache_),
      block_(*where_, std::max(options_.step_tokens, options_.slots)),
      scratch_(network_->make_scratch(std::max(options_.step_tokens, options_.slots))) {
  work_->within([this] {
    const auto on_device = at::TensorOptions(network_->device());
    last_ = at::zeros({options_.slots}, on_device.dtype(at::kInt));
    logits_ = at::empty({score_rows(options_), options_.vocabulary}, on_device.dtype(at::kFloat));
    host_logits_ =
        where_->make_host(static_cast<std::int64_t>(logits_.nbytes())).view(at::kFloat).view(logits_.sizes());
    if (options_.recorded) record_steps();
  });
  work_->wait();
}

device_runner::~device_runner() {
  try {
    work_->wait();
  } catch (...) {  // the device's own failure was told to those who waited for a step
  }
}

/// The largest first: what the others need besides their tensors, it has taken.
void device_runner::record_steps() {
  auto buckets = buckets_for(options_.slots);
  std::ranges::reverse(buckets);
  block_.write({}, {}, cache_, {});
  block_.fill_up(options_.slots);
  block_.send();
  for (const auto rows : buckets) {
    const auto step = [this, rows] {
      const auto hidden =
          network_->forward(*operators_, block_.single_rows(rows), last_, {}, cache_, scratch_.first(rows));
      network_->score(*operators_, hidden, logits_.narrow(0, 0, rows));
    };
    step();  // what is only made once is made now
    if (auto made = work_->record(step)) recordings_[rows] = std::move(made);
  }
}

void device_runner::launch(step_run& step) {
  work_->within([&] {
    prepare_slots(step.plan());
    begin_transfers(step);
    if (step.plan().rows.empty())
      step.done();
    else
      begin_rows(step);
  });
}

void device_runner::prepare_slots(const scheduler::plan& plan) {
  spilled_.clear_lost();
  for (const auto name : plan.drops) spilled_.drop(name);
  for (const int slot : plan.clears) cache_.clear(slot);
  for (const auto& each : plan.truncations) cache_.truncate(each.slot, each.length);
  for (const auto& each : plan.trims) cache_.truncate(each.slot, each.length);
  for (const auto& each : plan.adoptions) cache_.copy(each.of, each.slot, 0, each.length);
  for (const auto& each : plan.copies) cache_.copy(each.from, each.to, each.begin, each.end);
}

void device_runner::begin_transfers(step_run& step) {
  for (const auto& each : step.plan().spills) spilled_.begin(each, *work_, step.transfers());
  for (const auto& each : step.plan().restores) spilled_.begin(each, *work_, step.transfers());
}

void device_runner::begin_rows(step_run& step) {
  const auto& rows = step.plan().rows;
  put_in_order(rows);
  block_.write(rows, order_, cache_, outputs_);
  const bool single = block_.rows().prompts == 0 && !recordings_.empty();
  const auto hidden = single ? run_single() : run_ragged();
  std::vector<cache::step_row> ran;
  ran.reserve(rows.size());
  for (const auto& row : rows) ran.push_back({row.slot, row.count});
  cache_.advance(cache::step(std::move(ran)));
  draw_on_host(step, hidden, single);
}

/// Rows of one token first, each kind as the plan has it. Whose logits are wanted: those that draw, then the others;
/// of steps that are played from a recording, every row has its logits, and they stand in the rows' order.
void device_runner::put_in_order(std::span<const scheduler::row> rows) {
  order_.clear();
  wanted_.clear();
  outputs_.clear();
  const auto add_rows = [&](bool single) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      if ((rows[i].count == 1) == single) order_.push_back(static_cast<int>(i));
  };
  add_rows(true);
  const bool all_single = order_.size() == rows.size() && !recordings_.empty();
  add_rows(false);
  const auto add_wanted = [&](bool samples) {
    std::int32_t first = 0;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const auto& row = rows[static_cast<std::size_t>(order_[i])];
      const auto begin = first;
      first += row.count;
      if (row.wanted == scheduler::output::nothing || (row.wanted == scheduler::output::sample) != samples) continue;
      const auto count = row.wanted == scheduler::output::all_logits ? row.count : 1;
      const auto at = all_single ? static_cast<std::int64_t>(i) : static_cast<std::int64_t>(outputs_.size());
      wanted_.push_back({order_[i], at, count});
      for (auto output = first - count; output < first; ++output) outputs_.push_back(output);
      static_cast<void>(begin);
    }
  };
  add_wanted(true);
  add_wanted(false);
}

/// Every row's logits are in logits_ afterwards.
at::Tensor device_runner::run_single() {
  const auto recording = recordings_.lower_bound(block_.rows().single);
  block_.fill_up(recording->first);
  block_.send();
  recording->second->play();
  return logits_;
}

at::Tensor device_runner::run_ragged() {
  block_.send();
  const auto tokens = block_.rows().ids.size(0);
  return network_->forward(*operators_, block_.rows(), last_, block_.outputs(), cache_, scratch_.first(tokens));
}

void device_runner::draw_on_host(step_run& step, const at::Tensor& hidden, bool scored) {
  const auto width = static_cast<std::size_t>(options_.vocabulary);
  const auto& rows = step.plan().rows;
  std::vector<std::vector<float>> gathered(rows.size());
  const auto total = scored ? block_.rows().single : static_cast<std::int64_t>(outputs_.size());
  for (std::int64_t first = 0; first < total; first += logits_.size(0)) {
    const auto count = std::min(total - first, logits_.size(0));
    if (!scored) network_->score(*operators_, hidden.narrow(0, first, count), logits_.narrow(0, 0, count));
    host_logits_.narrow(0, 0, count).copy_(logits_.narrow(0, 0, count), true);
    work_->wait();
    for (const auto& want : wanted_) {
      const auto begin = std::max(want.first, first);
      const auto end = std::min(want.first + want.count, first + count);
      if (begin >= end) continue;
      float* const scores = host_logits_.mutable_data_ptr<float>() + (begin - first) * options_.vocabulary;
      const auto index = static_cast<std::size_t>(want.row);
      if (rows[index].wanted == scheduler::output::sample) {
        auto& outcome = step.outcomes()[index] = step.drawer_of(want.row).draw({scores, width});
        last_.select(0, rows[index].slot).fill_(outcome.chosen.id);
      } else {
        gathered[index].insert(gathered[index].end(), scores, scores + (end - begin) * options_.vocabulary);
      }
    }
  }
  for (const auto& want : wanted_) {
    const auto index = static_cast<std::size_t>(want.row);
    if (rows[index].wanted != scheduler::output::sample)
      step.outcomes()[index].scores = logits(std::move(gathered[index]), options_.vocabulary);
  }
  if (total == 0) work_->wait();
  step.done();
}

}  // namespace cogen::detail
