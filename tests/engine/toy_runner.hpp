#pragma once

#include "engine/runner/row_outputs.hpp"
#include "external_stepping.hpp"
#include "manual_clock.hpp"
#include "sampling/described_sampling.hpp"

#include <cogen/engine.hpp>
#include <cogen/extend/runner.hpp>
#include <cogen/guide.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>
#include <vector>

namespace cogen::test {

constexpr int toy_vocabulary = 97;

/// What the toy model says after `tokens`: one token far ahead of the others, which depends on all of them.
inline token toy_next(std::span<const token> tokens) {
  std::uint64_t state = 1469598103934665603u;
  for (const token each : tokens) state = (state ^ static_cast<std::uint64_t>(each + 1)) * 1099511628211u;
  return static_cast<token>((state >> 20) % toy_vocabulary);
}

inline std::vector<float> toy_scores(std::span<const token> tokens) {
  std::vector<float> scores(toy_vocabulary);
  for (int i = 0; i < toy_vocabulary; ++i) scores[static_cast<std::size_t>(i)] = static_cast<float>(i % 7) * 0.25f;
  scores[static_cast<std::size_t>(toy_next(tokens))] = 9;
  return scores;
}

/// The greedy continuation of `prompt`, computed alone.
inline std::vector<token> toy_continuation(std::vector<token> prompt, int count) {
  std::vector<token> generated;
  for (int i = 0; i < count; ++i) {
    generated.push_back(toy_next(prompt));
    prompt.push_back(generated.back());
  }
  return generated;
}

/// What tests look at and meddle with while an engine owns the runner.
struct toy_control {
  std::function<void(const scheduler::step&)> on_step;  // may throw: the device fails
  std::map<token, bool> poisoned;                       // a row that holds this token gets NaN for scores
  bool hold = false;                                    // steps end only when `release()` is called
  std::function<void(step&)> at_end;                    // what becomes of held steps then; empty: it is done already
  std::vector<step*> held;
  // Samples described rows on a device, from their scores and the token that the slot keeps; empty: there is none.
  std::function<std::pair<sampling_status, sampled_token>(const sampling_row&, const sampling_lists&,
                                                          std::vector<float>, token)>
      device;
  std::vector<std::vector<sampling_row>> described;  // rows of each step, by_host those that were not
  std::vector<std::vector<token>> slots;
  std::vector<int> batches;  // rows of each step
  int tokens = 0;            // run in all
  int trims = 0;

  void release() {
    for (auto* pending : std::exchange(held, {})) {
      if (at_end) at_end(*pending);
      pending->done();
    }
  }
};

/// Executes steps literally: a slot is the list of its tokens.
class toy_runner final : public runner {
 public:
  toy_runner(std::shared_ptr<toy_control> control, int slots, bool late = false) : control_(std::move(control)) {
    control_->slots.resize(static_cast<std::size_t>(slots));
    if (late) control_->at_end = [this](step& step) { carry_out(step); };
  }

  int vocabulary() const override { return toy_vocabulary; }

  void launch(step& step) override {
    if (control_->on_step) control_->on_step(step);
    if (control_->device) describe(step);
    if (!control_->hold || !control_->at_end) carry_out(step);
    if (control_->hold)
      control_->held.push_back(&step);
    else
      step.done();
  }

  void trim() override { ++control_->trims; }

 private:
  /// What the device gets of a step, with masks.
  struct description {
    std::vector<sampling_row> rows;                  // the first sample of each
    std::vector<std::vector<sampling_row>> samples;  // of each row; by_host: and those behind it
    std::map<std::size_t, diagnostics> errors;       // by row
  };

  void describe(step& step) {
    auto& entry = descriptions_[step.number];
    for (std::size_t i = 0; i < step.rows.size(); ++i) {
      const auto& row = step.rows[i];
      const auto& settings = step.sampling.rows[i];
      auto& described = entry.samples.emplace_back();
      const int samples = row.wanted == scheduler::output::sample ? 1 + row.drafts : 0;
      try {
        for (int n = 0; n < samples; ++n) {
          auto sample = step.sampling.samples[settings.first + static_cast<std::size_t>(row.scores() + n)];
          sample.slot = row.slot;
          if (settings.masks)
            add_mask(settings.masks->mask_after(step.drafts_of(row).first(static_cast<std::size_t>(n))), sample, step);
          described.push_back(sample);
        }
      } catch (const guide_postponed&) {
      } catch (const generation_error& error) {
        if (described.empty()) entry.errors[i] = error.why();
      }
      entry.rows.push_back(described.empty() ? sampling_row{.slot = row.slot, .by_host = true} : described.front());
    }
    control_->described.push_back(entry.rows);
  }

