// Chats with tools as tokens: what templates get of a request, and where such prompts divide.
#include "../test_data.hpp"
#include "chats.hpp"
#include "formats/text/chat_prompt.hpp"
#include "formats/text/prompt_checkpoints.hpp"
#include "mentions.hpp"
#include "small_tokenizer.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace {

using namespace cogen;
using namespace cogen::text;

const std::vector<std::string> control{
    "<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|eot_id|>", "<start_of_turn>", "<end_of_turn>"};

chat_template template_named(std::string_view name) {
  std::ifstream file(test::test_data() / "text/templates" / (std::string(name) + ".jinja"), std::ios::binary);
  BOOST_REQUIRE(file.good());
  return chat_template((std::ostringstream() << file.rdbuf()).str());
}

boost::json::object setting_named(std::string_view name) {
  return reference_chats().at("settings").at(name).as_object();
}

boost::json::array tools_of(const boost::json::object& setting) {
  const auto* found = setting.if_contains("tools");
  return found ? found->as_array() : boost::json::array();
}

/// The variables of a setting as a request has them.
boost::json::object variables_of(boost::json::object setting) {
  const auto tools = tools_of(setting);
  setting.erase("tools");
  setting["bos_token"] = "<s>";
  setting["eos_token"] = "</s>";
  return template_variables(tools, setting);
}

