// Formats that would take all memory or time: a bound ends each of them while it is worked on.
#include "answers/grammar/bounded_work.hpp"
#include "answers/grammar/ebnf_check.hpp"
#include "answers/grammar/grammar_error.hpp"
#include "answers/grammar/steps.hpp"
#include "grammar_testing.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <memory>
#include <random>
#include <string>

using namespace cogen;
using namespace cogen::grammar;

namespace {

/// Rules r0, r1, ..., and the last one.
std::string chain(int rules, const std::function<std::string(const std::string&)>& body) {
  std::string text = "root ::= r0\n";
  for (int i = 0; i < rules; ++i) text += "r" + std::to_string(i) + " ::= " + body("r" + std::to_string(i + 1)) + "\n";
  return text + "r" + std::to_string(rules) + " ::= \"a\"\n";
}

struct interrupting_watch : work_watch {
  void check() override { throw work_interrupted(); }
};

/// Counts steps until a bound ends them, and returns what it says.
std::string ended(const work_bounds& bounds) {
  try {
    const bounded_work work(bounds);
    for (int i = 0; i < 1'000'000; ++i) count_step();
    return {};
  } catch (const work_error& error) {
    return error.what();
  }
}

std::string objects_with_required(int names) {
  std::string required;
  for (int i = 0; i < names; ++i) required += (i > 0 ? ",\"p" : "\"p") + std::to_string(i) + "\"";
  return R"({"type": "object", "required": [)" + required + "]}";
}

std::string failure(const std::function<void()>& call) {
  try {
    call();
    return {};
  } catch (const work_error& error) {
    return error.what();
  }
}

/// Asks within so many steps, and again where that is too little. Counts those times.
template <typename Call>
auto asked_within(std::int64_t steps, int& postponed, const Call& call) {
  try {
    const brief_work brief(steps);
    return call();
  } catch (const guide_postponed&) {
    ++postponed;
    return call();
  }
}

const auto costly_and_cheap = {
    regex("([a-z]{2,9} ?){3}"), ebnf("root ::= ([^x]? [^y]?){40}"),
    json_schema(R"({"type": "array", "uniqueItems": true, "items": {"enum": ["a", "ab", "abc", 1, 12, null]}})"),
    json_schema(R"({"type": "object", "properties": {"name": {"type": "string", "maxLength": 300},
                    "tags": {"type": "array", "uniqueItems": true, "items": {"type": "string"}}},
                    "required": ["name", "tags"]})")};

}  // namespace

BOOST_AUTO_TEST_SUITE(costly_formats)

