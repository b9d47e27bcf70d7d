#include "engine/runner/device_runner.hpp"

#include "engine/runner/diagnostics_of.hpp"
#include "engine/runner/row_outputs.hpp"
#include "network/nn/device/device_layout.hpp"

#include <cogen/guide.hpp>

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

/// The least number of tokens for which graphs are captured; more if a step can have more samples.
constexpr std::int64_t min_recorded_tokens = 64;

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
  const auto samples = std::int64_t{slots.count()} + options.max_draft_tokens;
  return std::min(std::max(samples, min_recorded_tokens), step_tokens(slots.count(), options));
}

std::unique_ptr<device::operators> operators_of(const device::backend& where, const device_runner_options& options) {
  return options.batch_invariant ? where.make_batch_invariant_operators() : where.make_operators();
}

}  // namespace

std::int64_t logits_rows(int slots, const device_runner_options& options) {
  return std::int64_t{slots} + options.max_draft_tokens + device_runner::max_all_logits_tokens;
}

std::int64_t step_tokens(int slots, const device_runner_options& options) {
  return std::max(options.max_batched_tokens, slots);
}

device_runner::device_runner(std::shared_ptr<const nn::device_model> model, std::shared_ptr<device_slots> slots,
                             std::string snapshot_format, swap_room room, const device_runner_options& options)
    : caching_runner(slots, std::move(snapshot_format), std::move(room)),
      model_(std::move(model)),
      slots_(std::move(slots)),
      options_(options),
      operators_(operators_of(*slots_->where, options_)),
      prefetcher_(slots_->kv.on_host() ? std::make_unique<nn::kv_prefetcher>(*slots_->where, *slots_->work, slots_->kv)
                                       : nullptr),
      step_(*model_, *operators_,
            {.tokens = step_tokens(slots_->count(), options_),
             .slots = slots_->count(),
             .samples = logits_rows(slots_->count(), options_),
             .sinks = nn::has_sinks(slots_->kv)}),
      recorded_(*slots_->where, max_recorded_tokens(*slots_, options_)),
      sampling_(*slots_->where,
                std::max(logits_rows(slots_->count(), options_), step_tokens(slots_->count(), options_))) {
  nn::check_offsets(slots_->kv);
  if (model_->has_encoder())
    encoder_step_.emplace(*model_, *operators_,
                          nn::device_step::room{.tokens = slots_->kv.max_encoder_length(), .slots = slots_->count()});
  logits_ = at::empty({logits_rows(slots_->count(), options_), options_.vocabulary},
                      at::TensorOptions(slots_->where->device()).dtype(at::kFloat));
  for (auto& each : host_logits_)
    each = slots_->where->make_host(static_cast<std::int64_t>(logits_.nbytes())).view(at::kFloat).view(logits_.sizes());
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
  const auto hidden = step_.warm_up(single, prompt, slots_->kv, prefetcher_.get());
  sampling_.begin(1);
  score_and_sample(hidden, 1, {});
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
      const auto hidden = model_->forward(*operators_, recorded_.single_rows(tokens), step_.last(), {}, {slots_->kv},
                                          step_.scratch().first(tokens));
      model_->score(*operators_, hidden, logits_.narrow(0, 0, tokens));
    };
    step();  // makes one-time allocations before the capture
    if (auto graph = slots_->work->record(step)) graphs_[tokens] = std::move(graph);
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
    if (row.encoder_input) encoder_step_->encode(row.slot, *row.encoder_input, slots_->kv, *slots_->work);
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
  at::Tensor hidden;
  if (recorded)
    run_recorded();
  else
    hidden = step_.forward(rows_, outputs_, slots_->kv, prefetcher_.get());
  std::vector<cache::step_row> ran;
  ran.reserve(order_.size());
  for (const int index : order_) {
    const auto& row = rows[static_cast<std::size_t>(index)];
    ran.push_back({row.slot, row.count});
  }
  slots_->kv.advance(cache::step(std::move(ran)));

  const auto total = recorded ? tokens_ : std::ssize(outputs_);
  write_samples(step, total);
  score_and_sample(hidden, total, step.sampling.lists);
  broadcast_tokens(step);
  end_after_device(step);
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

bool device_runner::samples() const { return !model_->collectives || model_->collectives->place().is_first(); }

/// Computes the logits of a step, unless a graph has and there are no hidden states, and samples from them on rank 0,
/// which alone gets them.
void device_runner::score_and_sample(const at::Tensor& hidden, std::int64_t total, const sampling_lists& lists) {
  if (samples() && total > 0) sampling_.send(lists);
  if (hidden.defined())
    step_.score(hidden, logits_, [this](std::int64_t first, const at::Tensor& logits) { sample_from(first, logits); });
  else
    sample_from(0, logits_.narrow(0, 0, total));
  if (samples() && total > 0) sampling_.receive();
}

