// Who is served first, by the order of the engine and what requests say of themselves.
#include "model_engines.hpp"
#include "toy_runner.hpp"

#include <cogen/policy.hpp>
#include <cogen/scheduler/deadline_unreachable.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>

namespace cogen::test {
namespace {

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(orders)

/// By which policies order requests.
struct ranked_by {
  std::optional<clock::duration> finish_within = {};
  int priority = 0;
  std::uint64_t tenant = 0;
};

/// Generations of a few tokens, each under a name, and the names as they end.
class finishing_line {
 public:
  explicit finishing_line(engine& running) : running_(running) {}

  void enter(int name, int length, const ranked_by& rank = {}) {
    streams_.push_back(running_.generate({.prompt = token_ids(static_cast<std::size_t>(length), 7),
                                          .max_tokens = 3,
                                          .finish_within = rank.finish_within,
                                          .priority = rank.priority,
                                          .tenant = rank.tenant}));
    streams_.back().async_complete(
        net::bind_executor(context_, [this, name](error_code, completion) { ended_.push_back(name); }));
  }

  const std::vector<int>& settle() {
    test::settle(running_, context_);
    return ended_;
  }

  diagnostics error(std::size_t index) const { return streams_[index].error(); }

 private:
  engine& running_;
  net::io_context context_;
  std::vector<token_stream> streams_;
  std::vector<int> ended_;
};

class shortest_first final : public scheduler::scheduling_policy {
 public:
  bool precedes(const scheduler::candidate& a, const scheduler::candidate& b) const noexcept override {
    return a.most < b.most;
  }
};

void check_order(const std::vector<int>& ended, const std::vector<int>& expected) {
  BOOST_TEST(ended == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(requests_come_first_by_their_priority) {
  toy_engine toy({.slots = 1, .scheduling_policy = [] { return scheduler::by_priority(); }});
  finishing_line line(toy.running);
  line.enter(0, 2);
  line.enter(-1, 2, {.priority = -1});
  line.enter(2, 2, {.priority = 2});
  line.enter(1, 2, {.priority = 1});
  check_order(line.settle(), {2, 1, 0, -1});
}

BOOST_AUTO_TEST_CASE(requests_come_first_by_the_time_they_have_to_end) {
  toy_engine toy({.slots = 1, .scheduling_policy = [] { return scheduler::earliest_deadline_first(); }});
  finishing_line line(toy.running);
  line.enter(0, 2);
  line.enter(3, 2, {.finish_within = 3s});
  line.enter(1, 2, {.finish_within = 1s});
  line.enter(2, 2, {.finish_within = 2s});
  check_order(line.settle(), {1, 2, 3, 0});
}

BOOST_AUTO_TEST_CASE(without_an_order_of_its_own_an_engine_serves_them_as_they_come) {
  toy_engine toy({.slots = 1});
  finishing_line line(toy.running);
  for (const int level : {0, -1, 2}) line.enter(level, 2, {.priority = level, .tenant = 3});
  check_order(line.settle(), {0, -1, 2});
}

BOOST_AUTO_TEST_CASE(requests_of_tenants_take_turns) {
  toy_engine toy({.slots = 1, .scheduling_policy = [] { return scheduler::fair_share(); }});
  finishing_line line(toy.running);
  for (const int name : {10, 11, 12}) line.enter(name, 4, {.tenant = 1});
  line.enter(20, 5, {.tenant = 2});
  check_order(line.settle(), {10, 20, 11, 12});
}

BOOST_AUTO_TEST_CASE(a_request_has_come_when_it_came_also_to_an_engine_that_slept) {
  toy_engine toy({.slots = 1, .scheduling_policy = [] { return scheduler::by_priority(10ms); }});
  finishing_line line(toy.running);
  line.enter(1, 2);
  line.settle();
  toy.time->advance(1h);
  line.enter(2, 2, {.priority = 1});
  line.enter(3, 2);
  toy.running.poll_one();
  toy.time->advance(9ms);
  line.enter(4, 2, {.priority = 1});
  toy.running.poll_one();
  toy.time->advance(2ms);
  line.enter(5, 2, {.priority = 1});
  check_order(line.settle(), {1, 2, 4, 3, 5});
}

/// Accepts no request.
class closed_counters final : public scheduler::scheduling_policy, scheduler::fairness_counters {
 public:
  bool precedes(const scheduler::candidate&, const scheduler::candidate&) const noexcept override { return false; }
  scheduler::fairness_counters* divides() noexcept override { return this; }

 private:
  void join(std::uint64_t) override {
    throw scheduler::deadline_unreachable(scheduler::time(0), scheduler::time(1s), 3000, std::chrono::milliseconds(1));
  }
  void leave(std::uint64_t) noexcept override {}
  void waits(std::uint64_t, bool) noexcept override {}
  void scheduled(std::uint64_t, std::int64_t) noexcept override {}
  void ran(std::uint64_t, std::int64_t, std::int64_t) noexcept override {}
  void dropped(std::uint64_t, std::int64_t) noexcept override {}
  double mark(std::uint64_t, scheduler::turn) const noexcept override { return 0; }
};

BOOST_AUTO_TEST_CASE(a_request_that_would_be_late_is_refused_with_the_reason) {
  toy_engine toy({.scheduling_policy = [] { return std::make_unique<closed_counters>(); }});
  finishing_line line(toy.running);
  line.enter(1, 2);
  check_order(line.settle(), {1});
  BOOST_CHECK_EQUAL(line.error(0).code(), make_error_code(error::deadline_unreachable));
  BOOST_TEST(line.error(0).message().find("take 3.000 s") != std::string::npos, line.error(0).message());
  BOOST_TEST(toy.running.stats().sequences == 0);
}

/// The newest first, in the slot of whatever runs.
class newest_first final : public scheduler::scheduling_policy {
 public:
  bool precedes(const scheduler::candidate& a, const scheduler::candidate& b) const override {
    return a.arrival > b.arrival;
  }
  bool displaces(const scheduler::candidate&, const scheduler::candidate&) const override { return true; }
};

BOOST_AUTO_TEST_CASE(an_order_that_displaces_whatever_runs_serves_everyone) {
  toy_engine toy({.slots = 2, .scheduling_policy = [] { return std::make_unique<newest_first>(); }});
  finishing_line line(toy.running);
  for (int name = 0; name < 6; ++name) {
    line.enter(name, 4);
    toy.running.poll_one();
  }
  line.settle();
  for (std::size_t i = 0; i < 6; ++i) BOOST_CHECK(!line.error(i));
  BOOST_TEST(toy.running.stats().preempted > 0);
}

class throwing_order final : public scheduler::scheduling_policy {
 public:
  bool precedes(const scheduler::candidate&, const scheduler::candidate&) const override {
    throw std::runtime_error("no order today");
  }
};

BOOST_AUTO_TEST_CASE(an_order_that_throws_ends_the_engine_with_what_it_threw) {
  toy_engine toy({.scheduling_policy = [] { return std::make_unique<throwing_order>(); }});
  finishing_line line(toy.running);
  for (int name = 0; name < 3; ++name) line.enter(name, 4);
  BOOST_TEST(line.settle().size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    BOOST_CHECK_EQUAL(line.error(i).code(), make_error_code(error::device_failed));
    BOOST_TEST(line.error(i).message() == "a step failed: scheduling_policy::precedes() threw: no order today");
  }
}

BOOST_AUTO_TEST_CASE(an_engine_over_a_model_asks_its_options_for_an_order) {
  const auto model = golden_model("llama_default");
  auto options = tiny_engine(*model);
  options.batching.slots = 1;
  options.policies.scheduling = [] { return std::make_unique<shortest_first>(); };
  engine running(model, options);
  finishing_line line(running);
  for (const int length : {9, 3, 6}) line.enter(length, length);
  check_order(line.settle(), {3, 6, 9});
}

BOOST_AUTO_TEST_CASE(an_option_that_makes_no_order_is_refused) {
  const auto model = golden_model("llama_default");
  auto options = tiny_engine(*model);
  options.policies.scheduling = [] { return nullptr; };
  BOOST_CHECK_EXCEPTION(engine(model, options), std::invalid_argument, [](const std::invalid_argument& error) {
    return std::string(error.what()) == "engine_options.policies.scheduling made no policy";
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