  static void add_mask(token_mask mask, sampling_row& sample, step& step) {
    auto& masks = step.sampling.lists.masks;
    sample.mask = {static_cast<std::uint32_t>(masks.size()), static_cast<std::uint32_t>(mask.size())};
    masks.insert(masks.end(), mask.begin(), mask.end());
  }

  void carry_out(step& step) {
    for (const int each : step.clears) slot(each).clear();
    for (const auto& each : step.truncations) slot(each.slot).resize(static_cast<std::size_t>(each.length));
    for (const auto& each : step.releases) slot(each.slot).resize(static_cast<std::size_t>(each.length));
    for (const auto& each : step.forks)
      slot(each.slot) = {slot(each.source).begin(), slot(each.source).begin() + each.end};
    const auto previous = std::exchange(sampled_, {});
    for (std::size_t i = 0; i < step.rows.size(); ++i) run(step, i, previous);
    if (!step.rows.empty()) control_->batches.push_back(static_cast<int>(step.rows.size()));
  }

  std::vector<token>& slot(int index) { return control_->slots.at(static_cast<std::size_t>(index)); }

  using sampling = std::map<scheduler::sequence_id, token>;

  void run(step& step, std::size_t index, const sampling& previous) {
    const auto& row = step.rows[index];
    auto& held = slot(row.slot);
    std::vector<float> all_scores;
    std::vector<std::vector<float>> samples;
    int scored = 0;
    for (const token each : row.chained ? std::span(&previous.at(row.sequence), 1) : step.tokens_of(row)) {
      held.push_back(each);
      ++control_->tokens;
      const auto scores = scores_of(held);
      if (row.wanted == scheduler::output::all_logits)
        all_scores.insert(all_scores.end(), scores.begin(), scores.end());
      if (row.wanted == scheduler::output::sample) samples.push_back(scores);
      if (scored < row.scores()) step.score(index, scored++, scores);
    }
    if (row.wanted == scheduler::output::sample) sample(step, index, samples);
    if (row.wanted == scheduler::output::last_logits)
      step.set_output(index, {.scores = logits(scores_of(held), toy_vocabulary)});
    if (row.wanted == scheduler::output::all_logits)
      step.set_output(index, {.scores = logits(all_scores, toy_vocabulary)});
  }

  /// From the last of `scores`, one of the row's own tokens and those of its drafts.
  void sample(step& step, std::size_t index, std::vector<std::vector<float>>& scores) {
    const auto& row = step.rows[index];
    scores.erase(scores.begin(), scores.end() - row.drafts - 1);
    if (is_sampled_by_device(step, index)) {
      sample_by_device(step, index, scores);
    } else {
      std::vector<float> all_scores;
      for (const auto& each : scores) all_scores.insert(all_scores.end(), each.begin(), each.end());
      step.sample(index, all_scores);
    }
    last_[row.slot] = sampled_[row.sequence] = std::max(0, step.sampled_after(index, step.accepted_drafts(index)));
  }

  bool is_sampled_by_device(const step& step, std::size_t index) const {
    if (!control_->device) return step.rows[index].chained;  // only who runs it knows the token before
    const auto& entry = descriptions_.at(step.number);
    return !entry.rows[index].by_host || entry.errors.contains(index);
  }

  void sample_by_device(step& step, std::size_t index, const std::vector<std::vector<float>>& scores) {
    const auto& row = step.rows[index];
    const auto drafts = step.drafts_of(row);
    if (!control_->device) return step.set_output(index, sampled_in_turn(step, index, scores.front()));
    const auto& entry = descriptions_.at(step.number);
    if (entry.errors.contains(index)) return step.set_output(index, {.error = entry.errors.at(index)});
    const auto& samples = entry.samples[index];
    for (std::size_t n = 0; n < samples.size(); ++n) {
      const auto [status, sampled] = control_->device(samples[n], step.sampling.lists, scores[n], last_[row.slot]);
      step.set_output(index, detail::output_of(status, sampled), static_cast<int>(n));
      last_[row.slot] = sampled.id;
      if (n == drafts.size() || drafts[n] != step.sampled_of(row, static_cast<int>(n))) return;
    }
  }

