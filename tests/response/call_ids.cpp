#include "answers/response/call_ids.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cctype>
#include <set>

using namespace cogen;
using namespace cogen::response;

namespace {

bool is_alphanumeric(const std::string& text) {
  return std::ranges::all_of(text, [](unsigned char character) { return std::isalnum(character) != 0; });
}

/// The id of a call of which a model wrote this.
std::string settled(call_ids& ids, int index, std::string written) {
  tool_call_delta delta{.index = index, .id = std::move(written), .name = "f"};
  ids.settle(delta);
  return delta.id;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ids_of_calls)

BOOST_AUTO_TEST_CASE(new_ids_have_the_form_that_templates_take) {
  std::set<std::string> ids;
  for (int i = 0; i < 100; ++i) {
    const auto usual = new_call_id({}), nine = new_call_id({.length = 9});
    BOOST_TEST(usual.starts_with("call_"));
    BOOST_TEST(usual.size() == 29u);
    BOOST_TEST((nine.size() == 9u && is_alphanumeric(nine)), nine);
    ids.insert({usual, nine});
  }
  BOOST_TEST(ids.size() == 200u);
}

BOOST_AUTO_TEST_CASE(what_the_model_wrote_counts_where_it_has_the_form) {
  call_ids any({}), nine({.length = 9});
  BOOST_TEST(settled(any, 0, "functions.f:0") == "functions.f:0");
  BOOST_TEST(settled(nine, 0, "abcDEF123") == "abcDEF123");
  for (int index = 1; const auto* wrong : {"", "abc", "abcDEF1234", "abc-EF123"}) {
    const auto id = settled(nine, index++, wrong);
    BOOST_TEST((id.size() == 9u && is_alphanumeric(id)), id);
  }
  BOOST_TEST(settled(any, 1, "").starts_with("call_"));
}

BOOST_AUTO_TEST_CASE(no_two_calls_have_the_same_id) {
  call_ids ids({});
  BOOST_TEST(settled(ids, 0, "a") == "a");
  BOOST_TEST(settled(ids, 1, "a").starts_with("call_"));
}

BOOST_AUTO_TEST_CASE(the_id_is_whole_and_comes_once_with_the_first_that_a_call_says) {
  call_ids ids({});
  tool_call_delta begun{.index = 0}, half{.index = 0, .id = "a"}, named{.index = 0, .id = "b", .name = "f"},
      later{.index = 0, .id = "c", .arguments = "{}"}, ended{.index = 1, .status = tool_call_status::malformed};
  for (auto* delta : {&begun, &half, &named, &later, &ended}) ids.settle(*delta);
  BOOST_TEST((begun.id.empty() && half.id.empty() && later.id.empty()));
  BOOST_TEST(named.id == "ab");
  BOOST_TEST(ended.id.starts_with("call_"));
}

BOOST_AUTO_TEST_SUITE_END()
