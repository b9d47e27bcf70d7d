// Slots that cannot go back are given checkpoints while prompts are read: what others find of them, within a budget.
#include "scheduler/served.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>
#include <optional>

namespace cogen::scheduler {
namespace {

constexpr int text_tokens = 1000;
constexpr int own_tokens = 12;
constexpr int interval = 8;

/// Slots of states, of which a checkpoint takes a byte.
limits with_checkpoints(std::int64_t bytes) {
  auto within = sharing_limits(4, 0);
  within.max_sequence_length = 2000;
  within.checkpoint_interval = interval;
  within.checkpoint_usage = {.fixed = 1, .block = within.usage.block};
  within.checkpoint_bytes = bytes;
  return within;
}

/// The first tokens of a text, and others that no other `number` has.
std::vector<token> parting(int length, int number) {
  return joined(counting(length), counting(own_tokens, 5000 * number));
}

/// Runs prompts, and counts the checkpoints of their slots.
class reader {
 public:
  explicit reader(const limits& within) : within_(within), served_(within) {}

  /// How many of the prompt's tokens were found.
  int read(const std::vector<token>& prompt) {
    const auto expected = alone(prompt, 2);
    const sequence_options options{.max_new_tokens = 2, .release_at_end = true};
    const auto id = served_.sched.submit(options, {.tokens = prompt, .wanted = output::sample, .credits = 2});
    std::optional<int> found;
    for (auto plan = served_.step(); !plan.empty(); plan = served_.step()) {
      count(plan);
      const auto* const row = row_of(plan, id);
      if (row && row->prefix_hit_tokens) found = row->prefix_hit_tokens;
      served_.sched.verify();
    }
    BOOST_CHECK(served_.sampled(id) == expected);
    return found.value();
  }

  int taken() const { return taken_; }
  int kept() const { return taken_ - dropped_; }
  scheduler& sched() { return served_.sched; }
  void fail(std::function<bool(const checkpoint&)> which) { served_.refuses = std::move(which); }

 private:
  void count(const step& plan) {
    taken_ += static_cast<int>(std::ranges::count(plan.checkpoints, false, &checkpoint::failed));
    dropped_ += static_cast<int>(plan.dropped_checkpoints.size());
    BOOST_TEST(kept() <= within_.checkpoint_bytes);
  }

  limits within_;
  served served_;
  int taken_ = 0, dropped_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(checkpoints)

BOOST_AUTO_TEST_CASE(one_that_could_not_be_taken_is_not_found_and_takes_no_bytes) {
  reader subject(with_checkpoints(1000));
  subject.fail([](const checkpoint& checkpoint) { return checkpoint.length > 400 && checkpoint.length % 48 != 0; });
  BOOST_TEST(subject.read(counting(text_tokens)) == 0);
  BOOST_TEST(subject.read(parting(300, 1)) >= 288);
  BOOST_TEST(subject.read(parting(700, 2)) % 48 == 0);
}

BOOST_AUTO_TEST_CASE(where_none_could_be_taken_none_is_found) {
  reader subject(with_checkpoints(1000));
  subject.fail([](const checkpoint&) { return true; });
  BOOST_TEST(subject.read(counting(text_tokens)) == 0);
  BOOST_TEST(subject.taken() == 0);
  BOOST_TEST(subject.read(parting(700, 1)) == 0);
}

BOOST_DATA_TEST_CASE(a_prompt_that_parts_within_a_text_finds_all_but_a_twentieth_or_an_interval,
                     boost::unit_test::data::make({17, 60, 83, 200, 333, 801, 999}), length) {
  reader subject(with_checkpoints(1000));
  BOOST_TEST(subject.read(counting(text_tokens)) == 0);
  const int found = subject.read(parting(length, 1));
  BOOST_TEST(found <= length);
  BOOST_TEST(length - found < std::max(length / 20 + 1, interval));
}

BOOST_AUTO_TEST_CASE(they_grow_apart_with_the_length_of_a_prompt) {
  reader shorter(with_checkpoints(1000)), longer(with_checkpoints(1000));
  shorter.read(counting(text_tokens / 2));
  longer.read(counting(text_tokens));
  BOOST_TEST(longer.taken() > shorter.taken());
  BOOST_TEST(longer.taken() - shorter.taken() <= 32);  // 5 % of a length apart, rounded to powers of two
}

BOOST_AUTO_TEST_CASE(none_is_taken_where_it_is_of_no_use) {
  auto without_budget = with_checkpoints(0), anywhere = with_checkpoints(1000), too_large = with_checkpoints(1000);
  anywhere.max_rollback_tokens = limits().max_rollback_tokens;
  too_large.checkpoint_usage.fixed = 1001;
  auto unshared = with_checkpoints(1000);
  unshared.prefix_caching = false;
  for (const auto& within : {without_budget, anywhere, too_large, unshared}) {
    reader subject(within);
    subject.read(counting(text_tokens));
    BOOST_TEST(subject.taken() == 0);
  }
}

BOOST_AUTO_TEST_CASE(what_others_have_is_not_taken_again) {
  reader subject(with_checkpoints(1000));
  subject.read(counting(text_tokens));
  const int taken = subject.taken();
  subject.read(parting(text_tokens - 1, 1));
  BOOST_TEST(subject.taken() <= taken + own_tokens / interval + 1);
}

BOOST_AUTO_TEST_CASE(they_take_no_slots) {
  auto within = with_checkpoints(1000);
  within.slots = 1;
  within.spare_slots = 2;
  reader subject(within);
  subject.read(counting(text_tokens));
  BOOST_TEST(subject.sched().free_slots() == 1);
  BOOST_TEST(subject.read(parting(500, 1)) >= 475);
  BOOST_TEST(subject.read(parting(500, 2)) >= 475);
}

BOOST_AUTO_TEST_CASE(a_small_budget_is_spread_over_a_prompt) {
  reader subject(with_checkpoints(6));
  subject.read(counting(text_tokens));
  BOOST_TEST(subject.kept() == 6);
  for (const int length : {200, 400, 950}) {
    reader other(with_checkpoints(6));
    other.read(counting(text_tokens));
    BOOST_TEST(other.read(parting(length, 1)) >= length / 3);
  }
}

BOOST_AUTO_TEST_CASE(those_of_the_prompt_that_was_used_longest_ago_go_first) {
  reader subject(with_checkpoints(75));  // room for two of the prompts
  subject.read(counting(300));
  subject.read(counting(300, 100'000));
  BOOST_TEST(subject.read(parting(150, 1)) >= 142);
  subject.read(counting(300, 200'000));
  BOOST_TEST(subject.read(parting(250, 2)) >= 237);
  BOOST_TEST(subject.read(joined(counting(250, 100'000), counting(own_tokens, 300'000))) < 237);
}

BOOST_AUTO_TEST_CASE(a_sequence_that_is_cut_goes_on_from_one) {
  served s(with_checkpoints(1000));
  const auto id = prefilled(s, 400);
  s.sched.truncate(id, 200);
  s.sched.start(id, {counting(8, 700), output::last_logits});
  const auto plan = s.step();
  BOOST_REQUIRE(row_of(plan, id));
  BOOST_TEST(row_of(plan, id)->count == 8);
  check_continues(s, id, joined(counting(200), counting(8, 700)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::scheduler
