#include "simulation/history.hpp"

#include "simulation/transcript.hpp"
#include "simulation/world.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cogen::scheduler::simulate {
namespace {

constexpr int unlimited = std::numeric_limits<int>::max();
constexpr cache_salt common_salt{std::array<std::uint64_t, 4>{1}};  // of several tenants

/// A client that does anything at any time.
class player {
 public:
  player(world& stage, const settings& setup, random& chance) : stage_(stage), settings_(setup), chance_(chance) {
    for (auto& weight : weights_) weight = chance.between(1, 10);
    steps_ = chance.between(20, 200);
    ends_ = chance.between(1, 30);
    if (setup.branching) branch();
    if (setup.pressed) go_on();
  }

  void act() {
    if (chance_.between(1, 100 + steps_) > 100) return step();
    if (chance_.chance(3)) stage_.advance_clock(time(chance_.between(0, 30)));
    if (settings_.within.prefix_caching && chance_.chance(8)) return keep_prefixes();
    if (settings_.within.max_draft_tokens > 0 && chance_.chance(20)) return draft();
    if (static_cast<int>(stage_.live().size()) < settings_.max_live && chance_.chance(60)) return submit();
    const auto id = anyone();
    if (returns(id) && chance_.chance(30)) return chance_.chance(70) ? stage_.abandon(id) : fork(id);
    switch (drawn_verb()) {
      case verb::start:
        return stage_.start(id, settings_.branching ? short_run(0) : some_run());
      case verb::grant:
        return stage_.grant(id, chance_.between(0, 6));
      case verb::abandon:
        return stage_.abandon(id);
      case verb::cancel:
        return stage_.cancel(id);
      case verb::fork:
        return fork(id);
      case verb::suspend:
        return stage_.suspend(id);
      case verb::copy_out:
        return stage_.copy_out(id);
      default:
        return stage_.truncate(id, some_length(id));
    }
  }

 private:
  void branch() {
    const int weights[] = {12, 2, 1, chance_.between(1, 4), chance_.between(3, 9), 1, chance_.between(2, 6), 1};
    std::copy(std::begin(weights), std::end(weights), weights_);
    steps_ = chance_.between(100, 300);
  }

  void go_on() {
    const int weights[] = {12, 8, chance_.between(1, 6), 1, chance_.between(0, 1), 4, chance_.between(1, 2), 2};
    std::copy(std::begin(weights), std::end(weights), weights_);
    steps_ = chance_.between(100, 300);
  }

  void step() {
    if (chance_.chance(ends_)) return void(stage_.end_transfer());
    if (stage_.has_late() && chance_.chance(40)) return void(stage_.end_late());
    if (chance_.chance(50))
      stage_.launch();
    else
      stage_.absorb();
  }

  void draft() {
    const auto id = anyone();
    chance_.chance(80) ? stage_.propose(id) : stage_.run_ahead(id, chance_.chance(50));
  }

  void keep_prefixes() {
    if (chance_.chance(50) || !stage_.restore_prefix()) stage_.save_prefixes();
  }

  verb drawn_verb() { return static_cast<verb>(chance_.weighted(weights_)); }

  /// What few states are like deserves a closer look.
  bool returns(sequence_id id) const {
    const auto* seq = stage_.find(id);
    return seq && seq->away && seq->moves == mirror::stage::returning;
  }

  sequence_id anyone() {
    const auto& sequences = chance_.chance(5) ? stage_.gone() : stage_.live();
    if (sequences.empty()) return sequence_id{0};
    return sequences[static_cast<std::size_t>(chance_.between(0, static_cast<int>(sequences.size()) - 1))];
  }

  void submit() {
    if (chance_.chance(50) && stage_.open()) return;
    sequence_options options;
    options.priority = chance_.between(-2, 2);
    options.tenant = static_cast<std::uint64_t>(chance_.between(0, static_cast<int>(settings_.weights.size()) - 1));
    if (chance_.chance(60)) options.deadline = stage_.now() + time(chance_.between(0, 300));
    if (settings_.encoder_inputs && chance_.chance(80)) options.encoder_input = some_encoder_input();
    options.prefix_caching = !chance_.chance(10);
    options.cache_salt = chance_.chance(15) ? common_salt : cache_salt(options.tenant);
    if (settings_.branching && chance_.chance(80)) return stage_.submit(options, begun_alike(short_run(1)));
    for (int i = chance_.between(0, 2); i > 0; --i) options.end_tokens.push_back(some_token());
    if (chance_.chance(50)) options.max_new_tokens = chance_.between(0, settings_.within.max_sequence_length);
    if (chance_.chance(50)) options.max_sequence_length = chance_.between(1, settings_.within.max_sequence_length);
    options.release_at_end = chance_.chance(40);
    if (chance_.chance(20)) return stage_.submit(options);
    auto first = some_run();
    if (first.tokens.empty()) first.tokens.push_back(some_token());
    stage_.submit(options, begun_alike(std::move(first)));
  }

