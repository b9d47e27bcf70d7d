// How JSON becomes a cogen::request.
#include "api/chat_fields.hpp"
#include "api/completion_fields.hpp"
#include "api/error.hpp"
#include "api/format_fields.hpp"
#include "api/held_bytes.hpp"
#include "api/message_fields.hpp"
#include "api/response_fields.hpp"
#include "api/sampling_fields.hpp"
#include "api/unsupported_fields.hpp"

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace api = server::api;
namespace json = boost::json;

namespace {

struct one_body {
  explicit one_body(std::string_view text) : object(api::parse_body(text)), reader(object) {}

  json::object object;
  api::field_reader reader;
};

api::generation generation_of(std::string_view text) {
  const one_body body(text);
  api::generation result;
  api::read_generation(body.reader, {.tenant = 3, .priority = 5}, {}, nullptr, result);
  return result;
}

api::generation chat_of(std::string_view text) {
  const one_body body(text);
  api::generation result;
  api::read_chat(body.reader, result);
  return result;
}

api::generation response_of(std::string_view text) {
  return api::read_response_request(one_body(text).reader, {}, {}, nullptr);
}

api::generation message_of(std::string_view text) {
  return api::read_message_request(one_body(text).reader, {}, {}, nullptr, false);
}

/// The sentence with which a body is refused.
template <class Read>
std::string refusal_of(Read read, std::string_view text) {
  try {
    static_cast<void>(read(std::string(text)));
  } catch (const api::error& e) {
    BOOST_TEST(e.status() == 400);
    return e.what();
  }
  return "";
}

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_SUITE(request_fields)

BOOST_AUTO_TEST_CASE(bodies_are_objects_of_limited_depth) {
  const auto parse = [](std::string_view text) { return api::parse_body(text); };
  BOOST_TEST(holds(refusal_of(parse, ""), "JSON"));
  BOOST_TEST(holds(refusal_of(parse, "[1]"), "an array of 1"));
  BOOST_TEST(holds(refusal_of(parse, "{\"a\":1} x"), "JSON"));
  BOOST_TEST(holds(refusal_of(parse, "{\"a\":" + std::string(100'000, '[')), "64"));
  BOOST_TEST(holds(refusal_of(parse, "{\"a\": \"\xff\"}"), "JSON"));
}

BOOST_AUTO_TEST_CASE(defaults_are_set_where_nothing_is_said) {
  const auto with_defaults = [](std::string_view text) {
    auto body = api::parse_body(text);
    api::add_defaults(api::parse_body(R"({"max_tokens": 9, "temperature": 0.5})"), body);
    return body;
  };
  BOOST_TEST(with_defaults("{}") == api::parse_body(R"({"max_tokens": 9, "temperature": 0.5})"));
  BOOST_TEST(with_defaults(R"({"temperature": 0, "max_tokens": null})") ==
             api::parse_body(R"({"temperature": 0, "max_tokens": 9})"));
  BOOST_TEST(with_defaults(R"({"n_predict": -1})") == api::parse_body(R"({"n_predict": -1, "temperature": 0.5})"));
}

BOOST_AUTO_TEST_CASE(sampling_has_the_names_of_all_servers) {
  const auto read =
      generation_of(R"({"temperature": 0.5, "top_k": -1, "top_p": 0.9, "min_p": 0.1, "repeat_penalty": 1.1,
      "presence_penalty": 1, "frequency_penalty": 2, "seed": 7, "logit_bias": {"5": -1.5}, "stop": "end",
      "max_tokens": 9, "stop_token_ids": [2], "bad_words": ["x"], "allowed_token_ids": [3],
      "truncate_prompt_tokens": 5, "ignore_eos": true, "min_tokens": 4, "n": 2, "stream": true,
      "stream_options": {"include_usage": true}, "timings_per_token": true, "return_progress": true})");
  const auto& sampling = read.request.sampling;
  BOOST_TEST(sampling.temperature == 0.5);
  BOOST_TEST(sampling.top_k == 0);
  BOOST_TEST(sampling.repetition_penalty == 1.1);
  BOOST_TEST(sampling.frequency_penalty == 2);
  BOOST_TEST(sampling.seed.value() == 7U);
  BOOST_TEST(sampling.logit_bias.at(5) == -1.5);
  BOOST_TEST(sampling.min_tokens == 4);
  BOOST_TEST(read.request.stop == std::vector<std::string>{"end"}, boost::test_tools::per_element());
  BOOST_TEST(read.request.stop_token_ids.at(0) == 2);
  BOOST_TEST(read.request.bad_words.at(0) == "x");
  BOOST_TEST(read.request.allowed_token_ids.at(0) == 3);
  BOOST_TEST(read.request.truncate_prompt.value() == 5);
  BOOST_TEST(read.request.ignore_eos);
  BOOST_TEST(read.request.max_tokens.value() == 9);
  BOOST_TEST(read.request.tenant == 3U);
  BOOST_TEST(read.request.priority == 5);
  BOOST_TEST(read.n == 2);
  BOOST_TEST((read.stream && read.extras.usage && read.extras.timings && read.extras.progress));
  const auto plain = generation_of(R"({"seed": -1, "max_tokens": null, "n_predict": -1, "temperature": null})");
  BOOST_TEST(!plain.request.sampling.seed);
  BOOST_TEST(!plain.request.max_tokens);
  BOOST_TEST(!plain.max_draft_tokens);
  BOOST_TEST(generation_of(R"({"speculative.n_max": 0})").max_draft_tokens.value() == 0);
  BOOST_TEST(!generation_of(R"({"return_progress": true})").extras.progress);
  BOOST_TEST(plain.request.sampling.temperature == 1);
  BOOST_TEST(generation_of(R"({"logit_bias": [[4, false]]})").request.sampling.logit_bias.at(4) ==
             -std::numeric_limits<double>::infinity());
}

BOOST_AUTO_TEST_CASE(what_a_request_does_not_say_its_model_and_its_route_do) {
  const api::route_defaults route{.temperature = .8, .top_k = 40, .min_max_tokens = 0};
  const auto of_both =
      route.with({.temperature = .25, .top_p = {}, .min_p = {}, .repetition_penalty = 1.5, .max_tokens = 9});
  const auto read = [&](std::string_view text) {
    const one_body body(text);
    api::generation result;
    api::read_generation(body.reader, {}, of_both, nullptr, result);
    return result.request;
  };
  const auto silent = read("{}");
  BOOST_TEST(silent.sampling.temperature == .25);
  BOOST_TEST(silent.sampling.top_k == 40);
  BOOST_TEST(silent.sampling.repetition_penalty == 1.5);
  BOOST_TEST(silent.max_tokens.value() == 9);
  BOOST_TEST(read(R"({"temperature": 0, "repeat_penalty": 1})").sampling.temperature == 0);
  BOOST_TEST(read(R"({"repeat_penalty": 1})").sampling.repetition_penalty == 1);
  BOOST_TEST(read(R"({"max_tokens": 0})").max_tokens.value() == 0);
  BOOST_TEST(read(R"({"max_tokens": null})").max_tokens.value() == 9);
  BOOST_TEST(!read(R"({"n_predict": -1})").max_tokens);
}

BOOST_AUTO_TEST_CASE(wrong_fields_are_named_with_their_values) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"temperature": "hot"})", "temperature is \"hot\"; it must be a number"},
      {R"({"temperature": 1e400})", "temperature"},
      {R"({"top_k": 0.5})", "top_k is 0.5; it must be an integer"},
      {R"({"n": 1000000000})", "n is 1000000000; it must be an integer between 1 and 128"},
      {R"({"n": 0})", "n is 0"},
      {R"({"max_tokens": 0})", "max_tokens is 0; it must be an integer between 1"},
      {R"({"max_tokens": 9223372036854775808})", "max_tokens"},
      {R"({"stop": [1]})", "stop is an array of 1; it must be a string or an array of strings"},
      {R"({"stop_token_ids": [-1]})", "stop_token_ids"},
      {R"({"bad_words": [1]})", "bad_words"},
      {R"({"allowed_token_ids": ["a"]})", "allowed_token_ids"},
      {R"({"truncate_prompt_tokens": 0})", "truncate_prompt_tokens is 0; it must be an integer between 1"},
      {R"({"logit_bias": {"x": 1}})", "logit_bias has the key \"x\""},
      {R"({"logit_bias": {"1": "a"}})", "logit_bias has the value \"a\""},
      {R"({"stream": 1})", "stream is 1; it must be true or false"},
      {R"({"stream_options": 3})", "stream_options is 3; it must be an object"},
      {R"({"stream_options": {"include_usage": 3}})", "stream_options.include_usage is 3"},
  };
  for (const auto& [text, sentence] : wrong)
    BOOST_TEST(holds(refusal_of(generation_of, text), sentence), refusal_of(generation_of, text));
}

