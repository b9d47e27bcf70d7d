// Each completed operation is called in a job of its own, posted with no lock held; without memory it can be posted
// again.
#include "engine/async/pending_operations.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

namespace cogen::detail {
namespace {

/// Jobs wait until a test runs them. While `refuses`, there is no memory for another one.
struct place {
  net::io_context context;
  std::deque<std::function<void()>> jobs;
  std::function<void()> before_execute = [] {};
  bool refuses = false;
  int posted = 0;

  /// The first job.
  void run_one() {
    const auto job = std::move(jobs.front());
    jobs.pop_front();
    here = this;
    job();
  }

  void run() {
    while (!jobs.empty()) run_one();
  }

  static inline const place* here = nullptr;  ///< where a job was run last
};

class place_executor {
 public:
  explicit place_executor(place& where) noexcept : where_(&where) {}

  net::execution_context& query(net::execution::context_t) const noexcept { return where_->context; }
  static constexpr net::execution::blocking_t query(net::execution::blocking_t) noexcept {
    return net::execution::blocking.never;
  }
  place_executor require(net::execution::blocking_t::never_t) const { return *this; }

  template <class Function>
  void execute(Function&& function) const {
    where_->before_execute();
    if (where_->refuses) throw std::bad_alloc();
    ++where_->posted;
    auto shared = std::make_shared<std::decay_t<Function>>(std::forward<Function>(function));
    where_->jobs.emplace_back([shared] { (*shared)(); });
  }

  friend bool operator==(const place_executor&, const place_executor&) noexcept = default;

 private:
  place* where_;
};

class recorded final : public pending_operation {
 public:
  explicit recorded(place& where, std::function<void()> handler = {})
      : pending_operation(place_executor(where)),
        where_(&where),
        executor_(place_executor(where)),
        handler_(std::move(handler)) {}

  void drop() noexcept override { dropped = true; }
  net::any_io_executor executor() const noexcept override { return executor_; }
  void call(std::shared_ptr<pending_operation>) override {
    ++calls;
    in_place = place::here == where_;
    if (handler_) handler_();
  }

  int calls = 0;
  bool in_place = false;
  bool dropped = false;

 private:
  place* where_;
  net::any_io_executor executor_;
  std::function<void()> handler_;
};

struct fixture {
  std::shared_ptr<recorded> add(place& where, std::function<void()> handler = {}) {
    auto added = std::make_shared<recorded>(where, std::move(handler));
    entries.push_back(registry.add(added));
    operations.push_back(added);
    return added;
  }

  std::shared_ptr<recorded> post(place& where, std::function<void()> handler = {}) {
    auto added = add(where, std::move(handler));
    registry.post(added);
    return added;
  }

  void check() const {
    for (const auto& each : operations) {
      BOOST_TEST(each->calls == 1);
      BOOST_TEST(each->in_place);
    }
  }

