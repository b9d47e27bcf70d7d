#include "runner/device_runner.hpp"

#include "nn/device_layout.hpp"
#include "runner/diagnostics_of.hpp"
#include "runner/sample_row.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cassert>
#include <exception>
#include <new>
#include <stdexcept>
#include <utility>

namespace cogen::detail {

namespace {

/// The least number of logits rows that are computed at a time; more if a step can have more samples.
constexpr std::int64_t least_logits_rows = 64;

/// The numbers of tokens for which graphs are captured, up to `most`. A step replays the smallest graph that holds its
/// tokens.
std::vector<std::int64_t> buckets_for(std::int64_t most) {
  std::vector<std::int64_t> buckets;
  for (std::int64_t n = 1; n < most; n += n < 4 ? n : n < 32 ? 8 - n % 8 : n < 64 ? 16 : 32) buckets.push_back(n);
  buckets.push_back(most);
  return buckets;
}

/// Of a row in steps that replay a graph: drafts, forced tokens, the end of a prompt. Graphs do not know which tokens
/// follow one another, as states have to.
int max_recorded_row(const device_slots& slots) { return slots.kv.has_states() ? 1 : slots.where->max_recorded_row(); }

/// Tokens of such a step, which computes the logits of each.
std::int64_t max_recorded_tokens(const device_slots& slots, const device_runner_options& options) {
  if (max_recorded_row(slots) == 1) return slots.count();
  return std::min(logits_rows(slots.count(), options), step_tokens(slots.count(), options));
}

std::unique_ptr<device::operators> operators_of(const device::backend& where, const device_runner_options& options) {
  return options.batch_invariant ? where.make_batch_invariant_operators() : where.make_operators();
}

/// Fails the row if memory is short.
void add_scores(step& step, std::size_t row, std::vector<float>& scores, std::span<const float> more) noexcept try {
  scores.insert(scores.end(), more.begin(), more.end());
} catch (...) {
  step.set_output(row, {.error = diagnostics_of(std::current_exception())});
}

}  // namespace

std::int64_t logits_rows(int slots, const device_runner_options& options) {
  return std::max<std::int64_t>(slots + options.max_draft_tokens, least_logits_rows);
}

std::int64_t step_tokens(int slots, const device_runner_options& options) {
  return std::max(options.max_batched_tokens, slots);
}

device_runner::device_runner(std::shared_ptr<const nn::device_network> network, std::shared_ptr<device_slots> slots,
                             std::string snapshot_format, swap_room room, const device_runner_options& options)
    : caching_runner(slots, std::move(snapshot_format), std::move(room)),
      network_(std::move(network)),
      slots_(std::move(slots)),
      options_(options),
      operators_(operators_of(*slots_->where, options_)),
      prefetcher_(slots_->kv.on_host() ? std::make_unique<nn::kv_prefetcher>(*slots_->where, *slots_->work, slots_->kv)
                                       : nullptr),
      recorded_(*slots_->where, max_recorded_tokens(*slots_, options_)),
      ragged_(*slots_->where, step_tokens(slots_->count(), options_)),
      sampling_(*slots_->where, logits_rows(slots_->count(), options_)),
      scratch_(network_->make_scratch(step_tokens(slots_->count(), options_), nn::has_sinks(slots_->kv))),
      encoder_(network_->has_encoder() ? std::make_unique<nn::encoder_reader>(*slots_->where, *network_, slots_->kv)
                                       : nullptr) {
  nn::check_offsets(slots_->kv);
  const auto on_device = at::TensorOptions(network_->device());
  const auto most = logits_rows(slots_->count(), options_);
  last_ = at::zeros({slots_->count() + most}, on_device.dtype(at::kInt));
  logits_ = at::empty({most, options_.vocabulary}, on_device.dtype(at::kFloat));
  host_logits_ =
      slots_->where->make_host(static_cast<std::int64_t>(logits_.nbytes())).view(at::kFloat).view(logits_.sizes());
}

device_runner::~device_runner() {
  try {
    slots_->work->wait();
  } catch (...) {  // the steps that a device error ended have already reported it
  }
}

/// Libraries allocate now, on this thread, what they allocate on first use.
void device_runner::start() {
  slots_->where->synchronize();
  slots_->work->run_on_stream([this] {
    const auto tokens = std::min(options_.max_batched_tokens, slots_->kv.max_sequence_length());
    slots_->kv.reserve(0, tokens);  // where the tokens of no slot are written
    if (tokens > 1) warm_up(0, tokens);
    if (tokens > 2) warm_up(1, tokens - 1);
    warm_up(1, 0);
    if (options_.recorded && !prefetcher_) record_steps();
  });
  slots_->work->wait();
  slots_->kv.clear(0);
  check_ranks();
}

/// Runs a step of tokens that belong to no slot.
void device_runner::warm_up(std::int64_t single, std::int64_t prompt) {
  ragged_.write_nothing(single, prompt);
  const auto hidden = forward({});
  network_->score(*operators_, hidden, logits_.narrow(0, 0, 1));
  sampling_.begin(1);
  sampling_.run(*operators_, logits_.narrow(0, 0, 1), last_);
}

/// Captures the largest graph first: its memory, beyond the tensors, suffices for the smaller ones.
void device_runner::record_steps() {
  const auto most = max_recorded_tokens(*slots_, options_);
  auto buckets = buckets_for(most);
  std::ranges::reverse(buckets);
  recorded_.write_each({}, slots_->kv, most);
  recorded_.send();
  for (const auto tokens : buckets) {
    const auto step = [this, tokens] {
      const auto hidden = network_->forward(*operators_, recorded_.single_rows(tokens), last_, {}, {slots_->kv},
                                            scratch_.first(tokens));
      network_->score(*operators_, hidden, logits_.narrow(0, 0, tokens));
    };
    step();  // makes one-time allocations before the capture
    if (auto made = slots_->work->record(step)) graphs_[tokens] = std::move(made);
  }
}

void device_runner::launch(step& step) {
  slots_->work->run_on_stream([&] {
    prepare_slots(step);
    if (step.rows.empty())
      step.done();
    else
      begin_rows(step);
  });
}

/// Once for each request, before its first tokens.
void device_runner::read_encoder_inputs(const scheduler::step& step) {
  for (const auto& row : step.rows)
    if (row.encoder_input) encoder_->read(*operators_, *slots_->work, row.slot, *row.encoder_input);
  check_ranks();
}

void device_runner::begin_rows(step& step) {
  assert(in_flight_ < max_in_flight && "a buffer is still in use");
  const auto& rows = step.rows;
  read_encoder_inputs(step);
  reserve_memory(step);
  const bool recorded = is_recorded(rows);
  put_in_order(step, recorded);
  if (rows_.empty()) return step.done();
  const auto hidden = recorded ? run_recorded() : run_ragged();
  std::vector<cache::step_row> ran;
  ran.reserve(order_.size());
  for (const int index : order_) {
    const auto& row = rows[static_cast<std::size_t>(index)];
    ran.push_back({row.slot, row.count});
  }
  slots_->kv.advance(cache::step(std::move(ran)));

  const auto total = recorded ? tokens_ : static_cast<std::int64_t>(outputs_.size());
  const auto first = std::min(total, logits_.size(0));
  if (!recorded && first > 0) network_->score(*operators_, hidden.narrow(0, 0, first), logits_.narrow(0, 0, first));
  if (!samples()) return follow(step, hidden, total);
  const bool host_sees_some = describe_sampling(step, first);
  if (first > 0) sampling_.run(*operators_, logits_.narrow(0, 0, first), last_);
  if (host_sees_some) return show_to_host(step, hidden, total);
  share_sampled(step);
  finish_on_device(step);
}

/// Rows fail for which there is none.
void device_runner::reserve_memory(step& step) {
  auto& kv = slots_->kv;
  for (std::size_t index = 0; index < step.rows.size(); ++index) {
    auto& row = step.rows[index];
    try {
      kv.reserve(row.slot, row.count);
    } catch (const std::bad_alloc&) {
      step.set_output(index, {.error = {error::out_of_memory,
                                        "the device refuses memory for keys and values of the sequence's tokens"}});
      row.held = kv.held(row.slot);
      kv.lose(row.slot, row.count);
    }
  }
}

bool device_runner::samples() const { return network_->ranks() == nullptr || network_->ranks()->place().is_first(); }

/// Scores as often as rank 0 does, which gets the logits.
void device_runner::follow(step& step, const at::Tensor& hidden, std::int64_t total) {
  sampling_.begin(0);
  for (auto first = logits_.size(0); first < total; first += logits_.size(0)) {
    const auto count = std::min(total - first, logits_.size(0));
    network_->score(*operators_, hidden.narrow(0, first, count), logits_.narrow(0, 0, count));
  }
  share_sampled(step);
  finish_on_device(step);
}

/// What a chained row of the next step reads.
void device_runner::share_sampled(const scheduler::step& step) {
  const auto is_sampled = [](const auto& row) { return row.wanted == scheduler::output::sample; };
  if (network_->ranks() && std::ranges::any_of(step.rows, is_sampled))
    network_->ranks()->broadcast(last_.narrow(0, 0, slots_->count()));
}

/// Call it when the device has ended what was enqueued.
void device_runner::check_ranks() const {
  if (!network_->ranks()) return;
  if (const auto error = network_->ranks()->failure()) std::rethrow_exception(error);
}

device_runner::token_part device_runner::wanted_for(purpose what, const scheduler::row& row) {
  const bool samples = row.wanted == scheduler::output::sample;
  switch (what) {
    case purpose::sample:
      return samples ? token_part{row.count - 1 - row.drafts, 1 + row.drafts} : token_part{};
    case purpose::score:
      return {0, row.scores()};
    case purpose::output:
      break;
  }
  return samples || row.scored ? token_part{} : token_part{row.count - row.outputs(), row.outputs()};
}

/// Whether there is a graph for the step.
bool device_runner::is_recorded(std::span<const scheduler::row> rows) const {
  if (graphs_.empty()) return false;
  const int most = max_recorded_row(*slots_);
  std::int64_t tokens = 0;
  for (const auto& row : rows) {
    if (row.count > most) return false;
    tokens += row.count;
  }
  return tokens <= graphs_.rbegin()->first;
}

/// Puts rows of one token first; both kinds stay in the step's order. Rows that have failed are left out. Lists the
/// tokens whose logits are wanted, by purpose. A replayed step computes logits for every token, in their order.
void device_runner::put_in_order(const scheduler::step& step, bool recorded) {
  static constexpr std::array<token, 1> last_sampled{-1};
  const auto& rows = step.rows;
  order_.clear();
  rows_.clear();
  outputs_.clear();
  tokens_ = 0;
  const auto add_rows = [&](bool single) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if ((rows[i].count == 1) != single || rows[i].failed) continue;
      order_.push_back(static_cast<int>(i));
      rows_.push_back({rows[i].slot, rows[i].chained ? last_sampled : step.tokens_of(rows[i])});
      tokens_ += rows[i].count;
    }
  };
  add_rows(true);
  add_rows(false);
  auto& wanted = wanted_by_turn_[1 - sampling_.turn()];
  wanted.clear();
  for (const auto what : {purpose::sample, purpose::score, purpose::output}) {
    std::int32_t begin = 0;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const auto& row = rows[static_cast<std::size_t>(order_[i])];
      const auto part = wanted_for(what, row);
      const auto first = begin + part.begin;
      begin += row.count;
      if (part.count == 0) continue;
      wanted.push_back({order_[i], what, recorded ? first : static_cast<std::int64_t>(outputs_.size()), part.count});
      for (auto output = first; output < first + part.count; ++output) outputs_.push_back(output);
    }
  }
}

