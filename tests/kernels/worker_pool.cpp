#include "network/kernels/worker_pool.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace cogen::kernels {
namespace {

BOOST_AUTO_TEST_SUITE(worker_pool_test)

BOOST_AUTO_TEST_CASE(each_task_runs_once_on_a_valid_thread) {
  for (const int threads : {1, 2, 3, 8}) {
    worker_pool pool(threads);
    BOOST_TEST(pool.threads() == threads);
    for (const std::int64_t tasks : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
      std::atomic<int> strangers{0};
      pool.parallel(tasks, [&](std::int64_t task, int thread) {
        ++runs[static_cast<std::size_t>(task)];
        if (thread < 0 || thread >= threads) ++strangers;
      });
      BOOST_TEST(strangers == 0);
      for (const auto& count : runs) BOOST_TEST(count == 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(calls_with_one_thread_number_do_not_overlap) {
  worker_pool pool(4);
  std::vector<std::int64_t> plain(4);  // a data race for ThreadSanitizer, were it not so
  for (int round = 0; round < 200; ++round)
    pool.parallel(16, [&](std::int64_t, int thread) { ++plain[static_cast<std::size_t>(thread)]; });
  BOOST_TEST(plain[0] + plain[1] + plain[2] + plain[3] == 200 * 16);
}

BOOST_AUTO_TEST_CASE(what_tasks_wrote_is_visible_after_the_region) {
  worker_pool pool(3);
  std::vector<std::int64_t> squares(500);
  for (std::int64_t round = 1; round < 50; ++round) {
    pool.parallel(500, [&](std::int64_t task, int) { squares[static_cast<std::size_t>(task)] = task * round; });
    for (std::int64_t task = 0; task < 500; ++task)
      BOOST_REQUIRE(squares[static_cast<std::size_t>(task)] == task * round);
  }
}

BOOST_AUTO_TEST_CASE(the_first_exception_reaches_the_caller_and_the_pool_stays_usable) {
  for (const int threads : {1, 3}) {
    worker_pool pool(threads);
    for (std::int64_t failing = 0; failing < 20; ++failing)
      BOOST_CHECK_THROW(pool.parallel(20,
                                      [&](std::int64_t task, int) {
                                        if (task == failing) throw std::runtime_error("task");
                                      }),
                        std::runtime_error);
    BOOST_CHECK_THROW(pool.parallel(50, [](std::int64_t, int) { throw std::out_of_range("all"); }), std::out_of_range);
    std::atomic<int> runs{0};
    pool.parallel(20, [&](std::int64_t, int) { ++runs; });
    BOOST_TEST(runs == 20);
  }
}

BOOST_AUTO_TEST_CASE(a_region_inside_a_task_is_worked_off_alone) {
  worker_pool pool(3);
  std::atomic<int> inner{0};
  pool.parallel(8, [&](std::int64_t, int) {
    const std::thread::id here = std::this_thread::get_id();
    pool.parallel(5, [&](std::int64_t, int thread) {
      if (std::this_thread::get_id() == here && thread == 0) ++inner;
    });
  });
  BOOST_TEST(inner == 40);
}

BOOST_AUTO_TEST_CASE(several_callers_share_one_pool) {
  worker_pool pool(3);
  std::vector<std::int64_t> sums(4);
  std::vector<std::thread> callers;
  for (std::size_t caller = 0; caller < sums.size(); ++caller)
    callers.emplace_back([&, caller] {
      for (int round = 0; round < 300; ++round) {
        std::atomic<std::int64_t> sum{0};
        pool.parallel(10, [&](std::int64_t task, int) { sum += task; });
        sums[caller] += sum;
      }
    });
  for (std::thread& caller : callers) caller.join();
  for (const std::int64_t sum : sums) BOOST_TEST(sum == 300 * 45);
}

BOOST_AUTO_TEST_CASE(a_pool_may_end_at_any_moment_after_a_region) {
  for (int round = 0; round < 50; ++round) {
    worker_pool pool(4);
    std::atomic<int> runs{0};
    pool.parallel(round % 5, [&](std::int64_t, int) { ++runs; });
    BOOST_TEST(runs == round % 5);
  }
}

BOOST_AUTO_TEST_CASE(impossible_numbers_of_threads_are_refused) {
  BOOST_CHECK_THROW(worker_pool(-1), std::invalid_argument);
  BOOST_CHECK_THROW(worker_pool(0), std::invalid_argument);
  BOOST_CHECK_THROW(worker_pool(2000), std::invalid_argument);
  BOOST_TEST(worker_pool().threads() == available_cores());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels
