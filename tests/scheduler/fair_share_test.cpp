#include "scheduler/served.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <limits>
#include <random>
#include <set>

namespace cogen::scheduler {
namespace {

using weights = std::map<std::uint64_t, double>;

limits with_slots(int slots, int max_batched_tokens = 64) {
  auto within = roomy();
  within.slots = slots;
  within.max_batched_tokens = max_batched_tokens;
  return within;
}

sequence_id submit(served& s, std::uint64_t tenant, int prompt, int samples = 1) {
  return s.sched.submit({.max_new_tokens = samples, .tenant = tenant, .release_at_end = true},
                        {counting(prompt), output::sample, plenty});
}

/// Keeps runs of every tenant waiting, and counts what is run of each.
class backlog {
 public:
  backlog(served& s, const weights& tenants, unsigned seed) : s_(s), weights_(tenants), random_(seed) {}

  void step() {
    for (const auto& [tenant, weight] : weights_)
      while (waiting_[tenant] < 2) add(tenant);
    for (const auto& row : s_.step().rows) {
      const auto tenant = tenants_.at(row.sequence);
      had_[tenant] += row.count;
      if (scheduled_.insert(row.sequence).second) --waiting_[tenant];
    }
    s_.events.clear();
  }

  double share(std::uint64_t tenant) const { return had_.at(tenant) / weights_.at(tenant); }
  int longest(std::uint64_t tenant) const { return longest_.at(tenant); }

 private:
  void add(std::uint64_t tenant) {
    const bool large = random_() % 5 == 0;
    const int prompt = 1 + static_cast<int>(random_() % (large ? 60 : 6));
    const int samples = 1 + static_cast<int>(random_() % (tenant == 1 ? 30 : 5));
    tenants_[submit(s_, tenant, prompt, samples)] = tenant;
    ++waiting_[tenant];
    longest_[tenant] = std::max(longest_[tenant], prompt + samples - 1);
  }

