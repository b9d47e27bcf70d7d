// What an encoder reads beside a sequence: planned with its first token, and once more where it begins anew.
#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

namespace cogen::scheduler {
namespace {

source_tokens source(int count) { return std::make_shared<const std::vector<token>>(counting(count, 30)); }

sequence_options beside(source_tokens what) {
  sequence_options options;
  options.source = std::move(what);
  return options;
}

sequence_id prefilled_beside(served& s, const source_tokens& read, int count) {
  const auto id = s.machine.submit(beside(read), {counting(count), output::last_logits});
  s.finish();
  return id;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_first_row_brings_the_source_and_no_other_one) {
  served s(roomy());
  const auto read = source(5);
  const auto id = s.machine.submit(beside(read), {counting(3), output::sample, 4, 4});
  const auto first = s.step();
  BOOST_REQUIRE(row_of(first, id));
  BOOST_CHECK(row_of(first, id)->source == read);
  while (!s.machine.idle(id)) BOOST_CHECK(!row_of(s.step(), id)->source);
  BOOST_CHECK(s.sampled(id) == alone(counting(3), 4, *read));
}

BOOST_AUTO_TEST_CASE(a_source_counts_in_the_step) {
  auto within = roomy();
  within.step_tokens = 16;
  served s(within);
  const auto a = s.machine.submit(beside(source(10)), {counting(20), output::last_logits});
  const auto b = s.machine.submit(beside(source(10)), {counting(20), output::last_logits});
  const auto first = s.step();
  BOOST_CHECK_EQUAL(row_of(first, a)->count, 6);
  BOOST_CHECK(!row_of(first, b));
  const auto second = s.step();
  BOOST_CHECK_EQUAL(row_of(second, a)->count, 14);
  BOOST_CHECK_EQUAL(row_of(second, b)->count, 1);
  BOOST_CHECK(row_of(second, b)->source);
}

BOOST_AUTO_TEST_CASE(a_source_longer_than_a_step_takes_one_of_its_own_and_streams_go_on) {
  auto within = roomy();
  within.step_tokens = 8;
  served s(within);
  const auto stream = s.machine.submit({}, {counting(2), output::sample, 40});
  s.step();
  const auto id = s.machine.submit(beside(source(100)), {{1}, output::sample, 2, 2});
  const auto other = s.machine.submit(beside(source(100)), {{2}, output::sample, 2, 2});
  const auto first = s.step();
  BOOST_CHECK(row_of(first, stream));
  BOOST_CHECK(row_of(first, id) && row_of(first, id)->source);
  BOOST_CHECK(!row_of(first, other));
  const auto second = s.step();
  BOOST_CHECK(row_of(second, stream) && row_of(second, id));
  BOOST_CHECK(row_of(second, other) && row_of(second, other)->source);
}

BOOST_AUTO_TEST_CASE(a_cut_to_nothing_reads_the_source_again_and_another_cut_does_not) {
  served s(roomy());
  const auto read = source(7);
  const auto id = prefilled_beside(s, read, 10);
  s.machine.truncate(id, 4);
  s.machine.start(id, {{1}, output::last_logits});
  BOOST_CHECK(!row_of(s.step(), id)->source);
  s.machine.truncate(id, 0);
  s.machine.start(id, {{2}, output::last_logits});
  BOOST_CHECK(row_of(s.step(), id)->source == read);
  check_continues(s, id, {2}, *read);
}

BOOST_AUTO_TEST_CASE(the_next_owner_of_a_slot_reads_its_own) {
  auto within = roomy();
  within.slots = 1;
  served s(within);
  const auto first = prefilled_beside(s, source(7), 10);
  s.machine.cancel(first);
  const auto read = source(3);
  const auto second = prefilled_beside(s, read, 6);
  check_continues(s, second, counting(6), *read);
  s.machine.cancel(second);
  const auto third = prefilled(s, 5);
  check_continues(s, third, counting(5));
}

BOOST_AUTO_TEST_CASE(forks_have_the_source_of_their_parent) {
  for (const int length : {1, 3, 4, 13, 16}) {
    served s(roomy());
    const auto read = source(7);
    const auto parent = prefilled_beside(s, read, length);
    const auto child = s.machine.fork(parent);
    s.machine.start(child, {{40}, output::last_logits});
    const auto step = s.step();
    BOOST_CHECK(!row_of(step, child)->source);
    s.machine.cancel(parent);
    s.finish();
    const auto grandchild = s.machine.fork(child);
    check_continues(s, grandchild, joined(counting(length), {40}), *read);
    check_continues(s, child, joined(counting(length), {40}), *read);
  }
}

BOOST_AUTO_TEST_CASE(a_fork_cut_to_nothing_before_it_runs_reads_for_itself) {
  served s(roomy());
  const auto read = source(7);
  const auto parent = prefilled_beside(s, read, 13);
  const auto child = s.machine.fork(parent);
  s.machine.truncate(child, 0);
  s.machine.start(child, {{2}, output::last_logits});
  BOOST_CHECK(row_of(s.step(), child)->source == read);
  check_continues(s, child, {2}, *read);
  check_continues(s, parent, counting(13), *read);
}

}  // namespace cogen::scheduler