/// Replays a graph, which writes the logits of every token to logits_.
at::Tensor device_runner::run_recorded() {
  const auto graph = graphs_.lower_bound(tokens_);
  recorded_.write_each(rows_, slots_->kv, graph->first);
  recorded_.send();
  graph->second->replay();
  return {};
}

at::Tensor device_runner::run_ragged() {
  ragged_.write(rows_, slots_->kv, outputs_);
  return forward(rows_);
}

/// Runs the step that was written to ragged_. `rows` are its rows; none for a dummy prompt.
at::Tensor device_runner::forward(std::span<const nn::token_row> rows) {
  ragged_.send();
  if (prefetcher_) prefetcher_->begin(rows);
  const auto tokens = ragged_.rows().ids.size(0);
  auto hidden = network_->forward(*operators_, ragged_.rows(), last_, ragged_.outputs(),
                                  {slots_->kv, prefetcher_.get()}, scratch_.first(tokens));
  if (prefetcher_) prefetcher_->end();
  return hidden;
}

/// Describes the sampling of the step to the device. True if the host needs some of the logits. Rows that sample are
/// among the first `logits` ones.
bool device_runner::describe_sampling(step& step, std::int64_t logits) {
  sampling_.begin(logits);
  bool host_sees_some = false;
  for (auto& each : wanted_by_turn_[sampling_.turn()]) {
    if (each.what == purpose::sample) {
      each.by = describe(step, each);
      const auto& row = step.rows[static_cast<std::size_t>(each.row)];
      const auto described = each.by == sampled_by::device ? each.described : 0;
      for (std::int64_t i = 0; i < each.count; ++i)
        sampling_.row(each.first + i).slot = i < described ? kept_in(row, each.first + i) : -1;
    }
    host_sees_some |= each.by == sampled_by::host;
  }
  return host_sees_some;
}

