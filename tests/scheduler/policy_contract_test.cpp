// Policies that keep the letter of their contract alone, and policies that break it: all runs end, or next() says what
// the policy did.
#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <random>
#include <stdexcept>

namespace cogen::scheduler {

BOOST_AUTO_TEST_SUITE(policy_contracts)
namespace {

using order = std::function<bool(const candidate&, const candidate&)>;

class scheduling final : public scheduling_policy {
 public:
  explicit scheduling(
      order comparison, order displaces = [](auto&, auto&) { return true; }, fairness_counters* counters = nullptr)
      : comparison_(std::move(comparison)), displaces_(std::move(displaces)), counters_(counters) {}

  bool precedes(const candidate& a, const candidate& b) const override { return comparison_(a, b); }
  bool displaces(const candidate& waits, const candidate& runs) const override { return displaces_(waits, runs); }
  fairness_counters* divides() override { return counters_; }

 private:
  order comparison_;
  order displaces_;
  fairness_counters* counters_;
};

class preemption final : public preemption_policy {
 public:
  explicit preemption(std::function<bool(const holder&, const holder&)> comparison)
      : comparison_(std::move(comparison)) {}
  bool precedes(const holder& a, const holder& b) const override { return comparison_(a, b); }

 private:
  std::function<bool(const holder&, const holder&)> comparison_;
};

class allocation final : public allocation_policy {
 public:
  explicit allocation(
      std::function<int(int, int)> tokens, std::function<std::int64_t(std::int64_t)> high = [](auto b) { return b; },
      std::function<std::int64_t(std::int64_t)> low = [](auto b) { return b; })
      : tokens_(std::move(tokens)), high_(std::move(high)), low_(std::move(low)) {}

  int tokens(int needed, int most) const override { return tokens_(needed, most); }
  std::int64_t high(std::int64_t budget) const override { return high_(budget); }
  std::int64_t low(std::int64_t budget) const override { return low_(budget); }

 private:
  std::function<int(int, int)> tokens_;
  std::function<std::int64_t(std::int64_t)> high_, low_;
};

/// Counters whose members call `callback` with their number, and whose marks are what `marks` returns.
class counters final : public fairness_counters {
 public:
  explicit counters(
      std::function<void(int)> callback, std::function<double()> marks = [] { return 0.; })
      : callback_(std::move(callback)), marks_(std::move(marks)) {}

  void join(std::uint64_t) override {}
  void leave(std::uint64_t) override { callback_(0); }
  void waits(std::uint64_t, bool) override { callback_(1); }
  void scheduled(std::uint64_t, std::int64_t) override { callback_(2); }
  void ran(std::uint64_t, std::int64_t, std::int64_t) override { callback_(3); }
  void dropped(std::uint64_t, std::int64_t) override { callback_(4); }
  double mark(std::uint64_t, turn) const override { return callback_(5), marks_(); }

