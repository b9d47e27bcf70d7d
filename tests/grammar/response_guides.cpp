// What guides of responses allow is what readers of the same syntax understand.
#include "answers/grammar/call_grammar.hpp"
#include "answers/grammar/compiler.hpp"
#include "answers/grammar/grammar_error.hpp"
#include "answers/grammar/response_guide.hpp"
#include "answers/response/control_tokens.hpp"
#include "answers/response/families.hpp"
#include "answers/response/reader.hpp"
#include "grammar_testing.hpp"
#include "text/small_tokenizer.hpp"

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>

using namespace cogen;
using namespace cogen::grammar;

namespace {

/// All bytes, tokens that go beyond delimiters, and control tokens.
const std::shared_ptr<const text::tokenizer>& shared_vocabulary() {
  static const auto tokens = [] {
    const merge_list merges = {{">", "{"}, {">", "x"},  {">", "Ċ"},  {"l", ">"},  {"<", "t"},
                               {"k", ">"}, {"k>", "a"}, {"k>", "Ċ"}, {"{", "\""}, {"}", "Ċ"}};
    auto spec = small_spec(merges, {"<s>", "<end>", "[TOOL_CALLS]", "[THINK]", "[/THINK]"});
    spec.eos = {static_cast<token>(spec.vocabulary.size()) + 1};
    return std::make_shared<const text::tokenizer>(std::move(spec));
  }();
  return tokens;
}

const text::tokenizer& vocabulary() { return *shared_vocabulary(); }

token stop_token() { return vocabulary().eos().front(); }

compiler& shared_compiler() {
  static compiler grammars(shared_vocabulary());
  return grammars;
}

const boost::json::array& tools() {
  static const auto list = boost::json::parse(R"([
    {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "required": ["n"],
      "properties": {"n": {"type": "integer", "minimum": 0, "maximum": 99},
                     "s": {"type": "string", "enum": ["a b", "</c>"]}, "b": {"type": "boolean"}}}}},
    {"type": "function", "function": {"name": "go_on"}}])")
                               .as_array();
  return list;
}

std::shared_ptr<const compiled_grammar> calls_of(const response::response_syntax& syntax, bool required) {
  const auto controls = response::control_tokens_of(syntax, vocabulary());
  return shared_compiler().compile_rules(
      grammar_of_calls(*syntax.calls, tools(), controls, {.several = true, .required = required}));
}

std::shared_ptr<const response_marks> marks_of(const response::response_syntax& syntax) {
  const auto controls = response::control_tokens_of(syntax, vocabulary());
  response_marks marks{.ends = {stop_token()}};
  auto openings = call_triggers(*syntax.calls);
  marks.calls = openings.size();
  if (syntax.reasoning) {
    const auto& open = syntax.reasoning->open.front().text;
    const auto& close = syntax.reasoning->close.front().text;
    openings.push_back(open);
    if (const auto id = vocabulary().find(open); id && vocabulary().is_special(*id)) marks.reasoning_open = id;
    marks.reasoning_end = std::make_shared<text_trigger>(std::vector{close}, vocabulary(), controls);
    marks.reasoning_close = vocabulary().encode(close, {.parse_special = true});
  }
  marks.openings = std::make_shared<text_trigger>(openings, vocabulary(), controls);
  return std::make_shared<response_marks>(std::move(marks));
}

std::unique_ptr<guide> automatic(const response::response_syntax& syntax) {
  return guide_response(marks_of(syntax), {.calls = calls_of(syntax, false)});
}

void accept(guide& place, std::string_view text) {
  for (const auto id : vocabulary().encode(text, {.parse_special = true})) place.accept(id);
}

void accept_each_byte(guide& place, std::string_view text) {
  for (const char byte : text) place.accept(static_cast<unsigned char>(byte));
}

bool refuses(const guide& place, std::string_view text) try {
  accept_each_byte(*place.clone(), text);
  return false;
} catch (const std::invalid_argument&) {
  return true;
}

bool is_ascii(token id) {
  return std::ranges::all_of(vocabulary().token_bytes(id),
                             [](char byte) { return static_cast<unsigned char>(byte) < 0x80; });
}

