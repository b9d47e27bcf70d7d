#include "engine/compile_queue.hpp"

#include <cogen/error.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using cogen::detail::compile_queue;
using cogen::detail::compile_turns;
using cogen::grammar::work_watch;

namespace {

const std::atomic<bool> never = false;

/// Works for its part until somebody says that it is enough, or the watch ends it.
void work_until(const std::atomic<bool>& enough, work_watch& watch) {
  while (!enough) watch.check();
}

std::string failure(const std::function<void()>& call) {
  try {
    call();
    return {};
  } catch (const cogen::generation_error& error) {
    return error.code() == cogen::error::queue_full ? error.what() : error.code().message();
  }
}

/// That a job sets, and keeps until it has done so.
template <class Result>
class shared_result {
 public:
  void set(Result result) const { promise_->set_value(std::move(result)); }
  Result get() const { return promise_->get_future().get(); }

 private:
  std::shared_ptr<std::promise<Result>> promise_ = std::make_shared<std::promise<Result>>();
};

}  // namespace

BOOST_AUTO_TEST_SUITE(compile_queues)

BOOST_AUTO_TEST_CASE(jobs_that_do_not_end_make_no_others_wait) {
  std::atomic<bool> enough = false;
  std::vector<shared_result<bool>> ends(6);
  const auto queue = std::make_shared<compile_queue>(false);
  for (std::uint64_t tenant = 0; tenant < ends.size(); ++tenant)
    queue->put(tenant, never, [&enough, queue, end = ends[tenant]](work_watch& watch) {
      work_until(enough, watch);
      end.set(true);
    });
  for (int i = 0; i < 20; ++i) queue->run(100, [queue](work_watch& watch) { watch.check(); });
  enough = true;
  for (auto& each : ends) BOOST_TEST(each.get());
}

BOOST_AUTO_TEST_CASE(more_jobs_that_do_not_end_than_places_give_way) {
  constexpr auto count = compile_turns::max_places;
  std::vector<shared_result<std::string>> ends(count);
  const auto queue = std::make_shared<compile_queue>(false, compile_turns::time(20));
  const auto unwanted = std::make_shared<std::atomic<bool>>(false);
  for (std::size_t i = 0; i < count; ++i)
    queue->put(i, *unwanted, [queue, unwanted, end = ends[i]](work_watch& watch) {
      end.set(failure([&] { work_until(never, watch); }));
    });
  queue->run(100, [queue](work_watch& watch) { watch.check(); });
  *unwanted = true;
  std::size_t gave_way = 0;
  for (auto& each : ends) {
    const auto said = each.get();
    const bool gives_way = said.starts_with("compiling the response format has taken 20 ms, and others wait");
    gave_way += gives_way;
    BOOST_TEST((gives_way || said == "Operation canceled"), said);
  }
  BOOST_TEST(gave_way == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_not_wanted_any_more_ends_also_while_it_rests) {
  std::vector<std::shared_ptr<std::atomic<bool>>> unwanted;
  std::vector<shared_result<std::string>> ends(5);
  const auto queue = std::make_shared<compile_queue>(false);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    unwanted.push_back(std::make_shared<std::atomic<bool>>(false));
    queue->put(i % 3, *unwanted[i], [queue, kept = unwanted[i], end = ends[i]](work_watch& watch) {
      end.set(failure([&] { work_until(never, watch); }));
    });
  }
  for (auto& flag : unwanted) *flag = true;
  for (auto& each : ends) BOOST_TEST(each.get() == "Operation canceled");
}

BOOST_AUTO_TEST_CASE(jobs_may_run_where_they_are_put) {
  std::vector<std::string> begun;
  const auto queue = std::make_shared<compile_queue>(true);
  queue->put(1, never, [&](work_watch&) {
    begun.emplace_back("outer");
    queue->put(1, never, [&](work_watch&) { begun.emplace_back("inner"); });
  });
  queue->run(1, [&](work_watch&) { begun.emplace_back("last"); });
  BOOST_TEST(begun == (std::vector<std::string>{"outer", "inner", "last"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_last_job_may_hold_the_queue) {
  const shared_result<bool> end;
  auto queue = std::make_shared<compile_queue>(false);
  queue->put(1, never, [queue, end](work_watch&) { end.set(true); });
  queue.reset();
  BOOST_TEST(end.get());
}

// A thread that was started for a job may find that another one has run it.
BOOST_AUTO_TEST_CASE(threads_that_come_late_find_the_queue_that_no_job_holds_any_more) {
  for (int round = 0; round < 50; ++round) {
    std::vector<shared_result<bool>> ends(4);
    auto queue = std::make_shared<compile_queue>(false);
    for (std::size_t i = 0; i < ends.size(); ++i)
      queue->put(i, never, [queue, end = ends[i]](work_watch&) { end.set(true); });
    queue.reset();
    for (auto& each : ends) BOOST_TEST(each.get());
  }
}

BOOST_AUTO_TEST_SUITE_END()