/// The entry of last_ in which a token is kept: the slot's, which a chained row reads, or one that nothing reads, for
/// the samples of a row with drafts.
std::int32_t device_runner::kept_in(const scheduler::row& row, std::int64_t sample) const {
  return static_cast<std::int32_t>(row.drafts == 0 ? row.slot : slots_->count() + sample);
}

/// Fails the row if its guide or memory does; with drafts, there are no samples from there on.
device_runner::sampled_by device_runner::describe(step& step, wanted_rows& samples) try {
  const auto index = static_cast<std::size_t>(samples.row);
  const auto& row = step.rows[index];
  const auto drafts = step.drafts_of(row);
  auto& sampler = step.sampler_of(index);
  for (std::size_t i = 0; i <= drafts.size(); ++i) {
    auto& how = sampling_.row(samples.first + static_cast<std::int64_t>(i));
    if (!sampler.describe(row.chained, how, sampling_.lists(), drafts.first(i))) return sampled_by::host;
    ++samples.described;
  }
  return sampled_by::device;
} catch (...) {
  if (samples.described > 0) return sampled_by::device;
  step.set_output(static_cast<std::size_t>(samples.row), {.error = diagnostics_of(std::current_exception())});
  return sampled_by::none;
}

/// How a step has ended whose work has ended with `error` on this device.
std::exception_ptr device_runner::told_to_ranks(const std::exception_ptr& error) const noexcept {
  auto* const ranks = network_->ranks();
  if (!ranks) return error;
  if (auto why = ranks->failure()) return why;
  if (error) ranks->fail(sentence_of(error));
  return error;
}

