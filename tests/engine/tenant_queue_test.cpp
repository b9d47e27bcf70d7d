#include "engine/tenant_queue.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

using cogen::detail::tenant_queue;

namespace {

/// A queue whose jobs end when the test says so.
class watched_queue {
 public:
  void put(std::uint64_t tenant, const std::string& name) {
    queue_.put(tenant, [this, name] { begun_.push_back(name); });
  }

  /// Runs the first of the jobs that run, to its end.
  void end_first() {
    const auto job = std::move(running_.front());
    running_.erase(running_.begin());
    job();
  }

  std::size_t running() const { return running_.size(); }

  std::vector<std::string> run_all() {
    while (!running_.empty()) end_first();
    return begun_;
  }

 private:
  std::vector<tenant_queue::job> running_;
  std::vector<std::string> begun_;
  tenant_queue queue_{2, [this](tenant_queue::job job) { running_.push_back(std::move(job)); }};
};

using names = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_SUITE(tenant_queues)

BOOST_AUTO_TEST_CASE(a_tenant_has_one_job_at_once) {
  watched_queue queue;
  for (const auto* name : {"a1", "a2", "a3"}) queue.put(1, name);
  BOOST_TEST(queue.running() == 1u);
  queue.put(2, "b1");
  BOOST_TEST(queue.running() == 2u);
  queue.put(3, "c1");
  BOOST_TEST(queue.running() == 2u);
  BOOST_TEST(queue.run_all() == (names{"a1", "b1", "c1", "a2", "a3"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(tenants_take_turns) {
  watched_queue queue;
  for (const auto* name : {"1", "2", "3", "4"})
    for (const std::uint64_t tenant : {1, 2, 3}) queue.put(tenant, std::to_string(tenant) + name);
  for (int i = 0; i < 10; ++i) {
    queue.end_first();
    BOOST_TEST(queue.running() == 2u);
  }
  const auto begun = queue.run_all();
  BOOST_TEST(begun.size() == 12u);
  std::map<char, std::string> of_tenant;
  for (std::size_t i = 0; i < begun.size(); ++i) {
    if (i < 3) BOOST_TEST(begun[i].back() == '1');
    of_tenant[begun[i].front()] += begun[i].back();
  }
  for (const auto& [tenant, order] : of_tenant) BOOST_TEST(order == "1234");
}

BOOST_AUTO_TEST_CASE(jobs_may_run_where_they_are_put) {
  names begun;
  tenant_queue queue(2, [](const tenant_queue::job& job) { job(); });
  queue.put(1, [&] {
    begun.emplace_back("outer");
    queue.put(1, [&] { begun.emplace_back("inner"); });
  });
  queue.put(1, [&] { begun.emplace_back("last"); });
  BOOST_TEST(begun == (names{"outer", "inner", "last"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
