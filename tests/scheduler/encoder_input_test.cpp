// What an encoder reads beside a sequence: planned with its first token, and once more where it begins anew.
#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

namespace cogen::scheduler {
namespace {

encoder_tokens encoder_input(int count) { return std::make_shared<const std::vector<token>>(counting(count, 30)); }

sequence_options beside(encoder_tokens input) {
  sequence_options options;
  options.encoder_input = std::move(input);
  return options;
}

sequence_id prefilled_beside(served& s, const encoder_tokens& read, int count) {
  const auto id = s.sched.submit(beside(read), {counting(count), output::last_logits});
  s.finish();
  return id;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_first_row_brings_the_encoder_input_and_no_other_one) {
  served s(roomy());
  const auto read = encoder_input(5);
  const auto id = s.sched.submit(beside(read), {counting(3), output::sample, 4, 4});
  const auto first = s.step();
  BOOST_REQUIRE(row_of(first, id));
  BOOST_CHECK(row_of(first, id)->encoder_input == read);
  while (!s.sched.idle(id)) BOOST_CHECK(!row_of(s.step(), id)->encoder_input);
  BOOST_CHECK(s.sampled(id) == alone(counting(3), 4, *read));
}

BOOST_AUTO_TEST_CASE(an_encoder_input_counts_in_the_step) {
  auto within = roomy();
  within.max_batched_tokens = 16;
  served s(within);
  const auto a = s.sched.submit(beside(encoder_input(10)), {counting(20), output::last_logits});
  const auto b = s.sched.submit(beside(encoder_input(10)), {counting(20), output::last_logits});
  const auto first = s.step();
  BOOST_CHECK_EQUAL(row_of(first, a)->count, 6);
  BOOST_CHECK(!row_of(first, b));
  const auto second = s.step();
  BOOST_CHECK_EQUAL(row_of(second, a)->count, 14);
  BOOST_CHECK_EQUAL(row_of(second, b)->count, 1);
  BOOST_CHECK(row_of(second, b)->encoder_input);
}

BOOST_AUTO_TEST_CASE(an_encoder_input_longer_than_a_step_takes_one_of_its_own_and_streams_go_on) {
  auto within = roomy();
  within.max_batched_tokens = 8;
  served s(within);
  const auto stream = s.sched.submit({}, {counting(2), output::sample, 40});
  s.step();
  const auto id = s.sched.submit(beside(encoder_input(100)), {{1}, output::sample, 2, 2});
  const auto other = s.sched.submit(beside(encoder_input(100)), {{2}, output::sample, 2, 2});
  const auto first = s.step();
  BOOST_CHECK(row_of(first, stream));
  BOOST_CHECK(row_of(first, id) && row_of(first, id)->encoder_input);
  BOOST_CHECK(!row_of(first, other));
  const auto second = s.step();
  BOOST_CHECK(row_of(second, stream) && row_of(second, id));
  BOOST_CHECK(row_of(second, other) && row_of(second, other)->encoder_input);
}

BOOST_AUTO_TEST_CASE(a_cut_to_nothing_reads_the_encoder_input_again_and_another_cut_does_not) {
  served s(roomy());
  const auto read = encoder_input(7);
  const auto id = prefilled_beside(s, read, 10);
  s.sched.truncate(id, 4);
  s.sched.start(id, {{1}, output::last_logits});
  BOOST_CHECK(!row_of(s.step(), id)->encoder_input);
  s.sched.truncate(id, 0);
  s.sched.start(id, {{2}, output::last_logits});
  BOOST_CHECK(row_of(s.step(), id)->encoder_input == read);
  check_continues(s, id, {2}, *read);
}

BOOST_AUTO_TEST_CASE(the_next_owner_of_a_slot_reads_its_own) {
  auto within = roomy();
  within.slots = 1;
  served s(within);
  const auto first = prefilled_beside(s, encoder_input(7), 10);
  s.sched.cancel(first);
  const auto read = encoder_input(3);
  const auto second = prefilled_beside(s, read, 6);
  check_continues(s, second, counting(6), *read);
  s.sched.cancel(second);
  const auto third = prefilled(s, 5);
  check_continues(s, third, counting(5));
}

BOOST_AUTO_TEST_CASE(forks_have_the_encoder_input_of_their_parent) {
  for (const int length : {1, 3, 4, 13, 16}) {
    served s(roomy());
    const auto read = encoder_input(7);
    const auto parent = prefilled_beside(s, read, length);
    const auto child = s.sched.fork(parent);
    s.sched.start(child, {{40}, output::last_logits});
    const auto step = s.step();
    BOOST_CHECK(!row_of(step, child)->encoder_input);
    s.sched.cancel(parent);
    s.finish();
    const auto grandchild = s.sched.fork(child);
    check_continues(s, grandchild, joined(counting(length), {40}), *read);
    check_continues(s, child, joined(counting(length), {40}), *read);
  }
}

BOOST_AUTO_TEST_CASE(a_fork_cut_to_nothing_before_it_runs_reads_for_itself) {
  served s(roomy());
  const auto read = encoder_input(7);
  const auto parent = prefilled_beside(s, read, 13);
  const auto child = s.sched.fork(parent);
  s.sched.truncate(child, 0);
  s.sched.start(child, {{2}, output::last_logits});
  BOOST_CHECK(row_of(s.step(), child)->encoder_input == read);
  check_continues(s, child, {2}, *read);
  check_continues(s, parent, counting(13), *read);
}

}  // namespace cogen::scheduler