void device_runner::finish_on_device(step& step) {
  ++in_flight_;
  slots_->work->then([this, &step, turn = sampling_.turn()](std::exception_ptr error) {
    error = told_to_ranks(error);
    if (!error) take_sampled(step, turn);
    --in_flight_;
    step.done(std::move(error));
  });
}

row_output device_runner::outcome_of(std::size_t turn, std::int64_t sample) const noexcept try {
  return device_outcome(sampling_.status(turn, sample), sampling_.sampled(turn, sample));
} catch (...) {
  return {.error = diagnostics_of(std::current_exception()), .by_device = true};
}

void device_runner::take_sampled(step& step, std::size_t turn) {
  for (const auto& each : wanted_by_turn_[turn]) {
    const auto index = static_cast<std::size_t>(each.row);
    if (each.by != sampled_by::device || step.rows[index].failed) continue;
    step.set_output(index, outcome_of(turn, each.first));
    for (int i = 1; i < each.described; ++i) step.set_output_after(index, i - 1, outcome_of(turn, each.first + i));
  }
}

void device_runner::sample(step& step, std::size_t row, std::span<float> scores) {
  sample_row(step, row, scores);
  last_.select(0, step.rows[row].slot).fill_(step.rows[row].sampled);
}

/// Scores tokens of a row from number `first` on.
void device_runner::score_prompt(step& step, std::size_t row, int first, std::span<const float> scores) {
  const auto width = static_cast<std::size_t>(options_.vocabulary);
  first += slots_->kv.length(step.rows[row].slot) - step.rows[row].count;
  for (; !scores.empty(); scores = scores.subspan(width), ++first)
    if (auto error = step.sampler_of(row).score_prompt(scores.first(width), first))
      return step.set_output(row, {.error = std::move(error)});
}