BOOST_AUTO_TEST_CASE(fields_that_are_not_kept_are_refused_unless_they_ask_for_nothing) {
  using set = api::field_set;
  const auto refusal = [](set which, std::string_view text) {
    return refusal_of(
        [&](std::string_view body) {
          api::check_unsupported(one_body(body).reader, which);
          return 0;
        },
        text);
  };
  const std::tuple<set, const char*, const char*> wrong[] = {
      {set::generation, R"({"typical_p": 0.5})", "typical_p is 0.5; it must be missing or one of 1; others"},
      {set::generation, R"({"samplers": ["top_k"]})",
       "samplers is an array of 1; it must be missing; it is not supported"},
      {set::generation, R"({"stop_regex": ["x"]})", "stop_regex"},
      {set::completions, R"({"add_special_tokens": false})", "add_special_tokens is false"},
      {set::chat, R"({"modalities": ["text", "audio"]})", "modalities"},
      {set::chat, R"({"functions": [{"name": "f"}]})", "functions"},
      {set::responses, R"({"background": true})", "background is true"},
      {set::responses, R"({"text": {"verbosity": "low"}})", "text.verbosity is \"low\""},
      {set::responses, R"({"include": ["message.output_text.logprobs"]})", "include"},
      {set::messages, R"({"mcp_servers": [{}]})", "mcp_servers"},
      {set::messages, R"({"tools": [{"name": "a"}, {"type": "web_search_20250305", "name": "b"}]})", "tools[1].type"},
      {set::embeddings, R"({"embd_normalize": 2})", "embd_normalize is 2"},
      {set::rerank, R"({"instruction": "x"})", "instruction is \"x\""},
  };
  for (const auto& [which, text, sentence] : wrong)
    BOOST_TEST(holds(refusal(which, text), sentence), refusal(which, text));
  const std::pair<set, const char*> idle[] = {
      {set::generation,
       R"({"typical_p": 1.0, "top_n_sigma": -1, "lora": [], "skip_special_tokens": true, "samplers": null,
          "user": "x", "metadata": {}, "store": true, "n_keep": 5, "cache_prompt": true})"},
      {set::chat,
       R"({"modalities": ["text"], "verbosity": "medium", "function_call": "auto", "parallel_tool_calls": false})"},
      {set::responses, R"({"include": ["reasoning.encrypted_content"], "truncation": "disabled", "text": {}})"},
      {set::messages, R"({"tools": [{"type": "custom", "name": "a"}], "metadata": {"user_id": "x"}})"},
      {set::embeddings, R"({"input": "x", "normalize": true, "user": "y"})"},
  };
  for (const auto& [which, text] : idle) BOOST_TEST(refusal(which, text) == "", text);
}

