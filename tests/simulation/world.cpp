#include "simulation/world.hpp"

#include "scheduler/no_memory.hpp"
#include "simulation/require.hpp"

#include <algorithm>
#include <stdexcept>

namespace cogen::scheduler::simulate {
namespace {

/// The verb must throw this and change nothing.
template <class Error, class Verb>
void refused(coverage& seen, Verb&& verb) {
  try {
    verb();
  } catch (const Error&) {
    return seen.visit(feature::refused);
  }
  throw std::logic_error("it was taken although it makes no sense now");
}

/// The verb needs no memory.
template <class Verb>
void without_memory(const Verb& verb) {
  const no_memory none;
  verb();
}

const char* text(output wanted) {
  switch (wanted) {
    case output::nothing:
      return "nothing";
    case output::last_logits:
      return "last logits";
    case output::all_logits:
      return "all logits";
    case output::sample:
      return "a sample";
  }
  return "";
}

}  // namespace

world::world(const settings& setup, random& chance, coverage& seen, simulation::log log)
    : settings_(setup),
      chance_(chance),
      seen_(seen),
      log_(std::move(log)),
      machine_(setup.within, make_scheduling_policy(setup), longest_idle(), make_allocation_policy(setup)),
      runner_(setup.within, setup.model, setup.rings),
      failing_(setup.failing),
      losing_(setup.losing) {}

void world::say(const std::string& message) const {
  if (log_) log_(message);
}

const mirror* world::find(sequence_id id) const {
  const auto found = live_.find(id);
  return found == live_.end() ? nullptr : &found->second;
}

std::vector<sequence_id> world::live() const {
  std::vector<sequence_id> ids;
  for (const auto& [id, seq] : live_) ids.push_back(id);
  return ids;
}

void world::visit(sequence_id id, verb action) {
  const auto* seq = find(id);
  if (!seq) return seen_.visit(state::gone, action);
  if (seq->late) return seen_.visit(state::late, action);
  if (seq->away) return seen_.visit(state_of_swapped(seq->running, static_cast<int>(seq->moves)), action);
  seen_.visit(state_of(machine_.phase_of(id), seq->rows_in_flight > 0, !seq->tokens.empty()), action);
}

// Verbs

int world::capacity_of(const sequence_options& options, const run* first) const {
  const int allowed =
      options.max_sequence_length == 0 ? settings_.within.max_sequence_length : options.max_sequence_length;
  if (!options.release_at_end || !first) return allowed;
  const auto sampled = first->wanted == output::sample ? options.max_new_tokens : 0;
  const auto needed = static_cast<std::int64_t>(first->tokens.size()) + sampled;
  return static_cast<int>(std::min<std::int64_t>(allowed, std::max<std::int64_t>(1, needed)));
}

void world::accepted(sequence_id id, mirror added) {
  require(!find(id) && std::find(gone_.begin(), gone_.end(), id) == gone_.end(), "an id was used again");
  added.runs_ahead &= settings_.within.run_ahead;
  if (settings_.model_of(added.options).reversed) runner_.reverse(id);
  live_.emplace(id, std::move(added));
  check_sequences();
}

sequence_options world::as_named(sequence_options options) const {
  options.end_tokens = as_named(options, std::move(options.end_tokens));
  if (options.encoder_input)
    options.encoder_input = std::make_shared<std::vector<token>>(as_named(options, *options.encoder_input));
  return options;
}

std::vector<token> world::as_named(const sequence_options& options, std::vector<token> tokens) const {
  const auto model = settings_.model_of(options);
  for (auto& each : tokens) each = model.name(each);
  return tokens;
}

void world::submit(const sequence_options& said_options, const run& said) {
  const auto options = as_named(said_options);
  auto first = said;
  first.tokens = as_named(options, said.tokens);
  mirror added(options, capacity_of(options, &first));
  say("submit a sequence of " + std::to_string(added.capacity) + " with a run of " +
      std::to_string(first.tokens.size()) + " tokens for " + text(first.wanted) + ", credits " +
      std::to_string(first.credits) + (options.release_at_end ? ", released at its end" : ""));
  const bool fits = static_cast<int>(first.tokens.size()) <= added.capacity &&
                    settings_.within.usage(added.capacity) <= settings_.within.memory_bytes;
  if (!fits) return refused<std::length_error>(seen_, [&] { machine_.submit(options, first); });
  added.begin(first, ++runs_);
  added.last_asked = ++requests_;
  sequence_id id;
  const auto submit = [&] { id = machine_.submit(options, first); };
  if (accepted_time(added, false, [&] { when_memory_allows(submit); })) accepted(id, std::move(added));
}

void world::submit(const sequence_options& said_options) {
  const auto options = as_named(said_options);
  mirror added(options, capacity_of(options, nullptr));
  say("submit an empty sequence of " + std::to_string(added.capacity));
  const bool fits = settings_.within.usage(added.capacity) <= settings_.within.memory_bytes;
  if (!fits) return refused<std::length_error>(seen_, [&] { machine_.submit(options); });
  accepted(when_memory_allows([&] { return machine_.submit(options); }), std::move(added));
}

void world::start(sequence_id id, const run& said) {
  auto next = said;
  if (const auto* seq = find(id)) next.tokens = as_named(seq->options, said.tokens);
  visit(id, verb::start);
  say("start " + text(id) + " with " + std::to_string(next.tokens.size()) + " tokens for " + text(next.wanted) +
      ", credits " + std::to_string(next.credits) + ", samples " + std::to_string(next.samples));
  const auto start = [&] { machine_.start(id, next); };
  auto* seq = const_cast<mirror*>(find(id));
  if (!seq) return refused<std::out_of_range>(seen_, start);
  if (seq->running) return refused<std::logic_error>(seen_, start);
  const auto length = seq->tokens.size() + next.tokens.size();
  if (length == 0) return refused<std::invalid_argument>(seen_, start);
  if (static_cast<int>(length) > seq->capacity) return refused<std::length_error>(seen_, start);
  if (first_prefilling_ == id) first_unserved_ = 0;
  mirror begun = *seq;
  begun.begin(next, ++runs_);
  begun.last_asked = ++requests_;
  if (accepted_time(begun, is_somewhere(id), [&] { when_memory_allows(start); })) *seq = std::move(begun);
  check_sequences();
}

void world::grant(sequence_id id, int credits) {
  visit(id, verb::grant);
  say("grant " + text(id) + " " + std::to_string(credits));
  without_memory([&] { machine_.grant(id, credits); });
  if (auto* seq = const_cast<mirror*>(find(id)); seq && seq->running) {
    seq->credits += credits;
    seq->last_asked = ++requests_;
  }
  check_sequences();
}

/// Some of what it samples next, and then something else.
void world::propose(sequence_id id) {
  const auto* seq = find(id);
  auto held = seq ? seq->with_ahead() : std::vector<token>();
  const auto says = seq ? settings_.model_of(seq->options) : settings_.model;
  const auto known = held.size();
  const int count = chance_.between(0, 6);
  for (int right = chance_.between(0, count), i = 0; i < count; ++i)
    held.push_back(seq && i < right ? says.next(held, seq->encoder_input())
                                    : says.name(chance_.between(0, says.vocabulary - 1)));
  std::vector<token> drafts(held.begin() + static_cast<std::ptrdiff_t>(known), held.end());
  const bool only_if_faster = chance_.chance(50);
  say("propose " + std::to_string(count) + " tokens to " + text(id));
  if (seq && seq->takes_drafts()) const_cast<mirror*>(seq)->drafts = drafts;
  without_memory([&] { machine_.propose(id, std::move(drafts), only_if_faster); });
  check_sequences();
}

void world::run_ahead(sequence_id id, bool allowed) {
  say((allowed ? "let " : "do not let ") + text(id) + " run ahead");
  machine_.run_ahead(id, allowed);
  if (auto* seq = const_cast<mirror*>(find(id))) seq->runs_ahead = allowed && settings_.within.run_ahead;
  check_sequences();
}

void world::abandon(sequence_id id) {
  visit(id, verb::abandon);
  say("abandon " + text(id));
  without_memory([&] { machine_.abandon(id); });
  if (auto* seq = const_cast<mirror*>(find(id)); seq && seq->running) seq->abandon();
  check_sequences();
}

void world::cancel(sequence_id id) {
  visit(id, verb::cancel);
  say("cancel " + text(id));
  without_memory([&] { machine_.cancel(id); });
  if (find(id)) forget(id);
  check_sequences();
}

void world::forget(sequence_id id) {
  live_.erase(id);
  gone_.push_back(id);
}

void world::fork(sequence_id id) {
  visit(id, verb::fork);
  say("fork " + text(id));
  const auto fork = [&] { return machine_.fork(id); };
  const auto* parent = find(id);
  if (!parent) return refused<std::out_of_range>(seen_, fork);
  if (parent->running) return refused<std::logic_error>(seen_, fork);
  const auto waited = waiting();
  mirror child(parent->options, parent->capacity);
  child.tokens = parent->tokens;
  child.sampled = parent->sampled;
  child.runs_ahead = parent->runs_ahead;
  const auto added = when_memory_allows(fork);
  check_preempted(waited);
  if (machine_.scheduled(added)) child.reached = parent->reached, child.prefills = false;
  accepted(added, std::move(child));
  check_no_overtaking(waited);
  if (machine_.waiting() > 0) require(!machine_.scheduled(added), "a fork overtook those that wait");
}

void world::truncate(sequence_id id, int length) {
  visit(id, verb::truncate);
  say("truncate " + text(id) + " to " + std::to_string(length));
  const auto truncate = [&] { machine_.truncate(id, length); };
  auto* seq = const_cast<mirror*>(find(id));
  if (!seq) return refused<std::out_of_range>(seen_, truncate);
  if (seq->running) return refused<std::logic_error>(seen_, truncate);
  if (length < 0 || length > static_cast<int>(seq->tokens.size()))
    return refused<std::invalid_argument>(seen_, truncate);
  without_memory(truncate);
  if (seq->away && seq->opened && length > 0 && length < seq->reached) seen_.visit(feature::cut_when_opened);
  seq->truncate(length);
  check_sequences();
}

void world::suspend(sequence_id id) {
  visit(id, verb::suspend);
  say("preempt " + text(id));
  when_memory_allows([&] { machine_.suspend(id); });
  auto* seq = const_cast<mirror*>(find(id));
  if (!seq || machine_.preempted() == preempted_) return check_sequences();
  require(!seq->running && seq->scheduled && !seq->away, "it was preempted although it runs, or has no slot");
  require(!machine_.scheduled(id), "it was preempted and has kept its slot");
  seq->scheduled = false;
  seq->idle_since.reset();
  seq->preempted = true;
  ++preempted_;
  check_sequences();
}

void world::advance_clock(time delay) {
  now_ += delay;
  say("it is " + std::to_string(now_.count()));
  machine_.advance_clock(now_);
}

// Steps

bool world::launch() {
  if (in_flight() == settings_.within.depth) {
    refused<std::logic_error>(seen_, [&] { machine_.next(now_); });
    return false;
  }
  now_ += time(chance_.between(0, 3));
  note_rest();
  const auto waited = waiting();
  kept_ = machine_.prefix_cached_slots();
  flown flight{machine_.next(now_), {}};
  outlook_.planned(now_, flight.step, left_behind(flight.step));
  describe_plan(flight.step);
  check_preempted(waited);
  note_transfers(flight.step);
  machine_.verify();
  check_no_overtaking(waited);
  if (flight.step.empty()) {
    seen_.visit(feature::empty_plan);
    require(flight.step.number == 0, "an empty step has a number");
    check_idle_timeout_of_others(true);
    if (in_flight_.empty()) check_waiting(true);
    check_service(flight.step, waited);
    return false;
  }
  require(flight.step.number == ++plans_, "a step has the wrong number");
  count_features(flight.step);
  note_marks(flight.step);
  runner_.run(flight.step);
  check_idle_timeout_of_others(false);
  check_ranks();
  check_swapped();
  for (auto& each : flight.step.rows) each.failed = chance_.chance(failing_);
  for (const auto& row : flight.step.rows)
    for (int i = 1; i <= row.drafts; ++i)
      if (chance_.chance(failing_)) flight.step.sampled_of(row, i) = -1;
  check_rows(flight);
  note_scheduled();
  look_at_shares();
  check_memory();
  check_waiting(false);
  check_service(flight.step, waited);
  in_flight_.push_back(std::move(flight));
  return true;
}

void world::absorb() {
  if (in_flight_.empty()) return;
  auto done = std::move(in_flight_.front());
  in_flight_.pop_front();
  say("absorb step " + std::to_string(done.step.number));
  std::vector<event> expected;
  for (std::size_t i = 0; i < done.step.rows.size(); ++i) {
    auto& row = done.step.rows[i];
    const auto found = live_.find(row.sequence);
    if (comes_late(row, find(row.sequence))) {
      row.late = true;
      auto& sampled = done.step.sampled_of(row);
      late_.push_back({{row.sequence, done.step.number, sampled}, done.rows[i].run, row.position, row.drafts});
      sampled = -1;
    }
    if (found == live_.end()) {
      seen_.visit(feature::gone_in_flight);
      continue;
    }
    mirror& seq = found->second;
    --seq.rows_in_flight;
    if (!seq.running || seq.number != done.rows[i].run) {
      seen_.visit(feature::wasted);
      continue;
    }
    for (auto received : seq.absorb(done.step, row, done.rows[i].end, settings_.model_of(seq.options), seen_)) {
      received.sequence = row.sequence;
      received.row = static_cast<int>(i);
      expected.push_back(received);
    }
    if (!seq.running && row.wanted == output::sample) outlook_.ended(seq.sampled_in_run());
    if (!seq.running && seq.options.release_at_end) forget(row.sequence);
  }
  const auto received = machine_.absorb(done.step, time(chance_.between(0, 20)));
  check_events(received, expected);
  for (const auto& row : done.step.rows) {
    const auto* const seq = find(row.sequence);
    require(row.late == (seq && seq->late && seq->late_in == done.step.number),
            text(row.sequence) + " awaits a late sample, or does not, against the contract");
  }
  check_sequences();
}

void world::check_events(std::span<const event> received, std::span<const event> expected) const {
  const auto same = [](const event& a, const event& b) {
    return a.type == b.type && a.sequence == b.sequence && a.row == b.row && a.last == b.last &&
           a.after_drafts == b.after_drafts && a.drafts == b.drafts && a.more == b.more &&
           (a.type != event::kind::finished || a.reason == b.reason);
  };
  require(std::ranges::equal(received, expected, same),
          "the events are not those expected: " + std::to_string(received.size()) + " of " +
              std::to_string(expected.size()));
  say(std::to_string(received.size()) + " events");
}

/// Not one that another row is chained to.
bool world::comes_late(const row& row, const mirror* seq) {
  if (settings_.late == 0 || row.wanted != output::sample || row.failed) return false;
  const bool alone = !seq || seq->rows_in_flight == 1;
  return chance_.chance(settings_.late) && alone;
}

bool world::end_late() {
  if (late_.empty()) return false;
  const auto position = late_.begin() + chance_.between(0, static_cast<int>(late_.size()) - 1);
  auto ended = *position;
  late_.erase(position);
  ended.sample.failed = chance_.chance(failing_);
  say("the late sample of " + text(ended.sample.sequence) + " in step " + std::to_string(ended.sample.step) +
      (ended.sample.failed ? " fails" : " comes"));
  const auto expected = expected_of(ended);
  check_events(machine_.absorb(ended.sample), expected);
  check_sequences();
  return true;
}

std::vector<event> world::expected_of(const late_row& late) {
  const auto id = late.sample.sequence;
  const auto found = live_.find(id);
  if (found == live_.end() || !found->second.running || found->second.number != late.run) {
    seen_.visit(feature::late_wasted);
    return {};
  }
  mirror& seq = found->second;
  auto expected = seq.absorb_late(late.sample, late.begin, settings_.model_of(seq.options), seen_);
  for (auto& each : expected) each.sequence = id;
  for (auto& each : expected)
    if (each.type == event::kind::token) each.drafts = late.drafts;
  if (!seq.running) outlook_.ended(seq.sampled_in_run());
  if (!seq.running && seq.options.release_at_end) forget(id);
  return expected;
}

void world::drain() {
  say("bring everything to an end");
  failing_ = 0;
  losing_ = 0;
  const auto steps = 100 + 16 * static_cast<int>(live_.size()) * settings_.within.max_sequence_length;
  for (int step = 0; !live_.empty(); ++step) {
    require(step < steps, "it does not come to an end");
    for (const auto id : live()) {
      if (!find(id)->running)
        cancel(id);
      else if (find(id)->wanted == output::sample)
        grant(id, 1);
    }
    if (!launch() || chance_.chance(50)) {
      end_transfer();
      end_late();
    }
    if (in_flight() == settings_.within.depth || chance_.chance(50)) absorb();
  }
  while (!in_flight_.empty()) absorb();
  while (launch() || end_transfer() || end_late()) absorb();
  if (machine_.prefix_cached_slots() > 0) seen_.visit(feature::kept);
  machine_.drop_prefix_cache();
  while (launch()) absorb();
  check_empty();
}

}  // namespace cogen::scheduler::simulate
