// Who compiles when, with times and memory that the test says.
#include "engine/compile_turns.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

using cogen::detail::compile_turns;
using order = compile_turns::order;
using time_of_processor = compile_turns::time;

namespace {

/// Jobs that each need some time, on as many processors as may run; each look at them is a millisecond later.
class toy_processors {
 public:
  void put(std::uint64_t tenant, const std::string& name, int milliseconds, std::int64_t bytes = 0) {
    jobs_[turns_.put(tenant)] = {name, milliseconds, bytes};
    place();
  }

  /// A millisecond of each processor.
  void step() {
    ++now_;
    for (auto& [id, entry] : jobs_)
      if (entry.has_place && turns_.runs(id)) entry.runs = true;
    for (auto position = jobs_.begin(); position != jobs_.end();) {
      auto& [id, entry] = *position;
      if (!std::exchange(entry.runs, false) || !work(id, entry)) {
        ++position;
        continue;
      }
      turns_.end(id);
      position = jobs_.erase(position);
    }
    place();
    BOOST_TEST_REQUIRE(turns_.running() <= compile_turns::max_running);
    BOOST_TEST_REQUIRE(turns_.places() <= compile_turns::max_places);
  }

  /// The time at which the job ended.
  int end_of(const std::string& name) {
    for (int i = 0; !ends_.contains(name); ++i) {
      BOOST_TEST_REQUIRE(i < 1'000'000);
      step();
    }
    return ends_[name];
  }

  const std::vector<std::string>& begun() const { return begun_; }
  const std::map<std::string, order>& given_up() const { return given_up_; }

 private:
  struct toy_job {
    std::string name;
    int left;
    std::int64_t bytes;
    int used = 0;
    bool has_place = false, runs = false;
  };

  void place() {
    while (const auto next = turns_.place_next()) {
      jobs_.at(*next).has_place = true;
      begun_.push_back(jobs_.at(*next).name);
    }
  }

  bool work(compile_turns::job id, toy_job& entry) {
    const auto next = turns_.used(id, time_of_processor(++entry.used), entry.bytes);
    const bool is_over = --entry.left == 0;
    if (next == order::give_way || next == order::free_memory) given_up_[entry.name] = next;
    if (is_over || given_up_.contains(entry.name)) ends_[entry.name] = now_;
    return ends_.contains(entry.name);
  }

  compile_turns turns_;
  std::map<compile_turns::job, toy_job> jobs_;
  std::vector<std::string> begun_;
  std::map<std::string, int> ends_;
  std::map<std::string, order> given_up_;
  int now_ = 0;
};

using names = std::vector<std::string>;

constexpr int as_long_as_allowed = 10'000;

}  // namespace

BOOST_AUTO_TEST_SUITE(compiling_in_turns)

BOOST_AUTO_TEST_CASE(a_short_job_of_another_tenant_is_over_within_a_turn) {
  toy_processors processors;
  for (const std::uint64_t tenant : {1, 2}) processors.put(tenant, std::to_string(tenant), as_long_as_allowed);
  for (int i = 0; i < 321; ++i) processors.step();
  processors.put(3, "short", 5);
  BOOST_TEST(processors.end_of("short") <= 321 + compile_turns::turn.count() + 5);
  BOOST_TEST(processors.end_of("1") < 2 * as_long_as_allowed);
  BOOST_TEST(processors.given_up().empty());
}

BOOST_AUTO_TEST_CASE(tenants_share_the_processors_equally) {
  toy_processors processors;
  for (const std::uint64_t tenant : {1, 2, 3, 4}) processors.put(tenant, std::to_string(tenant), 3000);
  std::vector<int> ends;
  for (const char* name : {"1", "2", "3", "4"}) ends.push_back(processors.end_of(name));
  for (const int each : ends) BOOST_TEST(std::abs(each - 6000) <= 4 * compile_turns::turn.count());
}

