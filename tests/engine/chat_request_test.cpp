// Chats on their way from a request to the model: tools, further variables, and what a template refuses.
#include "formats/text/byte_alphabet.hpp"
#include "formats/text/tokenizer_spec.hpp"
#include "toy_runner.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

namespace cogen::test {
namespace {

BOOST_AUTO_TEST_SUITE(chat_requests)

/// A token for each printable character, and one that ends messages.
std::shared_ptr<const text::tokenizer> printable(std::optional<token> unknown = {}) {
  text::tokenizer_spec spec;
  spec.unknown = unknown;
  for (char c = ' '; c <= '~'; ++c) text::append_printable(spec.vocabulary.emplace_back(), std::string(1, c));
  spec.added.push_back({.id = static_cast<token>(spec.vocabulary.size()), .content = "<|end|>", .special = true});
  spec.pre_tokenizer = {text::byte_level_step{false, false}};
  return std::make_shared<const text::tokenizer>(std::move(spec));
}

/// The toy model with a chat template.
struct chatting {
  explicit chatting(std::string_view source) : running(parts(source), {.external_stepping = true}) {}

  engine_parts parts(std::string_view source) {
    auto result = toy.parts({.max_sequence_length = 400, .max_batched_tokens = 400});
    result.tokenizer = tokenizer;
    result.chat = std::make_shared<const text::chat_template>(source);
    return result;
  }

  /// The prompt that was run.
  std::string prompt_of(request wanted) {
    wanted.max_tokens = 1;
    auto stream = running.generate(std::move(wanted));
    net::io_context context;
    settle(running, context);
    BOOST_TEST(!stream.error(), stream.error().message());
    const auto& held = toy.control->slots[0];
    return tokenizer->decode(std::span(held).first(static_cast<std::size_t>(stream.usage().prompt_tokens)));
  }

  toy_engine toy;
  std::shared_ptr<const text::tokenizer> tokenizer = printable();
  engine running;
};

const boost::json::array tools = boost::json::parse(R"([{"type": "function", "function": {
    "name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "number"}}}}}])")
                                     .as_array();

BOOST_AUTO_TEST_CASE(tools_and_variables_reach_the_template) {
  chatting chatbot(
      "{{ tools | map(attribute='function') | list | tojson if tools else 'none' }} {{ mode }} {{ date.year if date "
      "}}");
  BOOST_TEST(chatbot.prompt_of({.prompt = chat("Hi"),
                                .chat_template_kwargs =
                                    boost::json::object{{"mode", false}, {"date", {{"year", 1}}}}}) == "none False 1");
  BOOST_TEST(chatbot.prompt_of({.prompt = chat("Hi"), .tools = tools}) ==
             R"([{"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "number"}}}}]  )");
}