/// `logits` are those of the step from `first` on.
void device_runner::sample_from(std::int64_t first, const at::Tensor& logits) {
  if (samples()) sampling_.sample(*operators_, logits, first, step_.last());
  if (first == 0) copy_logits_to_host();
}

/// Enqueues the copy of the logits that the host wants, which are among the first ones.
void device_runner::copy_logits_to_host() {
  const auto turn = sampling_.turn();
  for (const auto& each : wanted_by_turn_[turn])
    if (each.sampler == sampled_by::host)
      host_logits_[turn].narrow(0, each.first, each.count).copy_(logits_.narrow(0, each.first, each.count), true);
}

/// What a chained row of the next step reads.
void device_runner::broadcast_tokens(const scheduler::step& step) {
  const auto is_sampled = [](const auto& row) { return row.wanted == scheduler::output::sample; };
  if (model_->collectives && std::ranges::any_of(step.rows, is_sampled))
    model_->collectives->broadcast(step_.last().narrow(0, 0, slots_->count()));
}

/// Call it when the device has ended what was enqueued.
void device_runner::check_ranks() const {
  if (!model_->collectives) return;
  if (const auto error = model_->collectives->failure()) std::rethrow_exception(error);
}

device_runner::token_part device_runner::wanted_for(purpose use, const scheduler::row& row) {
  const bool samples = row.wanted == scheduler::output::sample;
  switch (use) {
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
  for (const auto use : {purpose::sample, purpose::output, purpose::score}) {
    std::int32_t begin = 0;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const auto& row = rows[static_cast<std::size_t>(order_[i])];
      const auto part = wanted_for(use, row);
      const auto first = begin + part.begin;
      begin += row.count;
      if (part.count == 0) continue;
      wanted.push_back({order_[i], use, recorded ? first : std::ssize(outputs_), part.count});
      for (auto output = first; output < first + part.count; ++output) outputs_.push_back(output);
    }
  }
}

/// Replays a graph, which writes the logits of every token to logits_.
void device_runner::run_recorded() {
  const auto graph = graphs_.lower_bound(tokens_);
  recorded_.write_each(rows_, slots_->kv, graph->first);
  recorded_.send();
  graph->second->replay();
}

/// Writes what the device samples and scores of the step's rows of logits. Nothing on other ranks than the first, where
/// the host gets no logits, either.
void device_runner::write_samples(step& step, std::int64_t logits) {
  sampling_.begin(samples() ? logits : 0);
  auto& wanted = wanted_by_turn_[sampling_.turn()];
  if (!samples()) return wanted.clear();
  for (auto& each : wanted) {
    assert((each.use == purpose::score || each.first + each.count <= logits_.size(0)) && "beyond the host's rows");
    if (each.use == purpose::sample) each.sampler = write_samples_of(step, each);
    if (each.use == purpose::score) each.sampler = write_scores_of(step, each);
  }
}

/// The entry of step_.last() in which a token is kept: the slot's, which a chained row reads, or one that nothing
/// reads, for the samples of a row with drafts.
std::int32_t device_runner::kept_in(const scheduler::row& row, std::int64_t sample) const {
  return static_cast<std::int32_t>(row.drafts == 0 ? row.slot : slots_->count() + sample);
}

/// Fails the row if its guide or memory does; with drafts, there are no samples from there on.
device_runner::sampled_by device_runner::write_samples_of(step& step, wanted_rows& wanted) try {
  const auto index = static_cast<std::size_t>(wanted.row);
  const auto& row = step.rows[index];
  auto& batch = step.sampling;
  const auto& settings = batch.rows[index];
  const auto* const samples = batch.samples.data() + settings.first + row.scores();
  if (settings.is_out_of_memory || samples->by_host) return sampled_by::host;
  for (int drafts = 0; drafts <= row.drafts; ++drafts, ++wanted.written) {
    const auto number = wanted.first + drafts;
    auto sample = samples[drafts];
    if (settings.masks) {
      const auto mask = settings.masks->mask_after(step.drafts_of(row).first(static_cast<std::size_t>(drafts)));
      sample.mask = {static_cast<std::uint32_t>(batch.lists.masks.size()), static_cast<std::uint32_t>(mask.size())};
      batch.lists.masks.insert(batch.lists.masks.end(), mask.begin(), mask.end());
    }
    sample.slot = kept_in(row, number);
    sampling_.row(number) = sample;
  }
  return sampled_by::device;
} catch (const guide_postponed&) {
  return wanted.written > 0 ? sampled_by::device : sampled_by::host;
} catch (...) {
  if (wanted.written > 0) return sampled_by::device;
  step.set_output(static_cast<std::size_t>(wanted.row), {.error = diagnostics_of(std::current_exception())});
  return sampled_by::none;
}