  row_output sampled_in_turn(const step& step, std::size_t index, const std::vector<float>& scores) {
    const auto& row = step.rows[index];
    const auto& settings =
        step.sampling.samples[step.sampling.rows[index].first + static_cast<std::size_t>(row.scores())];
    const auto [status, sampled] = described_sampling(settings, step.sampling.lists)(scores, last_[row.slot]);
    return detail::output_of(status, sampled);
  }

  std::vector<float> scores_of(const std::vector<token>& held) const {
    auto scores = toy_scores(held);
    for (const token each : held)
      if (control_->poisoned.contains(each)) scores.assign(scores.size(), std::numeric_limits<float>::quiet_NaN());
    return scores;
  }

  std::shared_ptr<toy_control> control_;
  sampling sampled_;                                   // by the last plan
  std::map<std::uint64_t, description> descriptions_;  // by the plan's number
  std::map<int, token> last_;                          // that the device has sampled in each slot
};

struct toy_setup {
  int slots = 4;
  int spare_slots = 0;  // if there are any, prefixes are cached
  int max_rollback_tokens = std::numeric_limits<int>::max();
  int max_sequence_length = 64;
  int max_batched_tokens = 8;
  int max_draft_tokens = 0;
  std::chrono::nanoseconds target_step_latency = std::chrono::nanoseconds::max();
  std::vector<token> end_tokens = {};
  std::string chat_error = {};
  slot_footprint usage = {};
  std::int64_t memory_bytes = std::numeric_limits<std::int64_t>::max();
  std::chrono::nanoseconds idle_timeout = std::chrono::nanoseconds::max();
  int max_encoder_input = 0;  // 0: no encoder; the toy model says the same whatever it has read
  std::function<std::unique_ptr<scheduler::scheduling_policy>()> scheduling_policy = scheduler::fcfs;
  int depth = 1;      // plans in flight
  bool late = false;  // steps that are held are carried out when they are released
};

/// An engine over the toy model, externally stepped unless the options say otherwise.
struct toy_engine {
  explicit toy_engine(toy_setup setup = {}, engine_options options = {.external_stepping = true})
      : running(parts(setup), std::move(options)) {}

  engine_parts parts(const toy_setup& setup) {
    engine_parts result;
    result.runner = std::make_unique<toy_runner>(control, setup.slots + setup.spare_slots, setup.late);
    result.limits.depth = setup.depth;
    result.limits.slots = setup.slots;
    result.limits.spare_slots = setup.spare_slots;
    result.limits.prefix_caching = setup.spare_slots > 0;
    result.limits.max_rollback_tokens = setup.max_rollback_tokens;
    result.limits.max_sequence_length = setup.max_sequence_length;
    result.limits.max_batched_tokens = setup.max_batched_tokens;
    result.limits.max_draft_tokens = setup.max_draft_tokens;
    result.limits.target_step_latency = setup.target_step_latency;
    result.limits.usage = setup.usage;
    result.limits.memory_bytes = setup.memory_bytes;
    result.limits.idle_timeout = setup.idle_timeout;
    result.end_tokens = setup.end_tokens;
    result.chat_error = setup.chat_error;
    if (setup.max_encoder_input > 0) result.encoder_inputs = {.start = 1, .longest = setup.max_encoder_input};
    result.scheduling_policy = setup.scheduling_policy();
    result.clock = time;
    return result;
  }

  /// Rounds until there is nothing left to do; `context`'s handlers in between.
  void settle(net::io_context& context) { test::settle(running, context); }

  std::shared_ptr<toy_control> control = std::make_shared<toy_control>();
  std::shared_ptr<manual_clock> time = std::make_shared<manual_clock>();
  engine running;
};

/// Rounds in which as many steps are in flight as may be.
inline void go_on(toy_engine& toy, net::io_context& context, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    for (int launched = 0; launched < 3; ++launched) toy.running.poll_one();
    toy.control->release();
    context.restart();
    context.poll();
  }
}

}  // namespace cogen::test
