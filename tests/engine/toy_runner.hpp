#pragma once

#include "external_stepping.hpp"
#include "manual_clock.hpp"

#include <cogen/engine.hpp>
#include <cogen/extend/runner.hpp>

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
  std::function<void(const scheduler::step&)> before;  // may throw: the device fails
  std::map<token, bool> poisoned;                      // a row that holds this token gets NaN for scores
  bool hold = false;                                   // steps end only when `release()` is called
  std::function<void(step&)> at_end;                   // what becomes of held steps then; empty: it is done already
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
    for (auto* each : std::exchange(held, {})) {
      if (at_end) at_end(*each);
      each->done();
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
    if (control_->before) control_->before(step);
    if (control_->device) describe(step);
    if (!control_->hold || !control_->at_end) carry_out(step);
    if (control_->hold)
      control_->held.push_back(&step);
    else
      step.done();
  }

  void trim() override { ++control_->trims; }

 private:
  struct description {
    std::vector<sampling_row> rows;
    std::vector<sampling_row> after_drafts;  // of all rows, concatenated
    sampling_lists lists;
    std::map<std::size_t, diagnostics> errors;  // by row
  };

  void describe(step& step) {
    auto& made = descriptions_[step.number];
    for (std::size_t i = 0; i < step.rows.size(); ++i) {
      const auto& row = step.rows[i];
      auto& how = made.rows.emplace_back();
      how.slot = row.slot;
      try {
        how.by_host =
            row.wanted != scheduler::output::sample || !step.sampler_of(i).describe(row.chained, how, made.lists);
      } catch (const generation_error& error) {
        made.errors[i] = error.why();
      }
      bool is_allowed = !made.errors.contains(i);
      for (int draft = 0; draft < row.drafts; ++draft) {
        auto& after = made.after_drafts.emplace_back();
        is_allowed = is_allowed && describe_after(step, i, draft + 1, made);
        after.slot = is_allowed ? row.slot : -1;
      }
    }
    control_->described.push_back(made.rows);
  }

  /// False if the guide does not allow these drafts.
  static bool describe_after(step& step, std::size_t index, int drafts, description& made) try {
    const auto known = step.drafts_of(step.rows[index]).first(static_cast<std::size_t>(drafts));
    step.sampler_of(index).describe(false, made.after_drafts.back(), made.lists, known);
    return true;
  } catch (const generation_error&) {
    return false;
  }

  void carry_out(step& step) {
    for (const int each : step.clears) slot(each).clear();
    for (const auto& each : step.truncations) slot(each.slot).resize(static_cast<std::size_t>(each.length));
    for (const auto& each : step.releases) slot(each.slot).resize(static_cast<std::size_t>(each.length));
    for (const auto& each : step.prefix_shares)
      slot(each.slot) = {slot(each.of).begin(), slot(each.of).begin() + each.length};
    for (const auto& each : step.copies) {
      slot(each.to).resize(static_cast<std::size_t>(each.begin));
      slot(each.to).insert(slot(each.to).end(), slot(each.from).begin() + each.begin,
                           slot(each.from).begin() + each.end);
    }
    const auto before = std::exchange(sampled_, {});
    for (std::size_t i = 0; i < step.rows.size(); ++i) run(step, i, before);
    if (!step.rows.empty()) control_->batches.push_back(static_cast<int>(step.rows.size()));
  }

  std::vector<token>& slot(int index) { return control_->slots.at(static_cast<std::size_t>(index)); }

  using sampling = std::map<scheduler::sequence_id, token>;

  void run(step& step, std::size_t index, const sampling& before) {
    const auto& row = step.rows[index];
    auto& held = slot(row.slot);
    std::vector<float> all;
    std::vector<std::vector<float>> samples;
    diagnostics unscored;
    int scores_left = row.scores();
    for (const token each : row.chained ? std::span(&before.at(row.sequence), 1) : step.tokens_of(row)) {
      held.push_back(each);
      ++control_->tokens;
      const auto scores = scores_of(held);
      if (row.wanted == scheduler::output::all_logits) all.insert(all.end(), scores.begin(), scores.end());
      if (row.wanted == scheduler::output::sample) samples.push_back(scores);
      if (scores_left-- > 0 && !unscored)
        unscored = step.sampler_of(index).score_prompt(scores, static_cast<int>(held.size()) - 1);
    }
    if (unscored) return step.set_output(index, {.error = unscored});
    if (row.wanted == scheduler::output::sample) sample(step, index, samples);
    if (row.wanted == scheduler::output::last_logits)
      step.set_output(index, {.scores = logits(scores_of(held), toy_vocabulary)});
    if (row.wanted == scheduler::output::all_logits) step.set_output(index, {.scores = logits(all, toy_vocabulary)});
  }

  /// From the last of `scores`, one of the row's own tokens and those of its drafts.
  void sample(step& step, std::size_t index, std::vector<std::vector<float>>& scores) {
    const auto& row = step.rows[index];
    const auto drafts = step.drafts_of(row);
    auto next = scores.end() - row.drafts - 1;
    step.set_output(index, sample_after(step, index, *next, {}));
    token sampled = sampled_[row.sequence] = row.sampled;
    for (std::size_t i = 0; i < drafts.size() && drafts[i] == sampled; ++i) {
      auto output = sample_after(step, index, *++next, drafts.first(i + 1));
      sampled = output.error ? -1 : output.chosen.id;
      step.set_output_after(index, static_cast<int>(i), std::move(output));
    }
  }

  row_output sample_after(step& step, std::size_t index, std::vector<float>& scores, std::span<const token> drafts) {
    if (!control_->device) return step.sampler_of(index).sample(scores, drafts);
    const auto& made = descriptions_.at(step.number);
    if (made.rows[index].by_host) return step.sampler_of(index).sample(scores, drafts);
    if (made.errors.contains(index)) return {.error = made.errors.at(index)};
    const auto after = static_cast<std::size_t>(step.rows[index].first_draft) + drafts.size();
    const auto& how = drafts.empty() ? made.rows[index] : made.after_drafts[after - 1];
    if (how.slot < 0) return {.error = diagnostics(error::bad_logits, "the guide does not allow these drafts")};
    const auto [status, sampled] = control_->device(how, made.lists, scores, last_[how.slot]);
    last_[how.slot] = sampled.id;
    return device_outcome(status, sampled);
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
  std::vector<token> end_tokens;
  std::string chat_error = {};
  scheduler::footprint usage = {};
  std::int64_t memory_bytes = std::numeric_limits<std::int64_t>::max();
  std::chrono::nanoseconds idle_timeout = std::chrono::nanoseconds::max();
  int longest_encoder_input = 0;  // 0: no encoder; the toy model says the same whatever it has read
  std::function<std::unique_ptr<scheduler::scheduling_policy>()> scheduling_policy = scheduler::fcfs;
  int depth = 1;      // plans in flight
  bool late = false;  // steps that are held are carried out when they are released
};