device_runner::sampled_by device_runner::write_scores_of(step& step, wanted_rows& wanted) {
  const auto& settings = step.sampling.rows[static_cast<std::size_t>(wanted.row)];
  if (settings.is_out_of_memory) {
    step.set_output(static_cast<std::size_t>(wanted.row), {.error = error::out_of_memory});
    return sampled_by::none;
  }
  for (; wanted.written < wanted.count; ++wanted.written)
    sampling_.row(wanted.first + wanted.written) =
        step.sampling.samples[settings.first + static_cast<std::size_t>(wanted.written)];
  return sampled_by::device;
}

/// How a step has ended whose work has ended with `error` on this device.
std::exception_ptr device_runner::propagate_error(const std::exception_ptr& error) const noexcept {
  auto* const ranks = model_->collectives.get();
  if (!ranks) return error;
  if (auto why = ranks->failure()) return why;
  if (error) ranks->fail(sentence_of(error));
  return error;
}

/// Ends the step when the device has; where the host samples rows of it, on the engine's thread.
void device_runner::end_after_device(step& step) {
  ++in_flight_;
  slots_->work->then([this, &step, turn = sampling_.turn()](std::exception_ptr error) {
    error = propagate_error(error);
    if (error) return end(step, std::move(error));
    take_results(step, turn);
    const auto& wanted = wanted_by_turn_[turn];
    const auto is_left = [](const auto& entry) {
      return entry.use == purpose::sample && entry.sampler == sampled_by::host;
    };
    if (std::ranges::none_of(wanted, is_left)) return end(step, nullptr);
    sampled_on_host_[turn] = &step;
    step.swaps().post_to_engine_thread([this, turn] { sample_on_host(turn); });
  });
}

void device_runner::end(step& step, std::exception_ptr error) {
  --in_flight_;
  step.done(std::move(error));
}

void device_runner::take_results(step& step, std::size_t turn) {
  for (const auto use : {purpose::score, purpose::sample, purpose::output})
    for (const auto& each : wanted_by_turn_[turn])
      if (each.use == use && !step.rows[static_cast<std::size_t>(each.row)].failed) take(step, each, turn);
}

void device_runner::take(step& step, const wanted_rows& wanted, std::size_t turn) {
  const auto index = static_cast<std::size_t>(wanted.row);
  switch (wanted.use) {
    case purpose::output:
      return step.set_output(index, logits_output(logits_of(wanted, turn), options_.vocabulary));
    case purpose::score:
      return take_scores(step, wanted, turn);
    case purpose::sample:
      if (wanted.sampler != sampled_by::device) return;
      for (int drafts = 0; drafts < wanted.written; ++drafts)
        step.set_output(index, result_of(turn, wanted.first + drafts), drafts);
  }
}

void device_runner::take_scores(step& step, const wanted_rows& wanted, std::size_t turn) {
  for (int i = 0; i < wanted.written; ++i)
    step.set_score(static_cast<std::size_t>(wanted.row), i, result_of(turn, wanted.first + i));
}

row_output device_runner::result_of(std::size_t turn, std::int64_t sample) const noexcept try {
  return output_of(sampling_.status(turn, sample), sampling_.sampled(turn, sample));
} catch (...) {
  return {.error = diagnostics_of(std::current_exception())};
}

/// Those of the rows, on the host: [count, vocabulary].
std::span<float> device_runner::logits_of(const wanted_rows& wanted, std::size_t turn) const {
  return {host_logits_[turn].mutable_data_ptr<float>() + wanted.first * options_.vocabulary,
          static_cast<std::size_t>(wanted.count * options_.vocabulary)};
}

/// And ends the step, whose other rows have their results.
void device_runner::sample_on_host(std::size_t turn) {
  auto& step = *sampled_on_host_[turn];
  for (const auto& each : wanted_by_turn_[turn]) {
    const auto index = static_cast<std::size_t>(each.row);
    if (each.use == purpose::sample && each.sampler == sampled_by::host && !step.rows[index].failed)
      step.sample(index, logits_of(each, turn));
  }
  end(step, nullptr);
}

}  // namespace cogen::detail