BOOST_AUTO_TEST_CASE(calls_and_results_reach_the_template_with_arguments_of_either_kind) {
  chatting chatbot(
      "{% for m in messages %}{{ m.role }}:{{ m.content }}{% for c in m.tool_calls or [] %}"
      "[{{ c.id }} {{ c.function.arguments if c.function.arguments is string else c.function.arguments | tojson }}]"
      "{% endfor %}{{ m.tool_call_id }}{{ m.name }}{{ m.reasoning_content }}<|end|>{% endfor %}");
  chat_messages messages = chat("2+3?");
  messages.push_back(
      {"assistant", "", boost::json::object{{"reasoning_content", "hm"}, {"tool_calls", boost::json::parse(R"([
      {"id": "1", "function": {"name": "add", "arguments": {"a": 2}}},
      {"id": "2", "function": {"name": "add", "arguments": "{\"a\":3}"}}])")}}});
  messages.push_back({"tool", "5", boost::json::object{{"tool_call_id", "1"}, {"name", "add"}}});
  BOOST_TEST(chatbot.prompt_of({.prompt = messages}) ==
             R"(user:2+3?<|end|>assistant:[1 {"a": 2}][2 {"a":3}]hm<|end|>tool:51add<|end|>)");
}

BOOST_AUTO_TEST_CASE(a_chat_that_the_template_refuses_fails_that_request_with_the_sentence_of_the_template) {
  for (const auto& [source, sentence] :
       {std::pair{"{{ raise_exception('Roles must alternate') }}", "Roles must alternate"},
        std::pair{"{{ messages[0].tool_calls[0].id }}", "tool_calls"}}) {
    chatting chatbot(source);
    auto good = chatbot.running.generate({.prompt = "text", .max_tokens = 4});
    const request wrong{.prompt = chat("Hi"), .tools = tools};
    const auto bad = chatbot.running.generate(wrong);
    BOOST_CHECK_EQUAL(bad.error().code(), make_error_code(error::invalid_request));
    BOOST_TEST(bad.error().message().find(sentence) != std::string::npos, bad.error().message());
    BOOST_TEST(chatbot.running.estimate(wrong).why_not.message() == bad.error().message());
    net::io_context context;
    settle(chatbot.running, context);
    BOOST_CHECK(good.finish() == finish_reason::length);
  }
}

BOOST_AUTO_TEST_CASE(wrong_tools_and_tools_without_a_chat_are_refused) {
  chatting chatbot("{{ messages[0].content }}");
  const auto refusal = [&](request wanted) {
    const auto stream = chatbot.running.generate(std::move(wanted));
    BOOST_CHECK_EQUAL(stream.error().code(), make_error_code(error::invalid_request));
    return stream.error().message();
  };
  BOOST_TEST(refusal({.prompt = chat("Hi"), .tools = boost::json::array{5}}) == "tools[0] is 5, but must be an object");
  BOOST_TEST(refusal({.prompt = chat("Hi"), .chat_template_kwargs = boost::json::object{{"messages", 1}}}) ==
             "chat_template_kwargs holds messages, which another member of the request sets");
  BOOST_TEST(refusal({.prompt = "Hi", .tools = tools}) ==
             "tools and chat_template_kwargs are for a chat, and the prompt is none");
  BOOST_TEST(refusal({.prompt = token_ids{1}, .chat_template_kwargs = boost::json::object{{"a", 1}}}) ==
             "tools and chat_template_kwargs are for a chat, and the prompt is none");
}

BOOST_AUTO_TEST_CASE(a_chat_ends_with_the_message_that_is_continued) {
  chatting chatbot("{% for m in messages %}{{ m.role }}:{{ m.content }}<|end|>{% endfor %}assistant:");
  auto messages = chat("Hi");
  messages.push_back({"assistant", "Well,"});
  BOOST_TEST(chatbot.prompt_of({.prompt = messages, .continue_final_message = true}) ==
             "user:Hi<|end|>assistant:Well,");
  BOOST_TEST(chatbot.prompt_of({.prompt = messages}) == "user:Hi<|end|>assistant:Well,<|end|>assistant:");
  const auto refusal = [&](request wanted) { return chatbot.running.generate(std::move(wanted)).error().message(); };
  BOOST_TEST(refusal({.prompt = chat("Hi"), .continue_final_message = true}) ==
             "continue_final_message is set, and the last message is from user; it must be from assistant");
  BOOST_TEST(refusal({.prompt = chat_messages{}, .continue_final_message = true}) ==
             "continue_final_message is set, and the last message is missing; it must be from assistant");
  BOOST_TEST(refusal({.prompt = "Hi", .continue_final_message = true}) ==
             "continue_final_message is for a chat, and the prompt is none");
}

BOOST_AUTO_TEST_CASE(an_echo_is_the_text_of_the_prompt_without_control_tokens) {
  chatting chatbot("{{ messages[0].content }}<|end|>Answer:");
  net::io_context context;
  auto stream = chatbot.running.generate({.prompt = chat("Hi"), .max_tokens = 3, .stop = {"Answer"}, .echo = true});
  std::optional<completion> whole;
  stream.async_complete(net::bind_executor(context, [&](error_code, completion answer) { whole = std::move(answer); }));
  settle(chatbot.running, context);
  BOOST_REQUIRE(whole);
  BOOST_TEST(whole->text.starts_with("HiAnswer:"));
  BOOST_TEST(whole->tokens.size() == 10u + 3u);
  BOOST_CHECK(whole->reason == finish_reason::length);
}

BOOST_AUTO_TEST_CASE(a_prompt_that_must_be_too_long_is_refused_before_it_is_tokenized) {
  chatting chatbot("{% for m in messages %}{{ m.content }}{{ m.content }}<|end|>{% endfor %}");
  chatbot.tokenizer = printable(token{0});
  chatbot.running =
      engine(chatbot.parts("{{ messages[0].content }}{{ messages[0].content }}"), {.external_stepping = true});
  const auto refusal = [&](request wanted) {
    auto stream = chatbot.running.generate(wanted);
    const auto estimate = chatbot.running.estimate(wanted);
    BOOST_CHECK_EQUAL(stream.error().code(), make_error_code(error::does_not_fit));
    BOOST_TEST(estimate.why_not.message() == stream.error().message());
    return stream.error().message();
  };
  const std::string large(2 << 20, 'a');  // of which a token has 7 bytes at most, as <|end|>
  BOOST_TEST(refusal({.prompt = large}) ==
             "the prompt has at least 299593 tokens; a sequence holds 400 at most, with at least 1 generated");
  BOOST_TEST(refusal({.prompt = large, .max_tokens = 0}) ==
             "the prompt has at least 299593 tokens; a sequence holds 400 at most");
  BOOST_TEST(refusal({.prompt = chat(large)}) ==
             "the prompt has at least 599186 tokens; a sequence holds 400 at most, with at least 1 generated");
  BOOST_TEST(refusal({.prompt = chat(std::string(300, 'a'))}) ==
             "the prompt has 600 tokens; a sequence holds 400 at most, with at least 1 generated");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