BOOST_AUTO_TEST_CASE(penalties_are_of_all_tokens_or_of_none) {
  BOOST_TEST(generation_of(R"({"repeat_last_n": 64})").request.sampling.repetition_penalty == 1);
  BOOST_TEST(generation_of(R"({"repeat_last_n": -1, "repeat_penalty": 1.5})").request.sampling.repetition_penalty ==
             1.5);
  BOOST_TEST(generation_of(R"({"repeat_last_n": 0, "presence_penalty": 1})").request.sampling.presence_penalty == 0);
  BOOST_TEST(
      holds(refusal_of(generation_of, R"({"repeat_last_n": 64, "repeat_penalty": 1.5})"), "repeat_last_n is 64"));
  BOOST_TEST(generation_of(R"({"thinking_budget_tokens": 7})").request.reasoning_budget.value() == 7);
  BOOST_TEST(generation_of(R"({"n_cmpl": 3})").n == 3);
}

BOOST_AUTO_TEST_CASE(conversations_are_read) {
  const auto read = chat_of(R"({"messages": [{"role": "developer", "content": "Be brief."},
      {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
      {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function",
        "function": {"name": "f", "arguments": "{\"x\": 1}"}}]},
      {"role": "tool", "tool_call_id": "1", "content": "2"}],
      "tool_choice": {"type": "function", "function": {"name": "f"}}, "logprobs": true, "top_logprobs": 3})");
  const auto& messages = std::get<cogen::chat_messages>(read.request.prompt);
  BOOST_TEST_REQUIRE(messages.size() == 4U);
  BOOST_TEST(messages[0].role == "system");
  BOOST_TEST(messages[1].content == "a\nb");
  const auto& call = messages[2].extra->at("tool_calls").at(0).at("function");
  BOOST_TEST(call.at("arguments").at("x").as_int64() == 1);
  BOOST_TEST(messages[3].extra->at("tool_call_id").as_string() == "1");
  BOOST_TEST(read.request.tool_choice.name == "f");
  BOOST_TEST(read.request.sampling.logprobs.value() == 3);
}

