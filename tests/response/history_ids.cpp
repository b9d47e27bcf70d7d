#include "answers/response/history_ids.hpp"

#include "answers/response/call_ids.hpp"

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include <set>
#include <string>

using namespace cogen;
using namespace cogen::response;

namespace {

text::chat_message calling(std::string_view calls) {
  return {"assistant", "", boost::json::object{{"tool_calls", boost::json::parse(calls)}}};
}

text::chat_message result(boost::json::object extra) { return {"tool", "5", std::move(extra)}; }

std::string id_of_call(const text::chat_message& message, std::size_t index = 0) {
  return std::string(message.extra->at("tool_calls").at(index).at("id").as_string());
}

std::string id_of_result(const text::chat_message& message) {
  return std::string(message.extra->at("tool_call_id").as_string());
}

std::vector<text::chat_message> settled(const std::vector<text::chat_message>& messages) {
  return with_call_ids(messages, {.length = 9});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(history_ids)

BOOST_AUTO_TEST_CASE(ids_of_the_form_stay_and_others_become_it) {
  const auto messages =
      settled({calling(R"([{"id": "abcDEF123"}, {"id": "call_0123456789abcdef01234567"}])"),
               result({{"tool_call_id", "call_0123456789abcdef01234567"}}), result({{"tool_call_id", "abcDEF123"}})});
  BOOST_TEST(id_of_call(messages[0], 0) == "abcDEF123");
  BOOST_TEST(id_of_result(messages[2]) == "abcDEF123");
  const auto id = id_of_call(messages[0], 1);
  BOOST_TEST(id.size() == 9u);
  BOOST_TEST(id_of_result(messages[1]) == id);
  BOOST_TEST(id_of_call(settled({calling(R"([{"id": "call_0123456789abcdef01234567"}])")})[0]) == id);
}

BOOST_AUTO_TEST_CASE(other_ids_become_different_ones) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) {
    const auto id = call_id_of("call_" + std::to_string(i), {.length = 9});
    BOOST_TEST(id.size() == 9u);
    ids.insert(id);
  }
  BOOST_TEST(ids.size() == 1000u);
}

BOOST_AUTO_TEST_CASE(calls_and_results_without_ids_are_matched_in_order) {
  const auto messages = settled({calling(R"([{"function": {}}, {"id": null}])"), result({}), result({}),
                                 calling(R"([{"id": ""}])"), result({{"tool_call_id", nullptr}}), result({})});
  const auto first = id_of_call(messages[0], 0), second = id_of_call(messages[0], 1), third = id_of_call(messages[3]);
  BOOST_TEST(first != second);
  BOOST_TEST(id_of_result(messages[1]) == first);
  BOOST_TEST(id_of_result(messages[2]) == second);
  BOOST_TEST(id_of_result(messages[4]) == third);
  BOOST_TEST(messages[5].extra->at("tool_call_id").is_null());
}

BOOST_AUTO_TEST_CASE(what_has_no_calls_stays_as_it_is) {
  const auto messages =
      settled({{"user", "hi"}, {"assistant", "ho", boost::json::object{{"tool_calls", nullptr}}}, calling("[5]")});
  BOOST_TEST(messages[0].extra->empty());
  BOOST_TEST(messages[1].extra->at("tool_calls").is_null());
  BOOST_TEST(messages[2].extra->at("tool_calls").at(0) == 5);
}

BOOST_AUTO_TEST_SUITE_END()