BOOST_AUTO_TEST_CASE(a_tenants_jobs_begin_one_after_the_other) {
  toy_processors processors;
  for (const char* name : {"a1", "a2", "a3"}) processors.put(1, name, 100);
  processors.put(2, "b1", 100);
  BOOST_TEST(processors.begun() == (names{"a1", "b1"}), boost::test_tools::per_element());
  processors.end_of("a3");
  BOOST_TEST(processors.begun() == (names{"a1", "b1", "a2", "a3"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(beside_a_long_job_the_next_one_of_its_tenant_begins) {
  toy_processors processors;
  processors.put(1, "long", as_long_as_allowed);
  for (const char* name : {"short", "shorter"}) processors.put(1, name, 5);
  BOOST_TEST(processors.end_of("short") <= compile_turns::long_time.count() + 6);
  BOOST_TEST(processors.end_of("shorter") <= compile_turns::long_time.count() + 12);
  BOOST_TEST(processors.end_of("long") <= as_long_as_allowed + 10);
}

BOOST_AUTO_TEST_CASE(tenants_take_turns_at_beginning) {
  toy_processors processors;
  for (const char* name : {"1", "2", "3", "4"})
    for (const std::uint64_t tenant : {7, 8, 9}) processors.put(tenant, std::to_string(tenant) + name, 20);
  for (const char* name : {"74", "84", "94"}) processors.end_of(name);
  for (std::size_t i = 0; i < processors.begun().size(); ++i)
    BOOST_TEST(processors.begun()[i].back() == static_cast<char>('1' + i / 3));
}

BOOST_AUTO_TEST_CASE(the_longest_gives_way_to_a_tenant_without_a_place) {
  toy_processors processors;
  for (std::uint64_t tenant = 1; tenant <= compile_turns::max_places; ++tenant)
    processors.put(tenant, std::to_string(tenant), as_long_as_allowed);
  processors.put(99, "short", 5);
  const auto places = static_cast<int>(compile_turns::max_places);
  const auto long_time = static_cast<int>(compile_turns::long_time.count());
  BOOST_TEST(processors.end_of("short") <=
             places * long_time / compile_turns::max_running + 3 * compile_turns::turn.count());
  BOOST_TEST(processors.given_up().size() == 1u);
  BOOST_CHECK(processors.given_up().begin()->second == order::give_way);
}

BOOST_AUTO_TEST_CASE(a_tenant_with_many_places_gives_way_first) {
  toy_processors processors;
  for (int i = 0; i < 7; ++i) processors.put(1, "many" + std::to_string(i), 10 * as_long_as_allowed);
  processors.put(2, "single", 10 * as_long_as_allowed);
  for (int i = 0; i < 60'000 && processors.begun().size() < compile_turns::max_places; ++i) processors.step();
  BOOST_TEST_REQUIRE(processors.begun().size() == compile_turns::max_places);
  BOOST_TEST(processors.given_up().empty());  // its own tenant's jobs wait, not another's
  processors.put(3, "short", 5);
  processors.end_of("short");
  BOOST_TEST_REQUIRE(processors.given_up().size() == 1u);
  BOOST_TEST(processors.given_up().begin()->first.starts_with("many"));
}

BOOST_AUTO_TEST_CASE(what_takes_the_most_memory_is_ended_when_all_take_too_much) {
  toy_processors processors;
  processors.put(1, "most", 1000, compile_turns::max_bytes / 500);
  processors.put(2, "less", 1000, compile_turns::max_bytes / 2000);
  processors.put(3, "none", 1000);
  for (const char* name : {"most", "less", "none"}) processors.end_of(name);
  BOOST_TEST_REQUIRE(processors.given_up().size() == 1u);
  BOOST_CHECK(processors.given_up().at("most") == order::free_memory);
}

BOOST_AUTO_TEST_CASE(nothing_else_runs_while_a_job_frees_its_memory) {
  compile_turns turns;
  const auto most = turns.put(1), less = turns.put(2), none = turns.put(3);
  while (turns.place_next()) {
  }
  BOOST_TEST_REQUIRE(turns.running() == 2);
  BOOST_CHECK(turns.used(most, time_of_processor(1), compile_turns::max_bytes) == order::work);
  BOOST_CHECK(turns.used(less, time_of_processor(1), 1) == order::rest);  // the most has to free its memory
  BOOST_CHECK(turns.used(most, time_of_processor(2), 0) == order::free_memory);
  BOOST_TEST(turns.running() == 1);
  turns.end(most);
  BOOST_TEST(turns.runs(less));
  BOOST_TEST(turns.runs(none));
}

BOOST_AUTO_TEST_CASE(a_job_that_does_with_less_memory_goes_on) {
  compile_turns turns;
  const auto first = turns.put(1), other = turns.put(2);
  while (turns.place_next()) {
  }
  BOOST_CHECK(turns.used(first, time_of_processor(1), compile_turns::max_bytes + 1) == order::free_memory);
  BOOST_CHECK(turns.used(other, time_of_processor(1), 0) == order::rest);
  BOOST_CHECK(turns.used(first, time_of_processor(2), 1 - compile_turns::max_bytes) == order::work);
  BOOST_CHECK(turns.used(first, time_of_processor(60), 0) == order::work);  // the other has its turn beside it
  BOOST_TEST(turns.running() == 2);
}

BOOST_AUTO_TEST_CASE(what_is_freed_beside_a_job_is_no_room_for_it) {
  compile_turns turns;
  const auto first = turns.put(1), other = turns.put(2);
  while (turns.place_next()) {
  }
  BOOST_CHECK(turns.used(first, time_of_processor(1), compile_turns::max_bytes) == order::work);
  BOOST_CHECK(turns.used(first, time_of_processor(2), -compile_turns::max_bytes) ==
              order::work);  // perhaps the other's
  BOOST_CHECK(turns.used(first, time_of_processor(3), 1) == order::free_memory);
  turns.end(first);
  BOOST_CHECK(turns.used(other, time_of_processor(1), compile_turns::max_bytes) == order::work);
  BOOST_CHECK(turns.used(other, time_of_processor(2), -compile_turns::max_bytes) == order::work);  // its own
  BOOST_CHECK(turns.used(other, time_of_processor(3), compile_turns::max_bytes) == order::work);
}

BOOST_AUTO_TEST_CASE(what_others_have_compiled_before_changes_no_turns) {
  const auto end = [](int earlier) {
    toy_processors processors;
    for (int i = 0; i < earlier; ++i)
      processors.put(static_cast<std::uint64_t>(i % 3 + 5), "e" + std::to_string(i), 30);
    for (int i = 0; i < earlier; ++i) processors.end_of("e" + std::to_string(i));
    const int begin = earlier > 0 ? processors.end_of("e" + std::to_string(earlier - 1)) : 0;
    processors.put(1, "mine", 300);
    return processors.end_of("mine") - begin;
  };
  BOOST_TEST(end(0) == 300);
  BOOST_TEST(end(9) == 300);
}

BOOST_AUTO_TEST_SUITE_END()