  /// One of two beginnings, up to somewhere.
  run begun_alike(run first) {
    if (!settings_.alike || chance_.chance(20)) return first;
    const int count = std::min(chance_.between(0, 24), settings_.within.max_sequence_length / 2);
    std::vector<token> begin;
    for (int i = 0; i < count; ++i) begin.push_back((i * i + (i > 8 && twin_)) % settings_.model.vocabulary);
    twin_ = chance_.chance(50);
    first.tokens.insert(first.tokens.begin(), begin.begin(), begin.end());
    return first;
  }

  void fork(sequence_id id) {
    const bool full = static_cast<int>(stage_.live().size()) >= 2 * settings_.max_live;
    const auto* seq = stage_.find(id);
    if (seq && !seq->running && (full || !settings_.forks)) return;
    stage_.fork(id);
  }

  token some_token() { return static_cast<token>(chance_.between(0, settings_.model.vocabulary - 1)); }

  encoder_tokens some_encoder_input() {
    auto encoder_input = std::make_shared<std::vector<token>>();
    for (int i = chance_.between(1, settings_.within.max_sequence_length); i > 0; --i)
      encoder_input->push_back(some_token());
    return encoder_input;
  }

  run some_run() {
    run result;
    const int longest = chance_.chance(30) ? 2 * settings_.within.max_sequence_length / 3 : 6;
    for (int i = chance_.between(0, longest); i > 0; --i) result.tokens.push_back(some_token());
    const int kind = chance_.between(1, 10);
    result.wanted = kind == 1 ? output::last_logits : kind <= 3 ? output::all_logits : output::sample;
    result.credits = chance_.chance(30) ? 1000 : chance_.between(0, 8);
    result.samples = chance_.chance(60) ? unlimited : chance_.between(1, 6);
    result.checkpoints = some_checkpoints();
    return result;
  }

  std::vector<int> some_checkpoints() {
    std::vector<int> lengths;
    for (int i = chance_.chance(30) ? chance_.between(1, 4) : 0; i > 0; --i)
      lengths.push_back(chance_.between(1, settings_.within.max_sequence_length));
    std::ranges::sort(lengths);
    return lengths;
  }

  /// Ends soon, and by itself.
  run short_run(int least) {
    run result;
    for (int i = chance_.between(least, chance_.chance(30) ? 12 : 3); i > 0; --i) result.tokens.push_back(some_token());
    if (chance_.chance(40)) result.wanted = chance_.chance(50) ? output::last_logits : output::all_logits;
    result.samples = chance_.between(1, 6);
    result.credits = chance_.chance(80) ? result.samples : chance_.between(0, 6);
    return result;
  }

  int some_length(sequence_id id) {
    const auto* seq = stage_.find(id);
    const int length = seq ? static_cast<int>(seq->tokens.size()) : 0;
    return chance_.between(chance_.chance(5) ? -1 : 0, length + (chance_.chance(5) ? 1 : 0));
  }

  world& stage_;
  const settings& settings_;
  random& chance_;
  int weights_[static_cast<int>(verb::count)];
  int steps_;
  bool twin_ = false;
  int ends_;  // percent of the steps
};

/// Whether other tokens of one tenant are tried, too.
bool tries_other_content(const simulation::script& script) { return script.seed % 4 == 0; }

void play_with(const simulation::script& script, coverage& seen, const simulation::log& log,
               std::optional<std::uint64_t> reversed_tenant) {
  random chance(script.seed);
  auto sampled = draw(chance);
  if (log) log(describe(sampled));
  sampled.reversed_tenant = reversed_tenant;
  world stage(sampled, chance, seen, log);
  player client(stage, sampled, chance);
  for (const int action : script.actions) {
    chance = simulation::numbers_of(script.seed, action);
    client.act();
  }
  chance = simulation::numbers_of(script.seed, -1);
  stage.drain();
}

}  // namespace

int actions_of(std::uint64_t seed) {
  random chance(seed);
  return draw(chance).actions;
}

void play(const simulation::script& script, coverage& seen, const simulation::log& log) {
  if (log || !tries_other_content(script)) play_with(script, seen, log, {});
  if (!tries_other_content(script)) return;
  simulation::transcript as_said, other;
  coverage unseen;
  play_with(script, log ? unseen : seen, as_said.writer(), {});
  play_with(script, unseen, other.writer(), script.seed / 4 % 2);
  as_said.require_same(other);
}

}  // namespace cogen::scheduler::simulate