/// The text of a random walk, over ASCII where it can be, to its end or for so many steps.
std::string walk(guide& place, std::mt19937& random, int steps = 4000) {
  std::string text;
  for (int step = 0; step < steps; ++step) {
    auto ids = allowed(place, vocabulary());
    if (std::ranges::any_of(ids, is_ascii)) std::erase_if(ids, [](token id) { return !is_ascii(id); });
    BOOST_REQUIRE(!ids.empty());
    const bool ends = std::ranges::binary_search(ids, stop_token()) && (ids.size() == 1 || random() % 2 == 0);
    const auto id = ends ? stop_token() : ids[random() % ids.size()];
    place.accept(id);
    if (id == stop_token()) break;
    text += vocabulary().token_bytes(id);
  }
  return text;
}

std::vector<tool_call> calls_in(const response::response_syntax& syntax, std::string_view text) {
  const response::parameter_types types(tools());
  response::reader reader(syntax, types, {});
  std::vector<tool_call> calls;
  append(calls, reader.push(text).tool_calls);
  append(calls, reader.finish().tool_calls);
  return calls;
}

void check(const tool_call& call, const std::string& where) {
  BOOST_TEST((call.status == tool_call_status::complete), where);
  BOOST_TEST((call.name == "f" || call.name == "go_on"), where);
  const auto arguments = boost::json::parse(call.arguments).as_object();
  if (call.name == "go_on") {
    BOOST_TEST(arguments.empty(), where);
    return;
  }
  BOOST_TEST((arguments.at("n").as_int64() >= 0 && arguments.at("n").as_int64() <= 99), where);
  if (const auto* text = arguments.if_contains("s")) BOOST_TEST((*text == "a b" || *text == "</c>"), where);
  if (const auto* flag = arguments.if_contains("b")) BOOST_TEST(flag->is_bool(), where);
}

/// What chat templates of families hold, one for each way of writing calls.
const char* const templates[] = {"<tool_call>",
                                 "<tool_call><function=<parameter=",
                                 "<arg_key>",
                                 "<minimax:tool_call>",
                                 "[TOOL_CALLS]",
                                 "[CALL_ID][ARGS]",
                                 "<|tool_call_argument_begin|>",
                                 "<｜tool▁sep｜>```",
                                 "<|channel|>functions.",
                                 "<|START_ACTION|>",
                                 "\"parameters\": dictionary of argument name"};

}  // namespace

BOOST_AUTO_TEST_SUITE(response_guides)

BOOST_AUTO_TEST_CASE(required_calls_are_read_as_complete_and_valid) {
  std::mt19937 random(1);
  for (const auto* each : templates) {
    const auto syntax = response::syntax_of_template(each);
    const auto grammar = calls_of(syntax, true);
    for (int round = 0; round < 6; ++round) {
      const auto text = walk(*guide_response(marks_of(syntax), {.answer = grammar->start()}), random);
      const auto calls = calls_in(syntax, text);
      BOOST_TEST(!calls.empty(), each << ": " << text);
      for (const auto& call : calls) check(call, each + (": " + text));
    }
  }
}

BOOST_AUTO_TEST_CASE(calls_in_free_text_are_constrained_from_their_opening_to_their_end) {
  std::mt19937 random(2);
  for (const auto* each : templates) {
    const auto syntax = response::syntax_of_template(each);
    const auto place = automatic(syntax);
    const auto opening = call_triggers(*syntax.calls).front();
    accept(*place, "What? {}[] ");
    BOOST_TEST(place->is_complete());
    accept(*place, opening);
    BOOST_TEST(!place->is_complete());
    auto text = opening;
    while (!place->is_complete()) text += walk(*place, random, 1);
    const auto calls = calls_in(syntax, text);
    BOOST_TEST(!calls.empty(), each << ": " << text);
    for (const auto& call : calls) check(call, each + (": " + text));
    accept(*place, " That is all.");
    BOOST_TEST(place->is_complete());
  }
}