/// Copies the logits that the host wants, of at most as many rows at a time as logits_ has. Samples and scores there,
/// or gathers the logits.
void device_runner::show_to_host(step& step, const at::Tensor& hidden, std::int64_t total) {
  const auto width = static_cast<std::size_t>(options_.vocabulary);
  const auto& rows = step.rows;
  const auto for_each_shown = [&](std::int64_t first, std::int64_t count, const auto& use) {
    for (const auto& each : wanted_by_turn_[sampling_.turn()]) {
      const auto begin = std::max(each.first, first), end = std::min(each.first + each.count, first + count);
      if (begin < end && each.by == sampled_by::host) use(each, begin, end);
    }
  };
  std::vector<std::vector<float>> gathered(rows.size());
  for (std::int64_t first = 0; first < total; first += logits_.size(0)) {
    const auto count = std::min(total - first, logits_.size(0));
    if (first > 0) network_->score(*operators_, hidden.narrow(0, first, count), logits_.narrow(0, 0, count));
    for_each_shown(first, count, [&](const wanted_rows&, std::int64_t begin, std::int64_t end) {
      host_logits_.narrow(0, begin - first, end - begin).copy_(logits_.narrow(0, begin - first, end - begin), true);
    });
    slots_->work->wait();
    check_ranks();
    for_each_shown(first, count, [&](const wanted_rows& each, std::int64_t begin, std::int64_t end) {
      const std::span scores(host_logits_.mutable_data_ptr<float>() + (begin - first) * options_.vocabulary,
                             static_cast<std::size_t>(end - begin) * width);
      const auto index = static_cast<std::size_t>(each.row);
      switch (each.what) {
        case purpose::sample:
          return sample(step, index, scores);
        case purpose::score:
          return score_prompt(step, index, static_cast<int>(begin - each.first), scores);
        case purpose::output:
          return add_scores(step, index, gathered[index], scores);
      }
    });
  }
  for (const auto& each : wanted_by_turn_[sampling_.turn()]) {
    const auto index = static_cast<std::size_t>(each.row);
    if (each.what == purpose::output && !rows[index].failed)
      step.set_output(index, {.scores = logits(std::move(gathered[index]), options_.vocabulary)});
  }
  take_sampled(step, sampling_.turn());
  share_sampled(step);
  step.done();
}

}  // namespace cogen::detail
