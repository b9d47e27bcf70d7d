// Runners are told when nothing has run for a while.
#include "toy_runner.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

namespace cogen::test {

namespace {

using namespace std::chrono_literals;

struct idle_toy : toy_engine {
  void generate() {
    net::io_context context;
    auto stream = running.generate({.prompt = token_ids({1, 2}), .max_tokens = 3});
    settle(context);
  }

  int trims_after(std::chrono::seconds passed) {
    time->advance(passed);
    running.poll_one();
    return control->trims;
  }
};

BOOST_AUTO_TEST_SUITE(engine_trim)

BOOST_AUTO_TEST_CASE(once_after_ten_idle_seconds) {
  idle_toy toy;
  BOOST_TEST(toy.trims_after(60s) == 0);  // nothing has run
  for (int turn = 0; turn < 2; ++turn) {
    toy.generate();
    BOOST_TEST(toy.trims_after(9s) == turn);
    BOOST_TEST(toy.trims_after(1s) == turn + 1);
    BOOST_TEST(toy.trims_after(60s) == turn + 1);
  }
}

BOOST_AUTO_TEST_CASE(not_while_a_step_is_in_flight_or_another_follows) {
  idle_toy toy;
  toy.control->hold = true;
  auto stream = toy.running.generate({.prompt = token_ids({1, 2}), .max_tokens = 20});
  toy.running.poll_one();
  BOOST_TEST(toy.control->held.size() > 0u);
  BOOST_TEST(toy.trims_after(60s) == 0);
  toy.control->hold = false;
  toy.control->release();
  toy.generate();
  BOOST_TEST(toy.trims_after(9s) == 0);
  toy.generate();
  BOOST_TEST(toy.trims_after(9s) == 0);
  BOOST_TEST(toy.trims_after(1s) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
