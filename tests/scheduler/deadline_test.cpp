#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

#include <optional>
#include <string>

namespace cogen::scheduler {
namespace {

constexpr auto never = time::max();

/// Tenants take turns, and the runs of each are served by deadline.
class shared_deadlines final : public scheduling_policy {
 public:
  bool precedes(const candidate& a, const candidate& b) const noexcept override { return a.deadline < b.deadline; }
  bool refuses_late() const noexcept override { return true; }
  fairness_counters* divides() noexcept override { return tenants_->divides(); }

 private:
  std::unique_ptr<scheduling_policy> tenants_ = fair_share();
};

/// Counts what it is asked.
class counted_deadlines final : public scheduling_policy {
 public:
  explicit counted_deadlines(int& asked) : asked_(asked) {}

  bool precedes(const candidate& a, const candidate& b) const noexcept override {
    ++asked_;
    return a.deadline < b.deadline;
  }
  bool refuses_late() const noexcept override { return true; }

 private:
  int& asked_;
};

/// One slot, steps of 10 tokens.
struct hurried : served {
  explicit hurried(std::unique_ptr<scheduling_policy> policy = earliest_deadline_first())
      : served(tight(), std::move(policy)) {}

  static limits tight() {
    auto within = roomy();
    within.slots = 1;
    within.max_batched_tokens = 10;
    return within;
  }

  sequence_id submit(int tokens, time deadline, int samples = 0) {
    const auto wanted = samples == 0 ? output::last_logits : output::sample;
    return sched.submit({.max_new_tokens = samples, .deadline = deadline, .release_at_end = true},
                        {counting(tokens), wanted, plenty});
  }

  /// Why it is refused.
  std::optional<deadline_unreachable> refusal(int tokens, time deadline) {
    const int live = sched.live();
    try {
      submit(tokens, deadline);
    } catch (const deadline_unreachable& refused) {
      BOOST_CHECK_EQUAL(sched.live(), live);
      return refused;
    }
    return std::nullopt;
  }