BOOST_AUTO_TEST_CASE(masks_say_what_is_accepted) {
  std::mt19937 random(3);
  for (const auto* each : templates) {
    const auto syntax = response::syntax_of_template(each);
    const auto place = automatic(syntax);
    const auto opening = call_triggers(*syntax.calls).front();
    for (const auto id : vocabulary().encode("a" + opening.substr(0, opening.size() - 1))) {
      BOOST_TEST(allowed(*place, vocabulary()) == allowed_by_trying(*place, vocabulary()),
                 boost::test_tools::per_element());
      place->accept(id);
    }
    for (int step = 0; step < 12; ++step) {
      const auto ids = allowed(*place, vocabulary());
      BOOST_TEST(ids == allowed_by_trying(*place, vocabulary()), boost::test_tools::per_element());
      place->accept(ids[random() % ids.size()]);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_token_may_go_beyond_an_opening_only_as_the_call_does) {
  const auto place = automatic(response::syntax_of_template("<tool_call>"));
  accept_each_byte(*place, "a<tool_call");
  const auto ids = allowed(*place, vocabulary());
  BOOST_TEST(std::ranges::binary_search(ids, *vocabulary().find(">{")));
  BOOST_TEST(!std::ranges::binary_search(ids, *vocabulary().find(">x")));
  place->accept(*vocabulary().find(">{"));
  BOOST_TEST(refuses(*place, "}"));
  accept_each_byte(*place, R"("name": "go_on", "arguments": {}})");
  BOOST_TEST(!place->is_complete());
  accept_each_byte(*place, "</tool_call>");
  BOOST_TEST(place->is_complete());
}

BOOST_AUTO_TEST_CASE(a_control_token_opens_a_call) {
  const auto place = automatic(response::syntax_of_template("[TOOL_CALLS]"));
  accept_each_byte(*place, "Well, ");
  place->accept(*vocabulary().find("[TOOL_CALLS]"));
  BOOST_TEST(refuses(*place, "x"));
  const auto call = R"([{"name": "go_on", "arguments": {}, "id": ")";
  for (const auto* wrong : {"a1\"", "abcdefgh1x", "abcd efgh"}) BOOST_TEST(refuses(*place, call + std::string(wrong)));
  accept_each_byte(*place, call + std::string(R"(abcdefgh1"}])"));
  BOOST_TEST(place->is_complete());
}

BOOST_AUTO_TEST_CASE(no_call_opens_where_none_may) {
  const auto syntax = response::syntax_of_template("<tool_call>");
  const auto place = guide_response(marks_of(syntax), {.forbids_calls = true});
  accept_each_byte(*place, "a<tool_call");
  for (const auto* text : {">", ">{", ">x", "l>"})
    BOOST_TEST(std::ranges::binary_search(allowed(*place, vocabulary()), *vocabulary().find(text)) ==
               (std::string(text) == "l>"));
  BOOST_TEST(refuses(*place, ">"));
  accept_each_byte(*place, "_>");
}

BOOST_AUTO_TEST_CASE(text_without_quotes_ends_at_its_delimiter) {
  const auto tool = boost::json::parse(R"([{"type": "function", "function": {"name": "f", "parameters": {
    "type": "object", "properties": {"s": {"type": "string"}}, "required": ["s"]}}}])");
  const auto syntax = response::syntax_of_template("<tool_call><function=<parameter=");
  const auto grammar = shared_compiler().compile_rules(grammar_of_calls(*syntax.calls, tool.as_array(), {}, {}));
  for (const auto* value : {"", "a", "\n", "<b></b>", "</par</parameter", "<</parameter\nx>", "é\"\\"}) {
    const auto place = grammar->start("<tool_call>\n<function=f>\n<parameter=s>");
    accept_each_byte(*place, value + std::string("</parameter>"));
    BOOST_TEST(refuses(*place, "x"));
    accept_each_byte(*place, "\n</function>\n</tool_call>");
    BOOST_TEST(place->is_complete());
  }
}

BOOST_AUTO_TEST_CASE(reasoning_ends_with_its_budget) {
  for (const auto* each : {"</think><tool_call>", "[THINK][TOOL_CALLS]"}) {
    const auto syntax = response::syntax_of_template(each);
    const auto place = guide_response(marks_of(syntax), {.in_reasoning = true, .reasoning_budget = 5});
    accept_each_byte(*place, "hmmmm");
    const auto closing = place->forced();
    BOOST_TEST(closing == vocabulary().encode(syntax.reasoning->close.front().text, {.parse_special = true}),
               boost::test_tools::per_element());
    for (const auto id : closing) {
      BOOST_TEST(allowed(*place, vocabulary()) == std::vector{id}, boost::test_tools::per_element());
      BOOST_TEST(!place->is_complete());
      place->accept(id);
    }
    BOOST_TEST(allowed(*place, vocabulary()).size() == vocabulary().size());
    BOOST_TEST(place->forced().empty());
  }
}