BOOST_AUTO_TEST_CASE(a_call_without_arguments_has_an_empty_object) {
  const auto arguments = [](const cogen::request& request) {
    return std::get<cogen::chat_messages>(request.prompt)
        .at(0)
        .extra->at("tool_calls")
        .at(0)
        .at("function")
        .at("arguments");
  };
  for (const auto* written : {R"(,"arguments": "")", R"(,"arguments": " \n")", R"(,"arguments": null)",
                              R"(,"arguments": "null")", R"(,"arguments": {})", R"(,"arguments": "{}")", ""}) {
    const auto chat = fmt::format(
        R"({{"messages": [{{"role": "assistant", "tool_calls": [{{"function": {{"name": "f"{}}}}}]}}]}})", written);
    BOOST_TEST(arguments(chat_of(chat).request) == json::object());
    const auto response =
        fmt::format(R"({{"input": [{{"type": "function_call", "call_id": "c", "name": "f"{}}}]}})", written);
    BOOST_TEST(arguments(response_of(response).request) == json::object());
    std::string input = written;
    if (const auto position = input.find("arguments"); position != std::string::npos)
      input.replace(position, 9, "input");
    const auto message = fmt::format(
        R"({{"messages": [{{"role": "assistant", "content": [{{"type": "tool_use", "id": "c", "name": "f"{}}}]}}]}})",
        input);
    BOOST_TEST(arguments(message_of(message).request) == json::object());
  }
  BOOST_TEST(arguments(message_of(R"({"messages": [{"role": "assistant", "content": [
      {"type": "tool_use", "id": "c", "name": "f", "input": {"x": [1]}}]}]})")
                           .request) == json::parse(R"({"x": [1]})"));
  for (const auto* wrong : {"[]", "1", R"("{")", R"("[]")", "true"})
    BOOST_TEST(holds(refusal_of(response_of, fmt::format(R"({{"input": [{{"type": "function_call", "call_id": "c",
        "name": "f", "arguments": {}}}]}})",
                                                         wrong)),
                     "input[0].arguments is "));
}

BOOST_AUTO_TEST_CASE(contents_may_be_missing_where_calls_are) {
  const auto content = [](std::string_view message) {
    const auto read = chat_of(fmt::format(R"({{"messages": [{}]}})", message));
    return std::get<cogen::chat_messages>(read.request.prompt).at(0).content;
  };
  for (const auto* message :
       {R"({"role": "tool", "tool_call_id": "a", "content": null})", R"({"role": "tool"})",
        R"({"role": "assistant", "content": null, "tool_calls": null})", R"({"role": "assistant"})",
        R"({"role": "user", "content": ""})", R"({"role": "user", "content": []})"})
    BOOST_TEST(content(message).empty(), message);
  BOOST_TEST(content(R"({"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]})") == "No.");
  BOOST_TEST(
      content(R"({"role": "tool", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]})") ==
      "a\nb");
}

BOOST_AUTO_TEST_CASE(outputs_of_calls_may_have_parts) {
  const auto output = [](const std::string& written) {
    const auto body =
        fmt::format(R"({{"input": [{{"type": "function_call_output", "call_id": "c", "output": {}}}]}})", written);
    return std::get<cogen::chat_messages>(response_of(body).request.prompt).at(0).content;
  };
  BOOST_TEST(output(R"("result")") == "result");
  BOOST_TEST(output(R"([{"type": "input_text", "text": "result"}])") == "result");
  BOOST_TEST(output(R"([{"type": "input_text", "text": "a"}, {"type": "output_text", "text": "b"}])") == "a\nb");
  BOOST_TEST(output("[]") == "");
  BOOST_TEST(holds(refusal_of(output, R"([{"type": "input_image", "image_url": "x"}])"),
                   "input[0].output[0].type is \"input_image\""));
  BOOST_TEST(holds(refusal_of(output, "5"), "input[0].output is 5"));
  BOOST_TEST(holds(refusal_of(output, "null"), "input[0].output is null"));
}

BOOST_AUTO_TEST_CASE(tools_are_functions) {
  const std::string chat = R"({"messages": [{"role": "user", "content": "x"}], "tools": [)",
                    response = R"({"input": "x", "tools": [)";
  const auto expected = json::parse(
      R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}, "strict": true}}])");
  const auto without = json::parse(R"([{"type": "function", "function": {"name": "f"}}])");
  const std::pair<const char*, const json::value*> cases[] = {
      {R"({"type": "function", "function": {"name": "f", "parameters": {"type": "object"}, "strict": true}})",
       &expected},
      {R"({"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": true})", &expected},
      {R"({"function": {"name": "f", "description": null, "parameters": null, "strict": null}})", &without}};
  for (const auto& [written, tools] : cases) {
    BOOST_TEST(json::value(*chat_of(chat + written + "]}").request.tools) == *tools, written);
    BOOST_TEST(json::value(*response_of(response + written + "]}").request.tools) == *tools, written);
  }
  const std::pair<const char*, const char*> wrong[] = {{R"({"type": "web_search"})", "tools[0].type is \"web_search\""},
                                                       {R"({"type": "function"})", "tools[0].name is missing"},
                                                       {R"({"function": {}})", "tools[0].function.name is missing"},
                                                       {R"({"name": "f", "parameters": []})", "tools[0].parameters is"},
                                                       {R"({"name": "f", "strict": 1})", "tools[0].strict is 1"}};
  for (const auto& [written, sentence] : wrong)
    BOOST_TEST(holds(refusal_of(chat_of, chat + written + "]}"), sentence), refusal_of(chat_of, chat + written + "]}"));
  const auto message = message_of(R"({"messages": [{"role": "user", "content": "x"}], "tools": [{"name": "f",
      "input_schema": {"type": "object"}, "strict": true}]})");
  BOOST_TEST(json::value(*message.request.tools) == expected);
}