/// An engine over the toy model, externally stepped unless the options say otherwise.
struct toy_engine {
  explicit toy_engine(toy_setup setup = {}, engine_options options = {.external_stepping = true})
      : running(parts(setup), std::move(options)) {}

  engine_parts parts(const toy_setup& setup) {
    engine_parts made;
    made.runner = std::make_unique<toy_runner>(control, setup.slots + setup.spare_slots, setup.late);
    made.limits.depth = setup.depth;
    made.limits.slots = setup.slots;
    made.limits.spare_slots = setup.spare_slots;
    made.limits.prefix_caching = setup.spare_slots > 0;
    made.limits.max_rollback_tokens = setup.max_rollback_tokens;
    made.limits.max_sequence_length = setup.max_sequence_length;
    made.limits.max_batched_tokens = setup.max_batched_tokens;
    made.limits.max_draft_tokens = setup.max_draft_tokens;
    made.limits.target_step_latency = setup.target_step_latency;
    made.limits.usage = setup.usage;
    made.limits.memory_bytes = setup.memory_bytes;
    made.limits.idle_timeout = setup.idle_timeout;
    made.end_tokens = setup.end_tokens;
    made.chat_error = setup.chat_error;
    if (setup.longest_encoder_input > 0) made.encoder_inputs = {.start = 1, .longest = setup.longest_encoder_input};
    made.scheduling_policy = setup.scheduling_policy();
    made.clock = time;
    return made;
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