  std::shared_ptr<pending_operations> owned = std::make_shared<pending_operations>();
  pending_operations& registry = *owned;
  std::vector<pending_operations::entry> entries;
  std::vector<std::shared_ptr<recorded>> operations;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(pending)

BOOST_AUTO_TEST_CASE(each_is_a_job_of_its_own_and_posts_the_next) {
  place where;
  fixture f;
  for (int i = 0; i < 3; ++i) f.post(where);
  for (int i = 1; i <= 3; ++i) {
    BOOST_TEST(where.posted == i);
    BOOST_TEST(where.jobs.size() == 1);
    where.run_one();
  }
  BOOST_TEST(where.jobs.empty());
  f.check();
}

BOOST_AUTO_TEST_CASE(those_of_another_executor_are_posted_alone) {
  place first, other;
  fixture f;
  f.post(first);
  f.post(other);
  f.post(other);
  BOOST_TEST(other.jobs.size() == 2);
  other.run();
  first.run();
  f.check();
}

BOOST_AUTO_TEST_CASE(without_memory_for_the_next_job_the_one_that_runs_goes_on) {
  place where;
  fixture f;
  for (int i = 0; i < 4; ++i) f.post(where);
  where.refuses = true;
  where.run_one();
  BOOST_TEST(where.jobs.empty());
  f.check();
}

BOOST_AUTO_TEST_CASE(while_it_goes_on_no_second_job_takes_from_a_queue_of_another_executor) {
  place first, other;
  fixture f;
  f.post(first, [&] {
    first.refuses = false;
    f.post(first, [&] { f.post(other); });  // the queue has run empty then, and begins anew
  });
  f.post(first);
  first.refuses = true;
  while (!first.jobs.empty()) first.run_one();
  other.run();
  f.check();
}

BOOST_AUTO_TEST_CASE(one_that_was_refused_leaves_its_queue_whole) {
  place where;
  fixture f;
  const auto first = f.add(where);
  std::shared_ptr<recorded> behind;
  bool is_first = true;
  where.before_execute = [&] {
    if (!std::exchange(is_first, false)) return;
    behind = f.post(where);  // as another thread might, between the queue and its job
    where.refuses = true;
  };
  BOOST_CHECK_THROW(f.registry.post(first), std::bad_alloc);
  BOOST_TEST(where.jobs.empty());
  where.refuses = false;
  f.registry.post(first);
  where.run();
  BOOST_TEST(behind->calls == 1);
  f.check();
}

BOOST_AUTO_TEST_CASE(a_throwing_handler_leaves_no_operation_behind_it_without_a_job) {
  place where;
  fixture f;
  f.post(where, [] { throw std::runtime_error("a handler"); });
  for (int i = 0; i < 2; ++i) f.post(where);
  where.refuses = true;
  BOOST_CHECK_THROW(where.run_one(), std::runtime_error);
  BOOST_TEST(where.jobs.empty());
  f.check();
}

BOOST_AUTO_TEST_CASE(those_of_one_executor_are_called_in_the_order_of_their_posts) {
  place where;
  fixture f;
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) f.post(where, [&order, i] { order.push_back(i); });
  where.run();
  BOOST_TEST(order == (std::vector<int>{0, 1, 2, 3, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_handler_may_complete_another_one) {
  place first, other;
  fixture f;
  f.post(first, [&] {
    f.post(first);
    f.post(other);
    BOOST_TEST(f.operations.at(1)->calls == 0);
  });
  first.run();
  other.run();
  f.check();
}

BOOST_AUTO_TEST_CASE(an_executor_may_use_the_registry_because_no_lock_is_held) {
  place first, other;
  fixture f;
  first.before_execute = [&] {
    f.post(other);
    f.registry.remove(f.entries.back());
  };
  f.post(first);
  first.run();
  other.run();
  f.check();
}

BOOST_AUTO_TEST_CASE(without_memory_nothing_has_changed_and_it_can_be_posted_again) {
  place where;
  fixture f;
  const auto entry = f.add(where);
  where.refuses = true;
  BOOST_CHECK_THROW(f.registry.post(entry), std::bad_alloc);
  BOOST_TEST(where.jobs.empty());
  BOOST_TEST(entry.use_count() == 2);
  where.refuses = false;
  f.registry.post(entry);
  where.run();
  f.check();
}

BOOST_AUTO_TEST_CASE(a_handler_that_throws_does_not_keep_others_from_being_called) {
  place where;
  fixture f;
  f.post(where, [] { throw std::runtime_error("a handler"); });
  for (int i = 0; i < 2; ++i) f.post(where);
  BOOST_CHECK_THROW(where.run_one(), std::runtime_error);
  where.run();
  f.check();
}

BOOST_AUTO_TEST_CASE(after_close_they_are_dropped_and_nothing_is_posted) {
  place where;
  fixture f;
  const auto entry = f.add(where);
  where.refuses = true;
  BOOST_CHECK_THROW(f.registry.post(entry), std::bad_alloc);  // a failed post is no longer in progress
  where.refuses = false;
  f.registry.close();
  BOOST_TEST(entry->dropped);
  f.registry.post(entry);
  BOOST_TEST(where.jobs.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::detail