BOOST_AUTO_TEST_CASE(tools_may_be_chosen_in_the_words_of_all_apis) {
  using kind = cogen::tool_choice::kind;
  const std::string begin = R"({"messages": [{"role": "user", "content": "x"}], "tools": [
      {"type": "function", "function": {"name": "f"}}, {"type": "function", "function": {"name": "g"}}])";
  const auto choose = [&](const std::string& fields) { return chat_of(begin + fields + "}").request; };
  BOOST_TEST(choose("").parallel_tool_calls);
  BOOST_TEST(choose(R"(, "parallel_tool_calls": null)").parallel_tool_calls);
  BOOST_TEST(!choose(R"(, "parallel_tool_calls": false)").parallel_tool_calls);
  const std::pair<const char*, kind> kinds[] = {
      {R"("auto")", kind::automatic},           {R"("none")", kind::none},
      {R"("required")", kind::required},        {R"("any")", kind::required},
      {R"({"type": "auto"})", kind::automatic}, {R"({"type": "any"})", kind::required}};
  for (const auto& [written, type] : kinds)
    BOOST_TEST((choose(fmt::format(R"(, "tool_choice": {})", written)).tool_choice.type == type), written);
  for (const auto* written : {R"({"type": "function", "function": {"name": "g"}})",
                              R"({"type": "function", "name": "g"})", R"({"function": {"name": "g"}})"})
    BOOST_TEST(choose(fmt::format(R"(, "tool_choice": {})", written)).tool_choice.name == "g");
  for (const auto* written :
       {R"({"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "g"}]})",
        R"({"type": "allowed_tools", "allowed_tools": {"mode": "required",
            "tools": [{"type": "function", "function": {"name": "g"}}]}})"}) {
    const auto chosen = choose(fmt::format(R"(, "tool_choice": {})", written));
    BOOST_TEST((chosen.tool_choice.type == kind::required));
    BOOST_TEST_REQUIRE(chosen.tools->size() == 1U);
    BOOST_TEST(chosen.tools->at(0).at("function").at("name") == "g");
  }
  for (const auto* wrong :
       {R"("perhaps")", "5", R"({"type": "file_search"})", R"({"type": "custom", "name": "g"})", "{}",
        R"({"type": "allowed_tools", "mode": "none", "tools": [{"name": "g"}]})",
        R"({"type": "allowed_tools", "tools": []})", R"({"type": "allowed_tools", "tools": [{"name": "h"}]})"})
    BOOST_TEST(holds(refusal_of(choose, fmt::format(R"(, "tool_choice": {})", wrong)), "tool_choice"), wrong);
  const auto message = [](std::string_view choice) {
    return message_of(fmt::format(R"({{"messages": [{{"role": "user", "content": "x"}}], "tool_choice": {}}})", choice))
        .request;
  };
  BOOST_TEST(message(R"({"type": "auto"})").parallel_tool_calls);
  const auto single = message(R"({"type": "any", "disable_parallel_tool_use": true})");
  BOOST_TEST(!single.parallel_tool_calls);
  BOOST_TEST((single.tool_choice.type == kind::required));
  BOOST_TEST(!response_of(R"({"input": "x", "parallel_tool_calls": false})").request.parallel_tool_calls);
}

BOOST_AUTO_TEST_CASE(wrong_conversations_are_refused) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"({})", "messages is missing"},
      {R"({"messages": "x"})", "messages is \"x\"; it must be an array"},
      {R"({"messages": [1]})", "messages[0] is 1; it must be an object"},
      {R"({"messages": [{"content": "x"}]})", "messages[0].role is missing"},
      {R"({"messages": [{"role": "user"}]})", "messages[0].content is missing"},
      {R"({"messages": [{"role": "user", "content": {"text": 1}}]})", "messages[0].content is an object"},
      {R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})",
       "messages[0].content[0].type is \"image_url\""},
      {R"({"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "x"}}]}]})",
       "messages[0].tool_calls[0].function.arguments is \"x\"; it must be a JSON object, or one in a string"},
      {R"({"messages": [{"role": "assistant", "tool_calls": [{"function": 5}]}]})",
       "messages[0].tool_calls[0].function is 5"},
      {R"({"messages": [{"role": "user", "content": "x"}], "tool_choice": "perhaps"})", "tool_choice is \"perhaps\""},
      {R"({"messages": [{"role": "user", "content": "x"}], "top_logprobs": 2})", "top_logprobs"},
      {R"({"messages": [{"role": "user", "content": "x"}], "logprobs": 2})", "logprobs is 2"},
  };
  for (const auto& [text, sentence] : wrong)
    BOOST_TEST(holds(refusal_of(chat_of, text), sentence), refusal_of(chat_of, text));
}

