#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <numeric>
#include <span>

namespace cogen::scheduler {

served::served(const limits& within, std::unique_ptr<scheduling_policy> policy, std::unique_ptr<preemption_policy> who,
               std::unique_ptr<allocation_policy> reserves)
    : sched(within, std::move(policy), std::move(who), std::move(reserves)), runner(within, toy::model{}) {}

served::served(const limits& within, const toy::ring& rings) : sched(within), runner(within, toy::model{}, rings) {}

step served::launch() {
  auto step = sched.next(now);
  sched.verify();
  if (step.empty()) return step;
  for (auto& each : step.checkpoints) each.failed = refuses(each);
  runner.run(step);
  for (auto& row : step.rows) row.failed = fails(row);
  in_flight_.push_back(step);
  return step;
}

std::vector<event> served::absorb() {
  auto done = std::move(in_flight_.front());
  in_flight_.erase(in_flight_.begin());
  sched.absorb(done, takes(done));
  sched.verify();
  record(done);
  return std::move(done.events);
}

void served::record(const cogen::scheduler::step& done) {
  events.insert(events.end(), done.events.begin(), done.events.end());
  for (const auto& each : done.events)
    if (each.type == event::kind::token)
      sampled_[each.sequence].push_back(
          done.sampled_of(done.rows[static_cast<std::size_t>(each.row)], each.after_drafts));
}

void served::record(const late_sample& sample, const std::vector<event>& received) {
  events.insert(events.end(), received.begin(), received.end());
  for (const auto& each : received)
    if (each.type == event::kind::token) sampled_[sample.sequence].push_back(sample.sampled);
}

step served::step() {
  auto result = launch();
  if (!result.empty()) absorb();
  return result;
}

bool served::end_transfers(bool ok) {
  const auto names = runner.cache().on_their_way();
  for (const swap_id name : names) {
    runner.end(name, ok);
    sched.on_swap_done(name, ok);
    sched.verify();
  }
  return !names.empty();
}

void served::finish() {
  for (int steps = 0; !step().empty() || end_transfers(); ++steps) BOOST_REQUIRE_LT(steps, 100'000);
}

int served::count(sequence_id id, event::kind type) const {
  return static_cast<int>(std::count_if(
      events.begin(), events.end(), [&](const event& event) { return event.sequence == id && event.type == type; }));
}

std::vector<token> counting(int count, token first) {
  std::vector<token> result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), first);
  return result;
}

std::vector<token> joined(std::vector<token> front, const std::vector<token>& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

sequence_id prefilled(served& s, int count) {
  const auto id = s.sched.submit({}, {counting(count), output::last_logits});
  s.finish();
  return id;
}

void check_continues(served& s, sequence_id id, const std::vector<token>& held, std::span<const token> encoder_input) {
  const auto sampled = s.sampled(id).size();
  s.sched.start(id, {{}, output::sample, 3, 3});
  s.finish();
  const auto tokens = s.sampled(id);
  BOOST_CHECK(std::ranges::equal(std::span(tokens).subspan(sampled), alone(held, 3, encoder_input)));
}

std::vector<token> alone(std::vector<token> prompt, int count, std::span<const token> encoder_input) {
  std::vector<token> result;
  for (; count > 0; --count) {
    prompt.push_back(toy::model{}.next(prompt, encoder_input));
    result.push_back(prompt.back());
  }
  return result;
}

limits roomy() {
  limits result;
  result.slots = 8;
  result.max_sequence_length = 256;
  result.max_batched_tokens = 64;
  result.usage = {0, 4, 4};
  return result;
}

limits sharing_limits(int slots, int max_rollback_tokens) {
  auto within = roomy();
  within.slots = within.spare_slots = slots;
  within.max_sequence_length = 2000;
  within.max_batched_tokens = 512;
  within.max_rollback_tokens = max_rollback_tokens;
  within.prefix_caching = true;
  return within;
}

limits crowded(int slots) {
  auto within = roomy();
  within.slots = slots;
  within.idle_timeout = time(10);
  return within;
}

const row* row_of(const step& step, sequence_id id) {
  const auto found =
      std::find_if(step.rows.begin(), step.rows.end(), [&](const row& row) { return row.sequence == id; });
  return found == step.rows.end() ? nullptr : &*found;
}

std::vector<token> tokens_of(const step& step, sequence_id id) {
  const auto tokens = step.tokens_of(*row_of(step, id));
  return {tokens.begin(), tokens.end()};
}

int tokens_in(const step& step) {
  return std::accumulate(step.rows.begin(), step.rows.end(), 0,
                         [](int sum, const row& row) { return sum + row.count; });
}

}  // namespace cogen::scheduler
