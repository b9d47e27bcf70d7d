// Completed operations are called where they belong, and all of them, also where memory for their jobs runs out.
#include <cogen/async/pending_operations.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <deque>
#include <functional>
#include <new>
#include <stdexcept>
#include <vector>

namespace cogen::async {
namespace {

/// Jobs wait until a test runs them. While `refuses`, there is no memory for another one.
struct place {
  net::io_context context;
  std::deque<std::function<void()>> jobs;
  bool refuses = false;
  int sent = 0;

  /// The first job.
  void run_one() {
    const auto job = std::move(jobs.front());
    jobs.pop_front();
    here = this;
    job();
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
    if (where_->refuses) throw std::bad_alloc();
    ++where_->sent;
    auto shared = std::make_shared<std::decay_t<Function>>(std::forward<Function>(function));
    where_->jobs.emplace_back([shared] { (*shared)(); });
  }

  friend bool operator==(const place_executor&, const place_executor&) noexcept = default;

 private:
  place* where_;
};

class told final : public pending_operation {
 public:
  told(place& where, std::function<void()> handler = {})
      : where_(&where), executor_(place_executor(where)), handler_(std::move(handler)) {}

  void drop() noexcept override {}
  bool post_again() noexcept override { return false; }
  const net::any_io_executor* executor() const noexcept override { return &executor_; }
  void call(std::shared_ptr<pending_operation>) override {
    ++calls;
    in_place = place::here == where_;
    if (handler_) handler_();
  }

  int calls = 0;
  bool in_place = false;

 private:
  place* where_;
  net::any_io_executor executor_;
  std::function<void()> handler_;
};

struct line {
  std::shared_ptr<told> add(place& where, std::function<void()> handler = {}) {
    auto added = std::make_shared<told>(where, std::move(handler));
    all.push_back(added);
    registry->post(added);
    return added;
  }

  void check() const {
    for (const auto& each : all) {
      BOOST_TEST(each->calls == 1);
      BOOST_TEST(each->in_place);
    }
  }

  std::shared_ptr<pending_operations> registry = std::make_shared<pending_operations>();
  std::vector<std::shared_ptr<told>> all;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(pending)

BOOST_AUTO_TEST_CASE(one_job_is_sent_for_many_and_each_one_sends_the_next) {
  place where;
  line all;
  for (int i = 0; i < 3; ++i) all.add(where);
  for (int i = 1; i <= 3; ++i) {
    BOOST_TEST(where.sent == i);
    BOOST_TEST(where.jobs.size() == 1);
    where.run_one();
  }
  BOOST_TEST(where.jobs.empty());
  all.check();
}

BOOST_AUTO_TEST_CASE(those_of_another_executor_go_by_themselves) {
  place one, other;
  line all;
  all.add(one);
  all.add(other);
  other.run_one();
  one.run_one();
  all.check();
}

BOOST_AUTO_TEST_CASE(without_memory_for_a_job_the_one_that_runs_goes_on) {
  place where;
  line all;
  for (int i = 0; i < 4; ++i) all.add(where);
  where.refuses = true;
  where.run_one();
  BOOST_TEST(where.jobs.empty());
  all.check();
}

BOOST_AUTO_TEST_CASE(while_it_goes_on_no_second_job_takes_from_a_line_of_another_executor) {
  place one, other;
  line all;
  all.add(one, [&] {
    one.refuses = false;
    all.add(one, [&] { all.add(other); });  // the line has run empty then, and begins anew
  });
  all.add(one);
  one.refuses = true;
  while (!one.jobs.empty()) one.run_one();
  while (!other.jobs.empty()) other.run_one();
  all.check();
}

BOOST_AUTO_TEST_CASE(a_throwing_handler_leaves_no_operation_behind_it_without_a_job) {
  place where;
  line all;
  all.add(where, [] { throw std::runtime_error("a handler"); });
  for (int i = 0; i < 2; ++i) all.add(where);
  where.refuses = true;
  BOOST_CHECK_THROW(where.run_one(), std::runtime_error);
  BOOST_TEST(where.jobs.empty());
  all.check();
}

BOOST_AUTO_TEST_CASE(after_a_handler_that_throws_the_others_have_their_job) {
  place where;
  line all;
  all.add(where, [] { throw std::runtime_error("a handler"); });
  all.add(where);
  BOOST_CHECK_THROW(where.run_one(), std::runtime_error);
  BOOST_TEST(where.jobs.size() == 1);
  where.run_one();
  all.check();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::async