BOOST_AUTO_TEST_CASE(formats_have_many_spellings) {
  using kind = cogen::response_format::kind;
  const auto format = [](std::string_view text) { return api::read_format(one_body(text).reader); };
  BOOST_TEST(!format(R"({"response_format": {"type": "text"}})"));
  BOOST_TEST((format(R"({"response_format": {"type": "json_object"}})")->type == kind::json_object));
  for (const auto* text :
       {R"({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "null"}}}})",
        R"({"response_format": {"type": "json_schema", "schema": {"type": "null"}}})",
        R"({"response_format": {"type": "json_object", "schema": {"type": "null"}}})",
        R"({"guided_json": {"type": "null"}})", R"({"guided_json": "{\"type\":\"null\"}"})",
        R"({"structured_outputs": {"json": {"type": "null"}}})", R"({"json_schema": {"type": "null"}})"})
    BOOST_TEST((format(text) == cogen::json_schema(R"({"type":"null"})")), text);
  BOOST_TEST((format(R"({"guided_choice": ["a", "b"]})") == cogen::choice({"a", "b"})));
  BOOST_TEST((format(R"({"guided_regex": "a+"})") == cogen::regex("a+")));
  BOOST_TEST((format(R"({"grammar": "root ::= \"a\""})") == cogen::ebnf("root ::= \"a\"")));
  BOOST_TEST((format(R"({"regex": "a+"})") == cogen::regex("a+")));
  BOOST_TEST((format(R"({"ebnf": "root ::= \"a\""})") == cogen::ebnf("root ::= \"a\"")));
  BOOST_TEST(!format(R"({"structured_outputs": {"regex": null, "disable_any_whitespace": false}})"));
  BOOST_TEST(!format(R"({"guided_decoding_backend": "auto", "guided_json_object": false, "grammar": ""})"));
}

BOOST_AUTO_TEST_CASE(formats_are_kept_in_all_apis) {
  const auto is_null = [](const std::optional<cogen::response_constraint>& format) {
    return format && std::get<cogen::response_format>(*format) == cogen::json_schema(R"({"type":"null"})");
  };
  for (const auto* field :
       {R"("response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "null"}}})",
        R"("output_config": {"format": {"type": "json_schema", "schema": {"type": "null"}}})",
        R"("output_format": {"type": "json_schema", "schema": {"type": "null"}})",
        R"("text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "null"}}})",
        R"("guided_json": {"type": "null"})", R"("structured_outputs": {"json": {"type": "null"}})"}) {
    const auto messages = fmt::format(R"({{"messages": [{{"role": "user", "content": "x"}}], {}}})", field);
    BOOST_TEST(is_null(chat_of(messages).request.response_format), field);
    BOOST_TEST(is_null(message_of(messages).request.response_format), field);
    BOOST_TEST(is_null(response_of(fmt::format(R"({{"input": "x", {}}})", field)).request.response_format), field);
    const one_body body(fmt::format("{{{}}}", field));
    api::generation completion;
    api::read_completion(body.reader, completion);
    BOOST_TEST(is_null(completion.request.response_format), field);
  }
}