 private:
  std::function<void(int)> callback_;
  std::function<double()> marks_;
};

bool newer(const candidate& a, const candidate& b) { return a.arrival > b.arrival; }
bool always(const candidate&, const candidate&) { return true; }

/// Throws the so-manieth time that it is called.
struct fuse {
  int left;
  void burn() {
    if (--left == 0) throw std::runtime_error("the fuse has burnt");
  }
};

struct policies {
  std::unique_ptr<scheduling_policy> order = fcfs();
  std::unique_ptr<preemption_policy> victim = longest_idle();
  std::unique_ptr<allocation_policy> budget = reserve_max_length();
};

policies ordered(order comparison, order displaces = always) {
  return {.order = std::make_unique<scheduling>(std::move(comparison), std::move(displaces))};
}

/// Slots and memory for a few of those to come.
limits scarce(std::int64_t swap_bytes) {
  auto within = roomy();
  within.slots = within.spare_slots = 3;
  within.max_batched_tokens = 8;
  within.max_sequence_length = 32;
  within.memory_bytes = 80;
  within.swap_bytes = swap_bytes;
  within.idle_timeout = time(1);
  return within;
}

/// Runs, idle sequences and runs out of credits, of three tenants, come while others run. Returns what next() throws;
/// empty where all of them end as they do alone.
std::string outcome(policies with, std::int64_t swap_bytes = 0) {
  served s(scarce(swap_bytes), std::move(with.order), std::move(with.victim), std::move(with.budget));
  std::vector<sequence_id> ids;
  try {
    for (int i = 0; i < 9; ++i) {
      const auto tenant = static_cast<std::uint64_t>(i % 3);
      ids.push_back(s.sched.submit({.max_new_tokens = 6, .priority = i % 4, .tenant = tenant},
                                   {counting(3 + 7 * i % 20, i), output::sample, i % 3 == 0 ? plenty : 2, 6}));
      if (i % 4 == 3) s.sched.submit({.tenant = tenant}, {counting(5, i), output::last_logits});
      for (int steps = 0; steps < 3; ++steps, s.now += time(1)) s.step(), s.end_transfers();
    }
    for (const auto id : ids) s.sched.grant(id, plenty);
    for (int steps = 0; !s.step().empty() || s.end_transfers() || s.sched.waiting() > 0; s.now += time(1))
      BOOST_REQUIRE_LT(++steps, 2000);
  } catch (const std::logic_error& error) {
    BOOST_CHECK_THROW(s.sched.next(s.now), std::logic_error);
    for (const auto id : ids) s.sched.cancel(id);
    return error.what();
  }
  for (int i = 0; i < 9; ++i)
    BOOST_CHECK(s.sampled(ids[static_cast<std::size_t>(i)]) == alone(counting(3 + 7 * i % 20, i), 6));
  return "";
}

void check_names(const std::string& error, std::initializer_list<std::string> words) {
  for (const auto& word : words) BOOST_CHECK_MESSAGE(error.find(word) != std::string::npos, error + " / " + word);
}

}  // namespace

BOOST_AUTO_TEST_CASE(one_that_displaces_whenever_it_is_asked_is_asked_for_those_after_it_alone) {
  auto within = roomy();
  within.slots = 2;
  const auto asked = std::make_shared<int>(0);
  served s(within, std::make_unique<scheduling>(newer, [asked](const candidate& waits, const candidate& runs) {
             BOOST_CHECK(newer(waits, runs));
             return ++*asked, true;
           }));
  std::vector<sequence_id> ids;
  for (int i = 0; i < 8; ++i) {
    ids.push_back(
        s.sched.submit({.max_new_tokens = 8, .release_at_end = true}, {counting(4, i), output::sample, plenty}));
    if (i % 2) s.step();
  }
  BOOST_CHECK(s.sched.scheduled(ids[6]) && s.sched.scheduled(ids[7]));
  s.finish();
  for (int i = 0; i < 8; ++i)
    BOOST_TEST(s.sampled(ids[static_cast<std::size_t>(i)]) == alone(counting(4, i), 8),
               boost::test_tools::per_element());
  BOOST_CHECK_GT(*asked, 0);
}

BOOST_AUTO_TEST_CASE(all_runs_end_with_policies_that_keep_their_contract) {
  const std::vector<std::function<policies()>> kept = {
      [] { return ordered(newer); },
      [] { return ordered([](auto& a, auto& b) { return a.priority > b.priority; }); },
      [] { return ordered([](auto&, auto&) { return false; }); },
      // Those with less to do, or more; a run that is displaced, and recomputed, has more to do again.
      [] { return ordered([](auto& a, auto& b) { return a.tokens < b.tokens; }); },
      [] { return ordered([](auto& a, auto& b) { return a.tokens > b.tokens; }); },
      [] { return ordered([](auto& a, auto& b) { return a.most > b.most; }); },
      [] { return policies{.budget = std::make_unique<allocation>([](int, int) { return -1; })}; },
      [] { return policies{.budget = std::make_unique<allocation>([](int, int most) { return most - 1 + 2; })}; },
      [] {
        const auto none = [](std::int64_t) { return std::int64_t{0}; };
        return policies{.budget = std::make_unique<allocation>([](int needed, int) { return needed; }, none, none)};
      },
  };
  for (const auto& make : kept)
    for (const std::int64_t swap_bytes : {0, 100'000}) BOOST_CHECK_EQUAL(outcome(make(), swap_bytes), "");
}

BOOST_AUTO_TEST_CASE(an_order_that_is_not_strict_is_found_with_the_first_run) {
  scheduler sched(roomy(), std::make_unique<scheduling>([](auto& a, auto& b) { return a.priority >= b.priority; }));
  sched.submit({}, {counting(4), output::last_logits});
  BOOST_CHECK_EXCEPTION(sched.next(), std::logic_error, [](const auto& error) {
    return std::string(error.what()) ==
           "scheduling_policy::precedes() puts sequence 1 before sequence 1 and 1 before 1; it must be a strict weak "
           "ordering";
  });
}

BOOST_AUTO_TEST_CASE(orders_that_contradict_themselves_are_named) {
  check_names(outcome(ordered(always)), {"scheduling_policy::precedes()", "strict weak ordering"});
  check_names(outcome(ordered([](auto& a, auto& b) { return a.arrival != b.arrival; })),
              {"scheduling_policy::precedes() puts sequence", "strict weak ordering"});
  for (const bool strict : {true, false}) {
    const auto turns = std::make_shared<int>(0);
    const auto changing = [turns, strict](const candidate& a, const candidate& b) {
      if (++*turns % 50 < 25) return a.arrival < b.arrival;
      return strict ? a.arrival > b.arrival : a.arrival >= b.arrival;
    };
    check_names(outcome(ordered(changing)), {"scheduling_policy::precedes()", "strict weak ordering"});
  }
  check_names(outcome({.victim = std::make_unique<preemption>([](auto&, auto&) { return true; })}),
              {"preemption_policy::precedes()", "strict weak ordering"});
}

BOOST_AUTO_TEST_CASE(a_circle_of_runs_is_found_or_does_no_harm) {
  const auto circle = [](const candidate& a, const candidate& b) { return a.arrival % 3 == (b.arrival + 1) % 3; };
  for (const std::int64_t swap_bytes : {0, 100'000}) {
    const auto error = outcome(ordered(circle), swap_bytes);
    if (!error.empty()) check_names(error, {"scheduling_policy::precedes()", "not transitive"});
  }
}

BOOST_AUTO_TEST_CASE(no_random_answer_hangs) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const auto random = std::make_shared<std::mt19937>(seed);
    const auto coin = [random](auto&, auto&) { return (*random)() % 2 == 0; };
    const auto number = [random](int needed, int most) {
      return needed - 5 + static_cast<int>((*random)() % static_cast<unsigned>(most + 10));
    };
    counters tenants([](int) {}, [random] { return static_cast<double>((*random)() % 4); });
    const auto displacing = [&] { return std::make_unique<scheduling>(newer, coin, &tenants); };
    outcome(ordered(coin, coin), seed % 2 * 100'000);
    outcome({.victim = std::make_unique<preemption>(coin)}, seed % 2 * 100'000);
    BOOST_CHECK_EQUAL(outcome(ordered(newer, coin), seed % 2 * 100'000), "");
    BOOST_CHECK_EQUAL(outcome({.budget = std::make_unique<allocation>(number)}, seed % 2 * 100'000), "");
    scheduler divided(scarce(0), displacing());
    for (int i = 0; i < 9; ++i)
      divided.submit({.tenant = static_cast<std::uint64_t>(i % 3), .release_at_end = true},
                     {counting(3 + i), output::last_logits});
    int steps = 0;
    for (auto plan = divided.next(); !plan.empty(); plan = divided.next()) {
      divided.absorb(plan);
      BOOST_REQUIRE_LT(++steps, 2000);
    }
    BOOST_CHECK_EQUAL(divided.live(), 0);
  }
}

BOOST_AUTO_TEST_CASE(what_a_policy_throws_is_told_whenever_it_throws) {
  const auto check_every = [](const std::string& member, const std::function<policies(std::shared_ptr<fuse>)>& make) {
    for (int calls = 1;; calls += calls < 20 ? 1 : calls / 4) {
      const auto burning = std::make_shared<fuse>(calls);
      const auto error = outcome(make(burning));
      BOOST_CHECK_MESSAGE(burning->left <= 0 || calls > 1, member + " is not called");
      if (burning->left > 0) return;
      check_names(error, {member, "threw: the fuse has burnt"});
    }
  };
  check_every("scheduling_policy::precedes()", [](auto burning) {
    return ordered([burning](auto& a, auto& b) { return burning->burn(), newer(a, b); });
  });
  check_every("scheduling_policy::displaces()",
              [](auto burning) { return ordered(newer, [burning](auto&, auto&) { return burning->burn(), true; }); });
  check_every("preemption_policy::precedes()", [](auto burning) {
    return policies{.victim = std::make_unique<preemption>(
                        [burning](auto& a, auto& b) { return burning->burn(), a.cached < b.cached; })};
  });
  check_every("allocation_policy::tokens()", [](auto burning) {
    return policies{.budget =
                        std::make_unique<allocation>([burning](int needed, int) { return burning->burn(), needed; })};
  });
}

BOOST_AUTO_TEST_CASE(what_counters_throw_is_told_and_that_a_mark_is_no_number) {
  const std::vector<std::string> members = {"leave", "waits", "scheduled", "ran", "dropped", "mark"};
  for (int member = 0; member < 6; ++member) {
    fuse burning{3};
    counters tenants([&](int called) {
      if (called == member) burning.burn();
    });
    scheduler sched(scarce(0), std::make_unique<scheduling>(newer, always, &tenants));
    const auto run_all = [&] {
      for (int i = 0; i < 12; ++i) {
        sched.submit({.tenant = static_cast<std::uint64_t>(i % 2), .release_at_end = true},
                     {counting(20), output::last_logits});
        auto plan = sched.next();
        sched.absorb(plan);
      }
      for (auto plan = sched.next(); !plan.empty(); plan = sched.next()) sched.absorb(plan);
    };
    const auto name = "fairness_counters::" + members[static_cast<std::size_t>(member)] + "()";
    BOOST_CHECK_EXCEPTION(run_all(), std::logic_error,
                          [&](const auto& error) { return error.what() == name + " threw: the fuse has burnt"; });
  }
  counters tenants([](int) {}, [] { return std::numeric_limits<double>::quiet_NaN(); });
  scheduler sched(roomy(), std::make_unique<scheduling>(newer, always, &tenants));
  for (const std::uint64_t tenant : {1, 2}) sched.submit({.tenant = tenant}, {counting(4), output::last_logits});
  BOOST_CHECK_EXCEPTION(sched.next(), std::logic_error, [](const auto& error) {
    return std::string(error.what()) == "fairness_counters::mark() returned NaN; it must return a number";
  });
}

BOOST_AUTO_TEST_CASE(limits_of_an_allocation_policy_are_between_nothing_and_the_budget) {
  const auto refusal = [](std::int64_t high, std::int64_t low) -> std::string {
    try {
      scheduler(scarce(0), fcfs(), longest_idle(),
                std::make_unique<allocation>([](int needed, int) { return needed; }, [=](auto) { return high; },
                                             [=](auto) { return low; }));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  BOOST_CHECK_EQUAL(refusal(80, 0), "");
  BOOST_CHECK_EQUAL(refusal(81, 0), "allocation_policy::high() returned 81; it must be between 0 and the budget, 80");
  BOOST_CHECK_EQUAL(refusal(0, -1), "allocation_policy::low() returned -1; it must be between 0 and the budget, 80");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::scheduler