  /// Two steps at 10 for each token: 80 tokens of the run that has the slot are left, and 50 of another wait.
  void measure() {
    submit(100, time(10'000));
    submit(50, time(10'000));
    step();
    now = time(100);
    step();
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(the_earliest_deadline_is_served_first_and_none_is_the_last) {
  hurried s;
  const auto none = s.submit(5, never);
  const auto late = s.submit(5, time(900));
  const auto soon = s.submit(5, time(300));
  const auto as_soon = s.submit(5, time(300));
  const auto none_either = s.submit(5, never);
  for (const auto each : {soon, as_soon, late, none, none_either}) BOOST_CHECK(row_of(s.step(), each));
}

BOOST_AUTO_TEST_CASE(what_comes_too_late_is_refused_and_what_comes_just_in_time_is_not) {
  hurried s;
  s.measure();
  const auto refused = s.refusal(30, time(399));
  BOOST_REQUIRE(refused);
  BOOST_CHECK(refused->deadline() == time(399));
  BOOST_CHECK(refused->estimate() == time(400));
  BOOST_CHECK_CLOSE(refused->pace().count(), 10., 1e-9);
  BOOST_CHECK(!s.refusal(30, time(400)));
}

BOOST_AUTO_TEST_CASE(those_that_are_served_before_a_run_are_ahead_of_it) {
  hurried s;
  s.measure();
  for (int i = 0; i < 3; ++i) s.submit(250, time(9'000 + i));
  const auto last = s.refusal(250, time(10'000));
  BOOST_REQUIRE(last);
  BOOST_CHECK(last->estimate() == time(100 + 10 * (80 + 50 + 4 * 250)));
  BOOST_CHECK(!s.refusal(250, time(8'000)));
}

BOOST_AUTO_TEST_CASE(those_of_all_tenants_are_ahead_by_their_deadlines) {
  hurried s(std::make_unique<shared_deadlines>());
  s.measure();
  for (const std::uint64_t tenant : {1, 2, 3})
    s.sched.submit({.tenant = tenant, .deadline = time(9'000)}, {counting(250), output::last_logits});
  const auto refused = s.refusal(250, time(9'999));
  BOOST_REQUIRE(refused);
  BOOST_CHECK(refused->estimate() == time(100 + 10 * (4 * 250)));
}

BOOST_AUTO_TEST_CASE(only_the_runs_ahead_are_looked_at) {
  int asked = 0;
  hurried s(std::make_unique<counted_deadlines>(asked));
  s.measure();
  for (int i = 0; i < 500; ++i) s.submit(1, time(9'000 + i));
  asked = 0;
  s.submit(1, time(8'000));
  BOOST_CHECK_LT(asked, 100);
}

BOOST_AUTO_TEST_CASE(those_that_decode_are_ahead_of_all_others) {
  hurried s;
  s.submit(1, never, 40);
  s.submit(1, never, 8);
  for (int i = 0; i < 41; ++i) {
    s.step();
    s.now += time(10);
  }
  s.step();
  // The second run has taken 2 of its 8 samples, and is expected to take all of them, since the first one took 40.
  const auto refused = s.refusal(5, time(519));
  BOOST_REQUIRE(refused);
  BOOST_CHECK(refused->estimate() == time(410 + 10 * (6 + 5)));
  BOOST_CHECK(!s.refusal(5, time(520)));
}

BOOST_AUTO_TEST_CASE(a_refused_start_changes_nothing) {
  hurried s;
  const auto idle = s.sched.submit({.deadline = time(1150)}, {counting(9), output::last_logits});
  s.finish();
  s.sched.suspend(idle);
  s.measure();
  const auto ahead = s.submit(60, time(1000));
  BOOST_CHECK_THROW(s.sched.start(idle, {counting(50), output::sample, 3, 3}), deadline_unreachable);
  BOOST_CHECK(s.sched.idle(idle));
  BOOST_CHECK_EQUAL(s.sched.tokens(idle).size(), 9);
  s.sched.verify();
  s.sched.cancel(ahead);
  s.sched.start(idle, {counting(3, 9), output::sample, 3, 3});
  s.finish();
  BOOST_CHECK(s.sampled(idle) == alone(counting(12), 3));
}

BOOST_AUTO_TEST_CASE(nothing_is_refused_before_a_pace_is_known) {
  hurried s;
  s.sched.advance_clock(time(1000));
  s.submit(100, time(1));
  s.submit(100, time(1));
  s.now = time(1000);
  s.step();
  BOOST_CHECK(!s.refusal(10, time(1)));
  s.now = time(1100);
  s.step();
  BOOST_CHECK(s.refusal(10, time(1)));
  BOOST_CHECK(s.refusal(10, time::min()));
  BOOST_CHECK(!s.refusal(10, never));
}

BOOST_AUTO_TEST_CASE(a_run_that_has_the_machine_to_itself_teaches_no_pace) {
  hurried s;
  s.submit(1, time(5), 9);
  for (int i = 0; i < 20; ++i) {
    s.now += time(1000);
    s.step();
  }
  BOOST_CHECK(!s.refusal(1, time(5)));
}

/// Checks that one more run of the usual kind is expected to sample 4 tokens.
void check_that_4_are_usual(hurried& s) {
  s.measure();
  s.submit(10, time(8000), 200);
  for (int i = 0; i < 3; ++i) s.submit(200, time(8000));
  const auto refused = s.refusal(250, time(8700));
  BOOST_REQUIRE(refused);
  BOOST_CHECK(refused->estimate() == time(100 + 10 * (10 + 3 + 3 * 200 + 250)));
}

BOOST_AUTO_TEST_CASE(a_run_counts_with_what_runs_have_sampled_and_not_with_what_it_may) {
  hurried s;
  s.submit(1, never, 4);
  s.finish();
  check_that_4_are_usual(s);
}

BOOST_AUTO_TEST_CASE(each_run_of_a_sequence_counts_with_its_own_samples) {
  hurried s;
  const auto seq = s.sched.submit({.max_new_tokens = 8}, {counting(1), output::sample, plenty, 4});
  s.finish();
  s.sched.start(seq, {{}, output::sample, plenty, 4});
  s.finish();
  BOOST_CHECK_EQUAL(s.sampled(seq).size(), 8);
  s.sched.cancel(seq);
  check_that_4_are_usual(s);
}

BOOST_AUTO_TEST_CASE(other_policies_refuse_no_run) {
  hurried s(fcfs());
  s.measure();
  BOOST_CHECK(!s.refusal(10, time(1)));
}

BOOST_AUTO_TEST_CASE(a_refused_start_runs_no_token_again) {
  auto within = hurried::tight();
  within.slots = 2;
  served s(within, earliest_deadline_first());
  const auto idle = s.sched.submit({.deadline = time(707)}, {counting(9), output::last_logits});
  s.finish();
  s.sched.submit({.deadline = time(10'000)}, {counting(100), output::last_logits});
  s.step();
  s.now = time(100);
  s.step();
  const auto ahead = s.sched.submit({.deadline = time(705)}, {counting(60), output::last_logits});
  BOOST_CHECK_THROW(s.sched.start(idle, {{}, output::sample, 60, 60}), deadline_unreachable);
  s.sched.cancel(ahead);
  s.sched.start(idle, {{77}, output::last_logits});
  const auto plan = s.step();
  BOOST_REQUIRE(row_of(plan, idle));
  BOOST_CHECK_EQUAL(row_of(plan, idle)->count, 1);
}

BOOST_AUTO_TEST_CASE(a_refusal_says_what_it_goes_by) {
  const deadline_unreachable refused(std::chrono::seconds(3), std::chrono::milliseconds(4500), 2000,
                                     std::chrono::milliseconds(1));
  BOOST_CHECK_EQUAL(refused.what(),
                    "the deadline is in 1.500 s; at 1.000 ms a token, the run and what is ahead of it, 2000 tokens, "
                    "take 2.000 s");
  BOOST_CHECK(refused.estimate() == time(std::chrono::seconds(5)));
  const deadline_unreachable past(std::chrono::seconds(3), std::chrono::seconds(1), 10, std::chrono::milliseconds(1));
  BOOST_CHECK(std::string(past.what()).starts_with("the deadline was 2.000 s ago; at 1.000 ms a token"));
  const deadline_unreachable soon(std::chrono::seconds(3), std::chrono::milliseconds(3500), 10,
                                  std::chrono::milliseconds(1));
  BOOST_CHECK(std::string(soon.what()).starts_with("the deadline is in 0.500 s; at 1.000 ms a token"));
  const deadline_unreachable at_the_end(time::max() - time(5), time::max(), 1e30, std::chrono::seconds(1));
  BOOST_CHECK(at_the_end.estimate() == time::max());
}

}  // namespace cogen::scheduler