BOOST_AUTO_TEST_CASE(what_asks_for_a_format_is_not_ignored) {
  const auto format = [](std::string_view text) { return api::read_format(one_body(text).reader); };
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"guided_regex": "a", "guided_choice": ["a"]})", "besides guided_regex"},
      {R"({"output_format": {"type": "json_object"}, "output_config": {"format": {"type": "json_object"}}})",
       "besides output_format"},
      {R"({"response_format": {"type": "poem"}})", "response_format.type is \"poem\""},
      {R"({"response_format": "json"})", "response_format is \"json\""},
      {R"({"response_format": {"type": "json_schema"}})", "response_format.schema is missing"},
      {R"({"response_format": {"type": "json_schema", "json_schema": {"type": "null"}}})",
       "response_format.json_schema.schema is missing"},
      {R"({"response_format": {"type": "json_object", "json_schema": {"schema": true}}})",
       "response_format.json_schema is"},
      {R"({"response_format": {"type": "json_object", "response_schema": {}}})", "response_format.response_schema is"},
      {R"({"response_format": {"type": "text", "schema": {}}})", "response_format.schema is"},
      {R"({"response_format": {"type": "structural_tag", "format": {}}})", "response_format.type is"},
      {R"({"structured_outputs": {"structural_tag": "{}"}})", "structured_outputs.structural_tag is \"{}\""},
      {R"({"structured_outputs": {"json": {}, "whitespace_pattern": " "}})",
       "structured_outputs.whitespace_pattern is"},
      {R"({"structured_outputs": {"disable_any_whitespace": true}})", "structured_outputs.disable_any_whitespace is"},
      {R"({"structured_outputs": "json"})", "structured_outputs is"},
      {R"({"guided_whitespace_pattern": " ", "guided_json": {}})", "guided_whitespace_pattern is"},
      {R"({"grammar": {"type": "json", "value": {}}})", "grammar is an object"},
      {R"({"grammar": "root ::= \"a\"", "grammar_lazy": true})", "grammar_lazy is true"},
      {R"({"text": {"format": {"type": "grammar"}}})", "text.format.grammar is missing"},
  };
  for (const auto& [text, sentence] : wrong)
    BOOST_TEST(holds(refusal_of(format, text), sentence), refusal_of(format, text));
}

BOOST_AUTO_TEST_CASE(thinking_is_a_budget_of_reasoning) {
  const auto read = [](std::string_view fields) {
    return message_of(fmt::format(R"({{"messages": [{{"role": "user", "content": "x"}}], {}}})", fields)).request;
  };
  const auto enabled = read(R"("thinking": {"type": "enabled", "budget_tokens": 1024})");
  BOOST_TEST(enabled.reasoning_budget.value() == 1024);
  BOOST_TEST(enabled.chat_template_kwargs->at("enable_thinking").as_bool());
  const auto settings = read(R"("output_config": {"effort": "low"}, "chat_template_kwargs": {"a": 1},
      "thinking": {"type": "disabled"})");
  BOOST_TEST(*settings.chat_template_kwargs ==
             json::parse(R"({"a": 1, "reasoning_effort": "low", "enable_thinking": false})"));
}

BOOST_AUTO_TEST_CASE(prompts_are_texts_or_tokens_or_several) {
  const auto prompts = [](std::string_view text) {
    const one_body body(text);
    return api::read_prompts(body.reader, "prompt");
  };
  BOOST_TEST(std::get<std::string>(prompts(R"({"prompt": "a"})").at(0)) == "a");
  BOOST_TEST(std::get<cogen::token_ids>(prompts(R"({"prompt": [1, 2]})").at(0)).size() == 2U);
  BOOST_TEST(prompts(R"({"prompt": ["a", "b", [1]]})").size() == 3U);
  for (const auto* text : {R"({})", R"({"prompt": []})", R"({"prompt": [[]]})", R"({"prompt": 5})",
                           R"({"prompt": [-1]})", R"({"prompt": [1.5]})"})
    BOOST_TEST(holds(refusal_of(prompts, text), "prompt"), text);
}

BOOST_AUTO_TEST_CASE(bodies_have_a_bounded_number_of_values) {
  const auto list = [](std::size_t count) {
    std::string text = R"({"a":[0)";
    for (std::size_t i = 1; i < count; ++i) text += ",0";
    return text + R"(],"b":",[{\",[{\\"})";
  };
  BOOST_TEST(api::parse_body(list(api::max_json_values - 4)).size() == 2U);
  for (const auto count : {api::max_json_values, 4 * api::max_json_values})
    BOOST_CHECK_EXCEPTION(api::parse_body(list(count)), api::error, [](const api::error& why) {
      return why.status() == 400 && std::string(why.what()).find("1048576") != std::string::npos;
    });
}