BOOST_AUTO_TEST_CASE(reasoning_that_ends_before_its_budget_is_left_alone) {
  const auto syntax = response::syntax_of_template("</think>");
  const auto place = guide_response(marks_of(syntax), {.in_reasoning = true, .reasoning_budget = 20});
  accept(*place, "hm</think>");
  accept_each_byte(*place, "a text that is longer than the budget");
  BOOST_TEST(allowed(*place, vocabulary()).size() == vocabulary().size());
}

BOOST_AUTO_TEST_CASE(no_reasoning_where_the_budget_is_nothing) {
  const auto syntax = response::syntax_of_template("</think>");
  const auto place = guide_response(marks_of(syntax), {.in_reasoning = true, .reasoning_budget = 0});
  BOOST_TEST(place->forced() == vocabulary().encode("</think>"), boost::test_tools::per_element());
  const auto later = guide_response(marks_of(syntax), {.reasoning_budget = 0});
  accept(*later, "a<think>");
  BOOST_TEST(later->forced() == vocabulary().encode("</think>"), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_guided_answer_begins_after_the_reasoning) {
  const auto answer = [] { return shared_compiler().compile(choice({"abc"}))->start(); };
  const auto syntax = response::syntax_of_template("</think>");
  const auto place = guide_response(marks_of(syntax), {.in_reasoning = true, .answer = answer()});
  accept_each_byte(*place, "xyz</thin");
  BOOST_TEST(!place->is_complete());
  const auto ids = allowed(*place, vocabulary());
  BOOST_TEST(ids == allowed_by_trying(*place, vocabulary()), boost::test_tools::per_element());
  BOOST_TEST(!std::ranges::binary_search(ids, stop_token()));
  BOOST_TEST(!std::ranges::binary_search(ids, *vocabulary().find("k>a")));
  place->accept(*vocabulary().find("k>Ċ"));
  BOOST_TEST(allowed(*place, vocabulary()) == std::vector<token>{'a'}, boost::test_tools::per_element());
  accept_each_byte(*place, "abc");
  BOOST_TEST(place->is_complete());
}

BOOST_AUTO_TEST_CASE(a_guided_answer_may_come_after_reasoning_that_the_model_opens) {
  const auto syntax = response::syntax_of_template("[THINK]");
  for (const bool thinks : {true, false}) {
    const auto place =
        guide_response(marks_of(syntax), {.answer = shared_compiler().compile(choice({"abc"}))->start()});
    BOOST_TEST(allowed(*place, vocabulary()) == allowed_by_trying(*place, vocabulary()),
               boost::test_tools::per_element());
    if (thinks) accept(*place, "[THINK]hm[/THINK]");
    accept_each_byte(*place, "abc");
    BOOST_TEST(place->is_complete());
  }
}

BOOST_AUTO_TEST_CASE(rolled_back_responses_are_as_if_never_accepted) {
  std::mt19937 random(5);
  const auto syntax = response::syntax_of_template("</think><tool_call>");
  const auto make = [&] {
    return guide_response(marks_of(syntax),
                          {.in_reasoning = true, .reasoning_budget = 8, .calls = calls_of(syntax, false)});
  };
  const auto call = R"(<tool_call>{"name": "go_on", "arguments": {}}</tool_call>)";
  std::vector<token> tokens = vocabulary().encode("a</think>b" + std::string(call) + "c" + call + "d");
  for (int round = 0; round < 200; ++round) {
    const auto place = make();
    const auto length = random() % tokens.size(), back = random() % (length + 1);
    for (std::size_t i = 0; i < length; ++i) place->accept(tokens[i]);
    const auto other = place->clone();
    place->roll_back(static_cast<int>(back));
    const auto fresh = make();
    for (std::size_t i = 0; i < length - back; ++i) fresh->accept(tokens[i]);
    BOOST_TEST(allowed(*place, vocabulary()) == allowed(*fresh, vocabulary()), boost::test_tools::per_element());
    BOOST_TEST(place->is_complete() == fresh->is_complete());
    for (std::size_t i = length - back; i < tokens.size(); ++i) place->accept(tokens[i]);
    for (std::size_t i = length; i < tokens.size(); ++i) other->accept(tokens[i]);
    BOOST_TEST((place->is_complete() && other->is_complete()));
  }
  BOOST_CHECK_THROW(make()->roll_back(1), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(an_array_or_a_section_holds_one_call_where_no_more_may_come) {
  const std::pair<const char*, const char*> two[] = {
      {"[TOOL_CALLS]", R"([TOOL_CALLS][{"name": "go_on", "arguments": {}},{"name": "go_on", "arguments": {}}])"},
      {"<|START_ACTION|>", R"(<|START_ACTION|>[{"tool_name": "go_on", "parameters": {}},{"tool_name": "go_on", )"
                           R"("parameters": {}}]<|END_ACTION|>)"},
      {"<minimax:tool_call>", R"(<minimax:tool_call><invoke name="go_on"></invoke><invoke name="go_on"></invoke>)"
                              R"(</minimax:tool_call>)"}};
  for (const auto& [chat_template, text] : two)
    for (const bool several : {true, false}) {
      const auto syntax = response::syntax_of_template(chat_template);
      const auto grammar = shared_compiler().compile_rules(grammar_of_calls(
          *syntax.calls, tools(), response::control_tokens_of(syntax, vocabulary()), {.several = several}));
      const auto place = grammar->start();
      const auto ids = vocabulary().encode(text, {.parse_special = true});
      const auto accept_all = [&] {
        for (const auto id : ids) place->accept(id);
      };
      if (several)
        accept_all();
      else
        BOOST_CHECK_THROW(accept_all(), std::invalid_argument);
    }
}

namespace {

/// How a tool `f` with these parameters is kept in the calls of a family.
schema_grammar calls_of_tool(const char* chat_template, const std::string& parameters, bool strict) {
  const auto tool =
      boost::json::parse(R"([{"type": "function", "function": {"name": "f", "strict": )" +
                         std::string(strict ? "true" : "false") + R"(, "parameters": )" + parameters + "}}]");
  return grammar_of_calls(*response::syntax_of_template(chat_template).calls, tool.as_array(), {}, {});
}

std::string refusal_of_tool(const char* chat_template, const std::string& parameters, bool strict = true) try {
  shared_compiler().compile_rules(calls_of_tool(chat_template, parameters, strict));
  return "";
} catch (const std::invalid_argument& error) {
  return error.what();
}

std::string loosened_in_tool(const char* chat_template, const std::string& parameters) {
  std::string result;
  for (const auto& each : calls_of_tool(chat_template, parameters, false).loosened)
    result += (result.empty() ? "" : ", ") + each.name + " " + each.path;
  return result;
}

const auto* const in_text = "<tool_call><function=<parameter=";

}  // namespace

BOOST_AUTO_TEST_CASE(strict_tools_that_cannot_be_kept_are_refused_by_name) {
  for (const auto* parameters : {R"({"type": "array"})", R"({"properties": {"a": {"type": "strung"}}})",
                                 R"({"properties": {"a": {"$ref": "http://x"}}})"})
    for (const auto* family : {"", in_text})
      BOOST_TEST(refusal_of_tool(family, parameters).find("the parameters of the tool 'f': ") == 0u, parameters);
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"properties": {"a": {"type": "string", "maxLength": 9999}}})", "maxLength"},
      {R"({"properties": {"a": {"type": ["string", "integer"], "minimum": 3}}})", "'minimum' at #/properties/a"},
      {R"({"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "null"}}]}}})",
       "'items' at #/properties/a/anyOf/1"},
      {R"({"properties": {"a": {"type": "string"}}, "minProperties": 1})", "'minProperties' at #"}};
  for (const auto& [parameters, part] : wrong) {
    const auto refused = refusal_of_tool(in_text, parameters);
    BOOST_TEST(refused.find(part) != std::string::npos, refused);
  }
  BOOST_TEST(refusal_of_tool(in_text,
                             R"({"properties": {"a": {"type": ["string", "null"]}, "b": {"type": "object"}}})") == "");
}