  served& s_;
  weights weights_;
  std::mt19937 random_;
  std::map<sequence_id, std::uint64_t> tenants_;
  std::set<sequence_id> scheduled_;  // those that have had a row
  std::map<std::uint64_t, int> waiting_;
  std::map<std::uint64_t, double> had_{{1, 0}, {2, 0}, {7, 0}};
  std::map<std::uint64_t, int> longest_;
};

/// How far two tenants may be apart, by the header.
double bound(const backlog& work, const weights& tenants, int slots, std::uint64_t a, std::uint64_t b) {
  return 2 * slots * (work.longest(a) / tenants.at(a) + work.longest(b) / tenants.at(b));
}

}  // namespace

BOOST_DATA_TEST_CASE(tenants_that_always_have_work_get_tokens_by_weight, boost::unit_test::data::xrange(12u), seed) {
  const weights tenants{{1, 1}, {2, 1 + seed % 4}, {7, 0.5}};
  const int slots = 1 + static_cast<int>(seed % 5);
  served s(with_slots(slots, 5 + static_cast<int>(seed)), fair_share(tenants));
  backlog work(s, tenants, seed);
  std::map<std::uint64_t, std::pair<double, double>> apart;  // of 1 and each other: least and most
  for (int i = 0; i < 1500; ++i) {
    work.step();
    for (const std::uint64_t other : {2u, 7u}) {
      const double ahead = work.share(1) - work.share(other);
      auto& [least, most] = apart.try_emplace(other, ahead, ahead).first->second;
      least = std::min(least, ahead);
      most = std::max(most, ahead);
    }
  }
  for (const auto& [other, range] : apart) {
    BOOST_CHECK_LE(range.second - range.first, bound(work, tenants, slots, 1, other));
    BOOST_CHECK_CLOSE(work.share(1), work.share(other), 30);
  }
}

BOOST_AUTO_TEST_CASE(a_tenant_that_was_away_is_not_paid_for_it_later) {
  served s(with_slots(1), fair_share());
  submit(s, 2, 10);
  s.finish();
  for (int i = 0; i < 60; ++i) submit(s, 1, 20);
  for (int i = 0; i < 50; ++i) s.step();
  for (int i = 0; i < 10; ++i) submit(s, 2, 20);
  int returned = 0;
  for (int i = 0; i < 10; ++i) returned += static_cast<std::uint64_t>(s.step().rows.at(0).sequence) > 61;
  BOOST_CHECK_EQUAL(returned, 5);
}

BOOST_AUTO_TEST_CASE(a_newcomer_and_an_old_tenant_take_turns) {
  served s(with_slots(1), fair_share());
  for (int i = 0; i < 30; ++i) submit(s, 1, 10);
  for (int i = 0; i < 20; ++i) s.step();
  for (int i = 0; i < 5; ++i) submit(s, 2, 10);
  int newcomers = 0;
  for (int i = 0; i < 6; ++i) newcomers += static_cast<std::uint64_t>(s.step().rows.at(0).sequence) > 30;
  BOOST_CHECK_EQUAL(newcomers, 3);
}

BOOST_AUTO_TEST_CASE(what_was_run_while_no_other_tenant_waited_is_not_made_up_for) {
  served s(with_slots(1), fair_share());
  submit(s, 1, 10, 100);
  s.finish();
  for (int i = 0; i < 5; ++i) submit(s, 1, 10);
  for (int i = 0; i < 5; ++i) submit(s, 2, 10);
  int newcomers = 0;
  for (int i = 0; i < 6; ++i) newcomers += static_cast<std::uint64_t>(s.step().rows.at(0).sequence) > 6;
  BOOST_CHECK_EQUAL(newcomers, 3);
}

BOOST_AUTO_TEST_CASE(a_tenant_that_has_no_sequence_for_a_moment_keeps_what_it_was_charged) {
  served s(with_slots(1), fair_share({{1, 1}, {2, 10}}));
  for (int i = 0; i < 40; ++i) submit(s, 2, 10);
  submit(s, 1, 10);
  int turns = 0;
  bool gone = false;
  for (int i = 0; i < 33; ++i) {
    const auto step = s.step();
    const bool mine = static_cast<std::uint64_t>(step.rows.at(0).sequence) > 40;
    turns += mine;
    gone |= mine;
    if (mine) submit(s, 1, 10);
  }
  BOOST_CHECK(gone);
  BOOST_CHECK_LE(turns, 4);
}

BOOST_AUTO_TEST_CASE(slots_that_are_free_at_once_are_given_in_turns) {
  served s(with_slots(8), fair_share({{1, 3}, {2, 1}}));
  for (int i = 0; i < 8; ++i) submit(s, 1, 8);
  for (int i = 0; i < 8; ++i) submit(s, 2, 8);
  const auto rows = s.step().rows;
  BOOST_CHECK_EQUAL(rows.size(), 8);
  BOOST_CHECK_EQUAL(
      std::ranges::count_if(rows, [](const row& row) { return static_cast<std::uint64_t>(row.sequence) <= 8; }), 6);
}

/// Slots of each tenant in a step in which all slots have a row.
std::map<std::uint64_t, int> slots_in(const step& plan, const std::map<sequence_id, std::uint64_t>& tenants) {
  std::map<std::uint64_t, int> slots;
  for (const auto& row : plan.rows) ++slots[tenants.at(row.sequence)];
  return slots;
}

BOOST_AUTO_TEST_CASE(a_tenant_with_all_slots_gives_others_that_wait_equal_ones) {
  auto within = with_slots(6);
  within.max_sequence_length = 500;
  served s(within, fair_share());
  std::map<sequence_id, std::uint64_t> tenants;
  const auto ask = [&](std::uint64_t tenant, int count) {
    for (int i = 0; i < count; ++i) tenants[submit(s, tenant, 3, 400)] = tenant;
  };
  using shares = std::map<std::uint64_t, int>;
  ask(1, 50);
  for (int i = 0; i < 3; ++i) BOOST_CHECK((slots_in(s.step(), tenants) == shares{{1, 6}}));
  ask(2, 1);
  s.step();
  BOOST_CHECK((slots_in(s.step(), tenants) == shares{{1, 5}, {2, 1}}));
  ask(2, 50);
  for (int i = 0; i < 9; ++i) s.step();
  BOOST_CHECK((slots_in(s.step(), tenants) == shares{{1, 3}, {2, 3}}));
  ask(3, 50);
  for (int i = 0; i < 9; ++i) s.step();
  BOOST_CHECK((slots_in(s.step(), tenants) == shares{{1, 2}, {2, 2}, {3, 2}}));
  const auto preempted = s.sched.preempted();
  for (int i = 0; i < 100; ++i) s.step();
  BOOST_CHECK_EQUAL(s.sched.preempted(), preempted);
}

BOOST_AUTO_TEST_CASE(a_tenant_without_a_slot_does_not_wait_until_prompts_are_read) {
  served s(with_slots(6, 10), fair_share());
  std::vector<sequence_id> first;
  for (int i = 0; i < 12; ++i) first.push_back(submit(s, 1, 100 + i));
  s.step();
  s.step();
  for (const std::uint64_t tenant : {2, 3, 4}) {
    const auto other = submit(s, tenant, 8, 20);
    BOOST_TEST(row_of(s.step(), other));
  }
  BOOST_TEST(s.sched.preempted() == 3);
  s.finish();
  for (int i = 0; i < 12; ++i)
    BOOST_CHECK(s.sampled(first[static_cast<std::size_t>(i)]) == alone(counting(100 + i), 1));
}

BOOST_AUTO_TEST_CASE(what_gives_up_its_slot_goes_on_later_to_the_same_tokens) {
  for (const std::int64_t room : {0, 1'000'000}) {
    auto within = with_slots(2);
    within.swap_bytes = room;
    served s(within, fair_share());
    std::vector<sequence_id> first;
    for (int i = 0; i < 4; ++i) first.push_back(submit(s, 1, 3 + i, 20));
    for (int i = 0; i < 5; ++i) s.step();
    const auto other = submit(s, 2, 9, 4);
    s.finish();
    BOOST_CHECK_GE(s.sched.preempted(), 1);
    BOOST_CHECK(s.sampled(other) == alone(counting(9), 4));
    for (int i = 0; i < 4; ++i)
      BOOST_CHECK(s.sampled(first[static_cast<std::size_t>(i)]) == alone(counting(3 + i), 20));
  }
}

BOOST_AUTO_TEST_CASE(the_runs_of_one_tenant_are_served_as_they_come) {
  served s(with_slots(1), fair_share());
  std::vector<sequence_id> mine;
  for (int i = 0; i < 6; ++i) {
    mine.push_back(submit(s, 1, 3 + 5 * (i % 2)));
    submit(s, 2, 4);
  }
  std::vector<sequence_id> served_so;
  while (s.sched.live() > 0) {
    const auto id = s.step().rows.at(0).sequence;
    if (std::ranges::count(mine, id) > 0) served_so.push_back(id);
  }
  BOOST_CHECK(served_so == mine);
}

BOOST_AUTO_TEST_CASE(what_a_run_may_sample_and_does_not_is_not_charged) {
  served s(with_slots(1), fair_share());
  for (int i = 0; i < 20; ++i) {
    s.sched.submit({.end_tokens = counting(50), .max_new_tokens = 200, .tenant = 1, .release_at_end = true},
                   {counting(4), output::sample, plenty});
    submit(s, 2, 4);
  }
  int mine = 0;
  for (int i = 0; i < 20; ++i) mine += static_cast<std::uint64_t>(s.step().rows.at(0).sequence) % 2 == 1;
  BOOST_CHECK_EQUAL(mine, 10);
}

BOOST_AUTO_TEST_CASE(the_prompt_of_a_run_that_is_cancelled_is_charged_as_far_as_it_was_run) {
  served s(with_slots(1, 4), fair_share());
  const auto cancelled = submit(s, 1, 100);
  const auto mine = submit(s, 1, 4);
  submit(s, 2, 8);
  const auto last = submit(s, 2, 8);
  BOOST_CHECK(row_of(s.step(), cancelled));
  s.sched.cancel(cancelled);
  s.step();
  s.step();
  BOOST_CHECK(row_of(s.step(), mine));
  BOOST_CHECK(row_of(s.step(), last));
}

BOOST_AUTO_TEST_CASE(prompts_of_tenants_take_turns_where_all_have_slots) {
  served s(with_slots(8, 10), fair_share());
  for (int i = 0; i < 6; ++i) submit(s, 1, 100);
  for (int i = 0; i < 5; ++i) s.step();
  const auto small = submit(s, 2, 15);
  int steps = 0;
  for (; s.sampled(small).empty() && steps < 100; ++steps) s.step();
  BOOST_CHECK_LE(steps, 6);  // by arrival it would come after 550 tokens
}

BOOST_AUTO_TEST_CASE(a_run_that_waits_for_a_plan_holds_back_no_other_of_its_tenant) {
  served s(with_slots(8), fair_share());
  const auto parent = prefilled(s, 7);
  s.sched.fork(parent);
  s.sched.truncate(parent, 5);
  s.sched.start(parent, {{40, 41}, output::last_logits});  // where the copy for the fork is read
  const auto mine = submit(s, 0, 20);
  const auto other = submit(s, 1, 20);
  const auto step = s.step();
  BOOST_CHECK(!row_of(step, parent));
  BOOST_CHECK(row_of(step, mine));
  BOOST_CHECK(row_of(step, other));
}

BOOST_AUTO_TEST_CASE(encoder_inputs_are_charged_too) {
  served s(with_slots(1), fair_share());
  const auto encoder_input = std::make_shared<const std::vector<token>>(counting(40));
  for (int i = 0; i < 4; ++i) {
    s.sched.submit({.encoder_input = encoder_input, .tenant = 1, .release_at_end = true},
                   {counting(4), output::last_logits});
    s.sched.submit({.tenant = 2, .release_at_end = true}, {counting(11), output::last_logits});
  }
  std::vector<int> counts;
  for (int i = 0; i < 6; ++i) counts.push_back(s.step().rows.at(0).count);
  BOOST_TEST(counts == (std::vector<int>{4, 11, 11, 11, 11, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(many_tenants_that_come_once_are_all_served) {
  served s(with_slots(2), fair_share({{3, 2.5}}));
  for (std::uint64_t tenant = 0; tenant < 5000; ++tenant) {
    submit(s, tenant, 2);
    if (tenant % 3 == 2)
      while (s.sched.waiting() > 4) s.step();
  }
  s.finish();
  BOOST_CHECK_EQUAL(s.sched.live(), 0);
}

BOOST_AUTO_TEST_CASE(a_tenant_weighs_1_where_nothing_is_said_and_a_sequence_is_for_tenant_0) {
  const auto policy = fair_share();
  fairness_counters& marks = *policy->divides();
  marks.join(5);
  marks.ran(5, 10, 0);
  BOOST_CHECK_EQUAL(marks.mark(5, turn::prefill), 10);
  BOOST_CHECK_EQUAL(marks.mark(5, turn::slot), 10);
  served s(with_slots(1), fair_share());
  for (int i = 0; i < 2; ++i) submit(s, 0, 10);
  s.sched.submit({.release_at_end = true}, {counting(10), output::last_logits});
  submit(s, 1, 10);
  std::vector<std::uint64_t> turns;
  for (int i = 0; i < 4; ++i) turns.push_back(static_cast<std::uint64_t>(s.step().rows.at(0).sequence));
  BOOST_TEST(turns == (std::vector<std::uint64_t>{1, 4, 2, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(tenants_that_have_gone_are_remembered_until_they_are_too_many) {
  const auto policy = fair_share();
  fairness_counters& marks = *policy->divides();
  const auto has_had = [&](std::uint64_t tenant) {
    marks.join(tenant);
    return marks.mark(tenant, turn::prefill);
  };
  const auto come_and_go = [&](std::uint64_t first, std::uint64_t last) {
    for (auto tenant = first; tenant < last; ++tenant) {
      marks.join(tenant);
      marks.ran(tenant, 10, 0);
      marks.leave(tenant);
    }
  };
  come_and_go(0, 65'536);
  BOOST_CHECK_EQUAL(has_had(0), 10);  // and it stays
  come_and_go(65'536, 4 * 65'536);
  BOOST_CHECK_EQUAL(has_had(0), 10);
  BOOST_CHECK_EQUAL(has_had(1), 0);
}

BOOST_AUTO_TEST_CASE(a_weight_that_makes_no_sense_is_named) {
  const auto says = [](const char* words) {
    return [words](const std::invalid_argument& error) {
      return std::string(error.what()).find(words) != std::string::npos;
    };
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  BOOST_CHECK_EXCEPTION(fair_share({{4, 0}}), std::invalid_argument, says("tenant 4 is 0"));
  BOOST_CHECK_EXCEPTION(fair_share({{4, -1}}), std::invalid_argument, says("tenant 4 is -1"));
  BOOST_CHECK_EXCEPTION(fair_share({{9, infinity}}), std::invalid_argument, says("tenant 9 is inf"));
  BOOST_CHECK_EXCEPTION(fair_share({}, std::numeric_limits<double>::quiet_NaN()), std::invalid_argument,
                        says("other tenants is "));
}

}  // namespace cogen::scheduler