BOOST_AUTO_TEST_CASE(json_in_strings_of_a_body_has_a_bounded_number_of_values) {
  const auto body = [](std::string_view begin, std::string_view call, std::string_view end, std::size_t calls) {
    std::string list = "[0";
    for (std::size_t i = 1; i < api::max_json_values / 4 - 2; ++i) list += ",0";
    std::string text(begin);
    for (std::size_t i = 0; i < calls; ++i)
      text += (i > 0 ? "," : "") + fmt::format(fmt::runtime(call), "\"{\\\"a\\\":" + list + "]}\"");
    return text + std::string(end);
  };
  const auto chat = [&](std::size_t calls) {
    return body(R"({"messages": [{"role": "assistant", "tool_calls": [)",
                R"({{"function": {{"name": "f", "arguments": {}}}}})", "]}]}", calls);
  };
  const auto response = [&](std::size_t calls) {
    return body(R"({"input": [)", R"({{"type": "function_call", "call_id": "c", "name": "f", "arguments": {}}})", "]}",
                calls);
  };
  const auto message = [&](std::size_t calls) {
    return body(R"({"messages": [{"role": "assistant", "content": [)",
                R"({{"type": "tool_use", "id": "c", "name": "f", "input": {}}})", "]}]}", calls);
  };
  BOOST_TEST(refusal_of(chat_of, chat(4)).empty());
  BOOST_TEST(refusal_of(chat_of, chat(5)).find("1048576") != std::string::npos);
  BOOST_TEST(refusal_of(response_of, response(5)).find("1048576") != std::string::npos);
  BOOST_TEST(refusal_of(message_of, message(5)).find("1048576") != std::string::npos);
  const one_body read(chat(2));
  api::generation wanted;
  api::read_chat(read.reader, wanted);
  BOOST_CHECK_NO_THROW(api::check_generations(read.reader, 1, 1));
  BOOST_CHECK_THROW(api::check_generations(read.reader, 1, 3), api::error);  // they are copied for each
}

BOOST_AUTO_TEST_CASE(what_each_generation_copies_is_bounded_for_all) {
  const auto refused = [](const json::object& source, std::size_t prompts, int n) {
    try {
      api::check_generations(api::field_reader(source), prompts, n);
    } catch (const api::error& why) {
      BOOST_TEST(why.status() == 400);
      return true;
    }
    return false;
  };
  const json::object biases{{"logit_bias", json::array(50000, 0.5)}};
  BOOST_TEST(!refused(biases, 1, 20));
  BOOST_TEST(refused(biases, 1, 21));
  BOOST_TEST(refused(biases, 21, 1));
  const json::object nested{{"chat_template_kwargs", {{"a", json::array(10000, json::array(100, nullptr))}}}};
  BOOST_TEST(!refused(nested, 1, 1));
  BOOST_TEST(refused(nested, 2, 1));
  const json::object long_text{{"x", std::string(1 << 20, 'x')}}, prompts{{"prompt", json::array(50000, 1)}};
  BOOST_TEST(!refused(long_text, 4, 8));
  BOOST_TEST(refused(long_text, 4, 9));
  BOOST_TEST(!refused(prompts, 1024, 1));
  BOOST_TEST(refused(prompts, 1025, 1));
}

BOOST_AUTO_TEST_CASE(what_a_request_holds_grows_with_its_prompts_and_not_with_their_texts) {
  json::object body{{"prompt", std::string(1 << 20, 'x')}, {"max_tokens", 4}};
  BOOST_TEST(api::held_bytes(body) < 1000u);
  body["logit_bias"] = json::array(50000, 0.5);
  const auto once = api::held_bytes(body);
  BOOST_TEST(once > 50000u * (64 + 64));
  BOOST_TEST(once < 50000u * 200);
  body["prompt"] = json::array(20, "x");
  BOOST_TEST(api::held_bytes(body) > 10 * once);
  body["prompt"] = json::array(20, 5);
  BOOST_TEST(api::held_bytes(body) < once + 1000);
}

BOOST_AUTO_TEST_CASE(stop_strings_hold_many_times_their_bytes) {
  const json::object body{{"prompt", json::array(4, "x")},
                          {"stop", json::array(16, json::value(std::string(4096, 'x')))}};
  BOOST_TEST(api::held_bytes(body) > 4 * 16 * 4096 * 150u);
}

BOOST_AUTO_TEST_CASE(what_filters_tokens_is_counted) {
  json::object body{{"prompt", "x"}, {"allowed_token_ids", json::array(1000, 5)}};
  const auto allowed = api::held_bytes(body);
  BOOST_TEST(allowed > 1000u * 4 + (1 << 14));
  body["bad_words"] = json::array(4, json::value(std::string(4096, 'x')));
  BOOST_TEST(api::held_bytes(body) > allowed + 4 * 4096 * 8u);
}

BOOST_AUTO_TEST_CASE(log_probabilities_of_prompts_are_bounded) {
  const json::object source;
  const auto refused = [&](std::size_t prompts, std::size_t tokens, int top) {
    try {
      const std::vector<cogen::prompt> list(prompts, cogen::token_ids(tokens, 1));
      api::check_prompt_logprobs(api::field_reader(source), list, {.prompt_logprobs = top});
    } catch (const api::error&) {
      return true;
    }
    return false;
  };
  BOOST_TEST(!refused(1, api::max_logprobs_of_answer, 1));
  BOOST_TEST(refused(2, api::max_logprobs_of_answer, 1));
  BOOST_TEST(refused(1, api::max_logprobs_of_answer, 2));
  BOOST_TEST(!refused(2, api::max_logprobs_of_answer, 0));
}

BOOST_AUTO_TEST_SUITE_END()