BOOST_AUTO_TEST_CASE(other_tools_are_served_and_what_is_loosened_is_named) {
  const auto unkept = R"({"properties": {"a/b": {"type": "array", "contains": {"const": 1}}, "c": {"$ref": "http://x"},
      "d": {"type": "integer", "multipleOf": 123456789, "minimum": 3}}})";
  for (const auto* family : {"", in_text, "[TOOL_CALLS]", "<|tool_call_argument_begin|>"}) {
    BOOST_TEST(refusal_of_tool(family, unkept, false) == "", family);
    const auto named = loosened_in_tool(family, unkept);
    BOOST_TEST(named.find("$ref f#/properties/c") != std::string::npos, named);
    BOOST_TEST(named.find("multipleOf f#/properties/d") != std::string::npos, named);
  }
  BOOST_TEST(loosened_in_tool("", R"({"type": "array"})") == "type f#");
  BOOST_TEST(loosened_in_tool(in_text, R"({"properties": {"a": {"type": "string", "maxLength": 9999}}})") ==
             "maxLength f#/properties/a");
  BOOST_TEST(loosened_in_tool(in_text, R"({"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "integer",
      "minimum": 3}]}}, "minProperties": 1})") == "minProperties f#, minimum f#/properties/a/anyOf/1");
  for (const auto* kept : {"{}", R"({"type": ["object", "null"], "properties": {"a": {"type": "string", "x-order": 1,
      "example": "a", "description": "x"}}, "required": ["a"], "additionalProperties": false})"})
    for (const auto* family : {"", in_text}) BOOST_TEST(loosened_in_tool(family, kept) == "", family << kept);
}