BOOST_AUTO_TEST_CASE(work_ends_at_its_bounds) {
  BOOST_TEST(ended({.work = "the work"}).empty());
  BOOST_TEST(ended({.work = "the work", .steps = 1'000'000}).empty());
  BOOST_TEST(ended({.work = "the work", .steps = 999'999}) == "the work takes more than 999999 steps");
  BOOST_TEST(ended({.work = "the work", .steps = 0}) == "the work takes more than 0 steps");
  BOOST_TEST(ended({.work = "the work", .time = std::chrono::milliseconds(-1)}) == "the work takes more than -1 ms");
  interrupting_watch nobody_waits;
  BOOST_CHECK_THROW(ended({.work = "the work", .watch = &nobody_waits}), work_interrupted);
}

BOOST_AUTO_TEST_CASE(bounds_hold_for_their_own_work) {
  const auto outside = steps_left;
  {
    const bounded_work outer({.work = "the outer work", .steps = 1000});
    count_steps(400);
    BOOST_TEST(ended({.work = "the inner work", .steps = 10}) == "the inner work takes more than 10 steps");
    BOOST_TEST(outer.steps() == 400);
    count_steps(600);
    BOOST_CHECK_THROW(count_step(), work_error);
    count_steps(1'000'000);  // what it throws passes destructors that count, too
  }
  BOOST_TEST(steps_left == outside);
}

BOOST_AUTO_TEST_CASE(brief_work_is_put_off_at_its_bound) {
  BOOST_TEST(!brief_work::left());
  BOOST_CHECK_NO_THROW(brief_work::require(1'000'000));
  {
    const brief_work brief(1000);
    BOOST_TEST(ended({.work = "the work", .steps = 10}) == "the work takes more than 10 steps");
    BOOST_TEST(brief.steps() == 11);
    {
      const bounded_work work({.work = "the work"});
      count_steps(500);
    }
    BOOST_TEST(*brief_work::left() == 489);
    BOOST_CHECK_NO_THROW(brief_work::require(489));
    BOOST_CHECK_THROW(brief_work::require(490), guide_postponed);
    BOOST_CHECK_THROW(ended({.work = "the work"}), guide_postponed);
    BOOST_TEST(*brief_work::left() == 0);
    BOOST_CHECK_THROW(ended({.work = "the work"}), guide_postponed);
  }
  BOOST_TEST(!brief_work::left());
}

/// Whatever the bound, and whatever else the guide is asked between the two attempts.
BOOST_AUTO_TEST_CASE(what_is_put_off_is_found_again) {
  std::minstd_rand random(7);
  for (const auto& format : costly_and_cheap)
    for (const std::int64_t steps : {0, 40, 300, 2'000, 20'000, 10'000'000}) BOOST_TEST_CONTEXT(steps << " steps") {
        const auto grammar = compiled(format);
        std::unique_ptr<guide> plain = grammar->start(), tried = grammar->start();
        int postponed = 0, held = 0;
        for (int i = 0; i < 40; ++i) {
          const auto expected = allowed(*plain);
          const auto found = asked_within(steps, postponed, [&] { return allowed(*tried); });
          BOOST_REQUIRE(found == expected);
          BOOST_REQUIRE(tried->is_complete() == plain->is_complete());
          const auto forced = asked_within(steps, postponed, [&] { return tried->forced(); });
          if (steps > 2'000'000) BOOST_REQUIRE(forced == plain->forced());
          if (expected.empty()) break;
          const auto next = expected[random() % expected.size()];
          if (next == end_token()) break;
          if (random() % 8 == 0) tried = tried->clone();
          bool is_lost = false, is_back = false;
          asked_within(steps, postponed, [&] {
            if (is_lost && random() % 2 == 0) tried = tried->clone();
            is_back = is_lost && held > 0 && random() % 2 == 0;
            is_lost = true;
            is_back ? tried->roll_back(1) : tried->accept(next);
          });
          is_back ? plain->roll_back(1) : plain->accept(next);
          held += is_back ? -1 : 1;
          if (held > 0 && random() % 5 == 0) tried->roll_back(1), plain->roll_back(1), --held;
        }
        if (steps == 0) BOOST_TEST(postponed > 0);
        if (steps > 2'000'000) BOOST_TEST(postponed == 0);
      }
}

BOOST_AUTO_TEST_CASE(what_took_long_is_put_off_at_once_until_it_does_not) {
  const auto place = compiled(ebnf("root ::= ([^x]? [^y]?){40} \"!\""))->start();
  allowed(*place);
  int postponed = 0;
  for (int i = 0; i < 80; ++i) {
    asked_within(2'000, postponed, [&] { place->accept('a'); });
    asked_within(2'000, postponed, [&] { return allowed(*place); });
  }
  BOOST_TEST(postponed > 20);
  {
    const brief_work brief(2'000);
    BOOST_CHECK_NO_THROW(allowed(*place));
    BOOST_TEST(brief.steps() > 0);
  }
}

BOOST_AUTO_TEST_CASE(what_doubles_is_followed_as_far_as_it_is_needed) {
  const auto doubling = compiled(ebnf(chain(40, [](const auto& next) { return next + " " + next; })));
  const auto place = doubling->start();
  BOOST_TEST(place->forced().empty());  // a text of 2^40 characters
  accept_bytes(*place, "aaaa");
  BOOST_TEST(place->forced().empty());
  BOOST_TEST(allowed(*place) == allowed_by_trying(*place), boost::test_tools::per_element());
  place->roll_back(4);
  accept_bytes(*place->clone(), "aaaa");
  const auto six = compiled(ebnf("root ::= \"aaaaaa\""))->start();
  BOOST_TEST(!six->forced().empty());
}

BOOST_AUTO_TEST_CASE(ambiguous_texts_end_with_a_message) {
  const auto grammar = compiled(ebnf("root ::= ([^x]? [^y]?){2000}"));
  const auto place = grammar->start();
  const auto said = failure([&] {
    for (int i = 0; i < 1000; ++i) place->accept('a');
  });
  BOOST_TEST(
      said ==
      "the response format is too ambiguous: to follow its text takes more than 4000000 steps, and 2000 for each "
      "token, or 1000 ms of a processor");
  BOOST_TEST(failure([&] { allowed(*place); }) == said);
  BOOST_TEST(failure([&] { place->accept('a'); }) == said);
  BOOST_TEST(failure([&] { place->roll_back(1); }) == said);
  BOOST_TEST(failure([&] { allowed(*place->clone()); }) == said);
  BOOST_CHECK_NO_THROW(grammar->start()->accept('a'));
}

BOOST_AUTO_TEST_CASE(ambiguous_masks_end_with_a_message) {
  const auto place = compiled(ebnf("root ::= ([^x]? [^y]?){40} ([^x]? [^y]? \"z\"?){4000}"))->start();
  const auto said = failure([&] {
    for (int i = 0; i < 40; ++i) {
      allowed(*place);
      place->accept('a');
    }
  });
  BOOST_TEST(said ==
             "the response format is too ambiguous: to find out what may follow takes more than 8000000 steps or 1000 "
             "ms of a processor for a token, or 500000 steps for each of many");
  BOOST_TEST(failure([&] { allowed(*place); }) == said);
}

BOOST_AUTO_TEST_CASE(what_nobody_waits_for_is_not_compiled) {
  compiler grammars(shared_vocabulary());
  const auto format = regex("[a-z]{1,100}x[^y]{1,100}");
  interrupting_watch nobody_waits;
  BOOST_CHECK_THROW(grammars.compile(format, {.watch = &nobody_waits}), work_interrupted);
  BOOST_TEST(!grammars.knows(format));
  BOOST_TEST(grammars.compile(format)->bytes() > 0u);  // its failure is not kept
  BOOST_TEST(grammars.knows(format));
  BOOST_CHECK_NO_THROW(grammars.compile(format, {.watch = &nobody_waits}));
}

BOOST_AUTO_TEST_CASE(chains_of_rules_are_bounded) {
  for (const char* times : {"", "?", "*", "+", "{2}", "{0,2}", "{3,}"}) BOOST_TEST_CONTEXT(times) {
      const auto body = [&](const auto& next) { return next + times; };
      check_refusal(ebnf(chain(40'000, body)), "leads through more than 256 rules of a single part");
      check_refusal(ebnf(chain(257, body)), "leads through more than 256 rules of a single part");
      BOOST_CHECK_NO_THROW(check_ebnf(chain(250, body)));
    }
  check_refusal(ebnf("root ::= a{0,2}\na ::= root{0,2}"), "rules of a single part");
  check_refusal(ebnf("root ::= (((root?)?)?){2}"), "rules of a single part");
}

BOOST_AUTO_TEST_CASE(rules_in_any_order_are_checked_at_once) {
  std::string backwards = "root ::= r7999\nr0 ::= \"x\"\n", broad = "root ::=";
  for (int i = 1; i < 8000; ++i) backwards += "r" + std::to_string(i) + " ::= \"a\" r" + std::to_string(i - 1) + "\n";
  for (int i = 0; i < 8000; ++i) broad += " s" + std::to_string(i);
  broad += "\n";
  for (int i = 0; i < 8000; ++i) broad += "s" + std::to_string(i) + " ::= \"x\"\n";
  for (const auto& text : {backwards, broad}) {
    const bounded_work work({.work = "the check", .steps = 1'000'000});
    BOOST_CHECK_NO_THROW(check_ebnf(text));
  }
}

BOOST_AUTO_TEST_CASE(rules_and_states_are_bounded_together) {
  std::string broad = "root ::= \"x\"";
  for (int i = 0; i < 20'000; ++i) broad += " | s" + std::to_string(i);
  broad += "\n";
  for (int i = 0; i < 20'000; ++i) broad += "s" + std::to_string(i) + " ::= \"x\" root\n";
  check_refusal(ebnf(broad), "20001 rules and 60001 states; their product exceeds the limit of 268435456");
}

BOOST_AUTO_TEST_CASE(required_names_are_bounded) {
  check_refusal(json_schema(objects_with_required(15'000)), "15000 required properties exceed the limit of 4000");
  check_refusal(json_schema(objects_with_required(4'001)), "at #: 4001 required properties exceed the limit of 4000");
  BOOST_TEST(refusal(json_schema(objects_with_required(2'000))).empty());
}

BOOST_AUTO_TEST_CASE(many_values_are_listed_in_time) {
  std::string values, choices;
  for (int i = 0; i < 20'000; ++i) values += (i > 0 ? ",\"v" : "\"v") + std::to_string(i) + "\"";
  check_refusal(json_schema(R"({"enum": [)" + values + "]}"), "comparisons");
}

BOOST_AUTO_TEST_SUITE_END()
