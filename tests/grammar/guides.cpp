#include "grammar_testing.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>

using namespace cogen;
using namespace cogen::grammar;

namespace {

const char* const tool = R"({"type": "object", "additionalProperties": false, "required": ["name", "arguments"],
  "properties": {"name": {"enum": ["abc", "true"]}, "arguments": {"type": "object", "properties": {
    "n": {"type": "integer", "minimum": -12, "maximum": 125},
    "x": {"type": "number", "exclusiveMinimum": 0.25, "maximum": 12},
    "e": {"type": "string", "pattern": "^[a-cé]{1,3}$"},
    "list": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2}}}}})";

std::vector<response_format> formats() {
  return {json_object(),
          json_schema(tool),
          json_schema(
              R"({"$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}, "$ref": "#/$defs/tree"})"),
          json_schema("{}"),
          regex("(ab|abc)*[0-9]{2,4}é?"),
          ebnf("root ::= \"a\" root \"b\" | \"12\" | [^a]"),
          choice({"true", "tru", "name", "na\"me", "é"})};
}

/// What allow() has to say, by trying the bytes of each token one by one.
std::vector<token> allowed_by_bytes(const guide& place) {
  const auto& tokens = small_vocabulary();
  std::vector<token> ids;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto id = static_cast<token>(i);
    const auto trial = place.clone();
    if (tokens.is_special(id)) {
      if (id == end_token() && place.is_complete()) ids.push_back(id);
      continue;
    }
    try {
      accept_bytes(*trial, tokens.token_bytes(id));
      ids.push_back(id);
    } catch (const std::invalid_argument&) {
    }
  }
  return ids;
}

/// A walk of at most `steps` tokens; it may end before.
std::vector<token> walk(guide& place, std::mt19937& random, std::size_t steps) {
  std::vector<token> taken;
  while (taken.size() < steps) {
    const auto ids = allowed(place);
    if (ids.empty()) break;
    taken.push_back(ids[random() % ids.size()]);
    place.accept(taken.back());
  }
  return taken;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(guides)

BOOST_AUTO_TEST_CASE(masks_are_what_tokens_and_their_bytes_say) {
  std::mt19937 random(1);
  for (const auto& format : formats()) {
    const auto grammar = compiled(format);
    for (int round = 0; round < 8; ++round) {
      const auto place = grammar->start();
      for (int step = 0; step < 24; ++step) {
        const auto ids = allowed(*place);
        BOOST_TEST(ids == allowed_by_trying(*place), boost::test_tools::per_element());
        BOOST_TEST(ids == allowed_by_bytes(*place), boost::test_tools::per_element());
        if (walk(*place, random, 1) == std::vector<token>{end_token()}) break;
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(rolled_back_is_as_if_never_accepted) {
  std::mt19937 random(2);
  for (const auto& format : formats()) {
    const auto grammar = compiled(format);
    for (int round = 0; round < 20; ++round) {
      const auto place = grammar->start();
      const auto taken = walk(*place, random, 1 + random() % 30);
      const auto back = random() % (taken.size() + 1);
      place->roll_back(static_cast<int>(back));
      const auto fresh = grammar->start();
      for (std::size_t i = 0; i < taken.size() - back; ++i) fresh->accept(taken[i]);
      BOOST_TEST(allowed(*place) == allowed(*fresh), boost::test_tools::per_element());
      BOOST_TEST(place->is_complete() == fresh->is_complete());
      for (std::size_t i = taken.size() - back; i < taken.size(); ++i) place->accept(taken[i]);
    }
  }
}

BOOST_AUTO_TEST_CASE(clones_go_their_own_way) {
  std::mt19937 random(3);
  for (const auto& format : formats()) {
    const auto place = compiled(format)->start();
    walk(*place, random, 5);
    const auto expected = allowed(*place);
    const auto other = place->clone();
    walk(*other, random, 5);
    BOOST_TEST(allowed(*place) == expected, boost::test_tools::per_element());
    other->roll_back(1);
    BOOST_TEST(allowed(*place) == expected, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(forced_tokens_are_allowed_one_after_the_other) {
  std::mt19937 random(4);
  std::size_t forced = 0;
  for (const auto& format : formats()) {
    const auto place = compiled(format)->start();
    for (int step = 0; step < 40; ++step) {
      const auto trial = place->clone();
      for (const auto id : place->forced()) {
        const auto ids = allowed(*trial);
        BOOST_TEST(std::ranges::binary_search(ids, id));
        trial->accept(id);
        ++forced;
      }
      if (walk(*place, random, 1).empty()) break;
    }
  }
  BOOST_TEST(forced > 0u);
}

BOOST_AUTO_TEST_CASE(what_is_forced_is_what_the_schema_leaves_no_choice_about) {
  const auto place = compiled(json_schema(R"({"const": "abc12"})"))->start();
  std::string text;
  for (const auto id : place->forced()) text += small_vocabulary().token_bytes(id);
  BOOST_TEST(std::string("\"abc12\"").starts_with(text));
  BOOST_TEST(text.size() > 3u);
}

BOOST_AUTO_TEST_CASE(a_text_ends_where_it_is_complete) {
  const auto place = compiled(choice({"tru", "true"}))->start();
  accept_bytes(*place, "tr");
  BOOST_TEST(!place->is_complete());
  BOOST_CHECK_THROW(place->accept(end_token()), std::invalid_argument);
  accept_bytes(*place, "u");
  BOOST_TEST(place->is_complete());
  place->accept(end_token());
  BOOST_TEST(place->is_complete());
  BOOST_TEST(allowed(*place).empty());
  BOOST_TEST(place->forced().empty());
  BOOST_CHECK_THROW(place->accept('e'), std::invalid_argument);
  place->roll_back(1);
  accept_bytes(*place, "e");
  BOOST_TEST(allowed(*place) == std::vector<token>{end_token()}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(control_tokens_but_the_end_are_never_allowed) {
  const auto place = compiled(regex("[^]*"))->start();
  const auto ids = allowed(*place);
  BOOST_TEST(std::ranges::binary_search(ids, end_token()));
  BOOST_TEST(!std::ranges::binary_search(ids, *small_vocabulary().find("<s>")));
}

BOOST_AUTO_TEST_CASE(wrong_calls_are_refused_and_change_nothing) {
  const auto place = compiled(choice({"abc"}))->start();
  place->accept('a');
  for (const token id : {-1, 'c' + 0, 100'000}) BOOST_CHECK_THROW(place->accept(id), std::invalid_argument);
  BOOST_CHECK_THROW(place->roll_back(2), std::invalid_argument);
  BOOST_CHECK_THROW(place->roll_back(-1), std::invalid_argument);
  std::vector<std::uint64_t> too_few(1);
  BOOST_CHECK_THROW(place->allow(too_few), std::invalid_argument);
  BOOST_TEST(allowed(*place) == std::vector<token>{'b'}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_mask_may_be_longer_than_the_vocabulary) {
  const auto place = compiled(regex("[^]*"))->start();
  std::vector<std::uint64_t> words(small_vocabulary().size() / 64 + 3, ~std::uint64_t{0});
  BOOST_TEST(place->allow(words));
  BOOST_TEST(words.back() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