BOOST_AUTO_TEST_CASE(tools_beyond_a_limit_take_any_arguments_unless_they_are_strict) {
  const auto parameters =
      R"({"properties": {"a": {"type": "string", "pattern": "^[a-z]{1,60}$"}, "b": {"type": "integer"}},
      "required": ["a"]})";
  for (const auto* family : {"", in_text}) {
    const auto tool = boost::json::parse(R"([{"type": "function", "function": {"name": "f", "parameters": )" +
                                         std::string(parameters) + "}}]");
    const auto open =
        grammar_of_calls(*response::syntax_of_template(family).calls, tool.as_array(), {}, {.any_arguments = true});
    BOOST_TEST(!open.loosened.empty());
    const auto place = shared_compiler().compile_rules(open)->start();
    if (*family == 0)
      accept_each_byte(*place, R"(<tool_call>{"name": "f", "arguments": {"b":null}}</tool_call>)");
    else
      accept_each_byte(*place, "<tool_call><function=f><parameter=a>A b</parameter></function></tool_call>");
    BOOST_TEST(place->is_complete());
  }
}

BOOST_AUTO_TEST_CASE(strings_without_quotes_are_held_to_their_keywords) {
  const auto begun = "<tool_call>\n<function=f>\n<parameter=s>";
  const auto allows = [&](const std::string& property, const std::string& value) {
    const auto grammar = shared_compiler().compile_rules(
        calls_of_tool(in_text, R"({"properties": {"s": )" + property + R"(}, "required": ["s"]})", true));
    const auto place = grammar->start(begun);
    return !refuses(*place, value + "</parameter>\n</function>\n</tool_call>");
  };
  struct keyword_case {
    const char* property;
    std::vector<const char*> valid, invalid;
  };
  const keyword_case cases[] = {
      {R"({"type": "string", "pattern": "^[a-z]+$"})", {"a", "\nab\n"}, {"", "A", "a b", "\n\nab"}},
      {R"({"type": "string", "minLength": 2})", {"ab", "<</", "\nab", "a\nb"}, {"", "a", "\na", "a\n"}},
      {R"({"type": "string", "maxLength": 2})", {"", "a", "ab", "\nab\n", "</"}, {"abc", "\n\nab"}},
      {R"({"type": "string", "format": "date"})", {"2024-02-28"}, {"yesterday", "2024-13-01"}},
      {R"({"const": "a b"})", {"a b"}, {"a", "\"a b\""}},
      {R"({"type": "string", "enum": ["a", "\nb", ""]})", {"a", "\na\n", "", "\n\nb"}, {"\nb", "c"}},
      {R"({"anyOf": [{"type": "string", "enum": ["a", "null"]}, {"type": "null"}]})", {"a", "null"}, {"b", ""}},
      {R"({"type": ["string", "null"], "maxLength": 2})", {"ab", "null"}, {"nul", "abc"}},
      {R"({"enum": ["5", 5, true, null, "x"]})", {"5", "true", "null", "x"}, {"6", "\"5\""}},
      {R"({"type": "string", "not": {"enum": ["a"]}})", {"b", "", "aa"}, {"a", "\na"}}};
  for (const auto& [property, valid, invalid] : cases) {
    for (const auto* each : valid) BOOST_TEST(allows(property, each), property << ": " << each);
    for (const auto* each : invalid) BOOST_TEST(!allows(property, each), property << ": " << each);
  }
}

BOOST_AUTO_TEST_SUITE_END()