std::string tools_refusal(std::string_view tools, std::string_view kwargs = "{}") {
  try {
    template_variables(boost::json::parse(tools).as_array(), boost::json::parse(kwargs).as_object());
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was refused";
}

BOOST_AUTO_TEST_SUITE(chat_prompts)

BOOST_AUTO_TEST_CASE(are_the_tokens_of_the_text_that_transformers_renders) {
  const auto tokens = small_tokenizer({}, control);
  int compared = 0;
  for (const auto& entry : reference_chats().at("cases").as_array()) {
    const auto& expected = entry.as_object();
    const std::string_view name = expected.at("template").as_string();
    const std::string_view setting = expected.at("setting").as_string();
    if (setting == "prompt" || !expected.contains("text")) continue;  // that has the date of today
    const auto messages = messages_of(reference_chats().at("chats").at(expected.at("chat").as_string()).as_array());
    const auto ids = encode_chat(messages, variables_of(setting_named(setting)), template_named(name), tokens).tokens;
    BOOST_TEST(tokens.decode(ids) == std::string_view(expected.at("text").as_string()));
    ++compared;
  }
  BOOST_TEST(compared > 150);
}

BOOST_AUTO_TEST_CASE(control_tokens_in_tools_and_variables_are_plain_text) {
  const auto tokens = small_tokenizer({}, control);
  const chat_template whole("<|im_start|>{{ tools[0].function.name }}{{ date }}{{ messages[0].content }}<|im_end|>");
  const auto variables = template_variables({{{"type", "function"}, {"function", {{"name", "<|im_end|>"}}}}},
                                            {{"date", "<|im_end|><|im_start|>"}});
  const auto ids = encode_chat(std::vector{chat_message{"user", "<|im_end|>"}}, variables, whole, tokens).tokens;
  BOOST_TEST(std::ranges::count(ids, *tokens.find("<|im_start|>")) == 1);
  BOOST_TEST(std::ranges::count(ids, *tokens.find("<|im_end|>")) == 1);
}

BOOST_AUTO_TEST_CASE(the_ending_is_what_the_template_writes_after_the_last_message) {
  const auto tokens = small_tokenizer({});
  const chat_template adds("<a>{{ messages[0].content }}<b>{% if thinks %}<think>{% endif %}");
  const std::vector messages{chat_message{"user", "<think>"}};
  BOOST_TEST(encode_chat(messages, {{"thinks", true}}, adds, tokens).ending() == "<b><think>");
  BOOST_TEST(encode_chat(messages, {{"thinks", false}}, adds, tokens).ending() == "<b>");
  BOOST_TEST(encode_chat(messages, {}, chat_template("{{ messages[0].content }}"), tokens).ending() == "");
}

BOOST_AUTO_TEST_CASE(a_role_of_its_own_is_kept_or_refused) {
  const auto tokens = small_tokenizer({});
  const chat_template writes_all("{% for m in messages %}[{{ m.role }}]{{ m.content | trim }}{% endfor %}");
  const chat_template writes_some(
      "{% for m in messages %}{% if m.role in ['user', 'assistant', 'critic'] %}{{ m.content }}{% endif %}{% endfor "
      "%}");
  const auto refusal = [&](const chat_template& chat, const std::string& role) {
    try {
      encode_chat(std::vector<chat_message>{{"user", "a"}, {role, "b"}, {role, "c"}}, {}, chat, tokens);
    } catch (const template_error& refused) {
      return std::string(refused.what());
    }
    return std::string();
  };
  for (const auto* role : {"user", "tool", "critic", "bogus"}) BOOST_TEST(refusal(writes_all, role) == "");
  for (const auto* role : {"user", "tool", "critic"}) BOOST_TEST(refusal(writes_some, role) == "");
  BOOST_TEST(mentions(refusal(writes_some, "bogus"), "messages[1], whose role is \"bogus\""));
}

BOOST_AUTO_TEST_CASE(without_tools_the_template_gets_none) {
  const chat_template asks("{{ tools is none }}{{ enable_thinking }}");
  const auto tokens = small_tokenizer({});
  const auto ids = encode_chat({}, template_variables({}, {{"enable_thinking", false}}), asks, tokens).tokens;
  BOOST_TEST(tokens.decode(ids) == "TrueFalse");
}

BOOST_AUTO_TEST_CASE(wrong_tools_are_refused_by_the_member_that_is_wrong) {
  BOOST_TEST(tools_refusal("[5]") == "tools[0] is 5, but must be an object");
  BOOST_TEST(tools_refusal("[{}]") == "tools[0].type is missing");
  BOOST_TEST(mentions(tools_refusal(R"([{"type": "retrieval"}])"), "tools[0].type is"));
  BOOST_TEST(mentions(tools_refusal(R"([{"type": "retrieval"}])"), "must be \"function\""));
  BOOST_TEST(tools_refusal(R"([{"type": "function"}])") == "tools[0].function is missing");
  BOOST_TEST(tools_refusal(R"([{"type": "function", "function": {}}])") == "tools[0].function.name is missing");
  BOOST_TEST(mentions(tools_refusal(R"([{"type": "function", "function": {"name": ""}}])"), "must not be empty"));
  BOOST_TEST(tools_refusal(R"([{"type": "function", "function": {"name": 1}}])") ==
             "tools[0].function.name is 1, but must be a string");
  constexpr auto right = R"({"type": "function", "function": {"name": "f"}})";
  const auto second = [&](std::string_view wrong) {
    return tools_refusal("[" + std::string(right) + ", {\"type\": \"function\", \"function\": {\"name\": \"g\", " +
                         std::string(wrong) + "}}]");
  };
  BOOST_TEST(second(R"("description": ["a"])") == "tools[1].function.description is an array, but must be a string");
  BOOST_TEST(mentions(second(R"("parameters": "{}")"), "tools[1].function.parameters is"));
  BOOST_TEST(second(R"("parameters": {}, "strict": true)") == "nothing was refused");
}

BOOST_AUTO_TEST_CASE(variables_that_the_request_has_members_for_are_refused) {
  BOOST_TEST(mentions(tools_refusal("[]", R"({"messages": []})"), "chat_template_kwargs holds messages"));
  BOOST_TEST(mentions(tools_refusal("[]", R"({"tools": []})"), "chat_template_kwargs holds tools"));
  BOOST_TEST(tools_refusal("[]", R"({"documents": [], "add_generation_prompt": false})") == "nothing was refused");
}

/// What a conversation with tools has in common with the one that continues it.
BOOST_AUTO_TEST_CASE(checkpoints_of_a_chat_with_tools_are_where_the_next_turn_begins) {
  const auto tokens = small_tokenizer({}, control);
  const auto chat = messages_of(reference_chats().at("chats").at("agent").as_array());
  for (const auto* name : {"signatures", "chatml"}) {
    const auto prompt = [&](std::size_t count) {
      return encode_chat(std::span(chat).first(count), variables_of(setting_named("tools")), template_named(name),
                         tokens)
          .tokens;
    };
    const std::vector ends{*tokens.find("<|im_end|>")};
    for (std::size_t messages = 2; messages < chat.size(); ++messages) {
      const auto now = prompt(messages), next = prompt(messages + 1);
      const auto lengths = prompt_checkpoints(now, ends);
      const auto common = std::ranges::mismatch(now, next).in1 - now.begin();
      const auto ends_message = [&](int length) { return now[static_cast<std::size_t>(length) - 1] == ends[0]; };
      const auto last_message = std::find_if(lengths.rbegin(), lengths.rend(), ends_message);
      BOOST_REQUIRE(last_message != lengths.rend());
      BOOST_TEST(*last_message <= common, name << " after " << messages << " messages");
      const auto prefix = std::span(now).first(static_cast<std::size_t>(lengths.front()));
      BOOST_TEST(std::ranges::count(prefix, ends[0]) == 1);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
