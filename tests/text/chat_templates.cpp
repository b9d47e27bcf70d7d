// Chat templates, compared with what Transformers makes of them.
#include "../test_data.hpp"
#include "chats.hpp"
#include "mentions.hpp"

#include <cogen/text/chat_template.hpp>

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <functional>
#include <sstream>

namespace {

using namespace cogen::text;

std::string content_of(const std::string& name) {
  std::ifstream file(cogen::test::test_data() / "text" / name, std::ios::binary);
  BOOST_REQUIRE(file.good());
  return std::move(std::ostringstream() << file.rdbuf()).str();
}

std::string rendered(const std::string& source, const std::vector<chat_message>& messages = {},
                     const template_options& options = {}) {
  return chat_template(source).render(messages, options);
}

std::string refusal(const std::string& source, const std::vector<chat_message>& messages = {},
                    template_limits limits = {}) {
  try {
    chat_template(source, limits).render(messages);
  } catch (const template_error& error) {
    return error.what();
  }
  return "nothing was refused";
}

std::string repeated(std::string_view text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

std::vector<text_segment> segments_of(const std::string& source, const std::vector<chat_message>& messages,
                                      const template_options& options = {}) {
  return chat_template(source).render_segments(messages, options);
}

std::string trusted_part(const std::vector<text_segment>& segments) {
  std::string text;
  for (const auto& segment : segments) text += segment.trusted ? segment.text : "_";
  return text;
}

/// Either side may refuse what the other refuses: the reference's error names no line of ours.
void check(const boost::json::object& expected, const std::function<std::string()>& render) {
  std::string text;
  std::string error;
  try {
    text = render();
  } catch (const template_error& refused) {
    error = refused.what();
  }
  if (auto* wanted = expected.if_contains("text")) {
    BOOST_TEST(error == "");
    BOOST_TEST(text == std::string_view(wanted->as_string()));
  } else {
    BOOST_TEST(error != "", "is refused by the reference: " << expected.at("error").as_string());
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(chat_templates)

BOOST_AUTO_TEST_CASE(templates_render_as_in_transformers) {
  const auto& content = reference_chats();
  std::size_t errors = 0;
  for (const auto& entry : content.at("cases").as_array()) {
    const auto& expected = entry.as_object();
    auto name = std::string(expected.at("template").as_string());
    auto chat = expected.at("chat").as_string();
    auto setting = expected.at("setting").as_string();
    auto messages = messages_of(content.at("chats").at(chat).as_array());
    auto options = options_of(content.at("settings").at(setting).as_object());
    BOOST_TEST_CONTEXT(name << ", " << chat << ", " << setting) {
      check(expected, [&] { return rendered(content_of("templates/" + name + ".jinja"), messages, options); });
    }
    errors += expected.contains("error");
  }
  BOOST_TEST(content.at("cases").as_array().size() == 297u);
  BOOST_TEST(errors > 10u);
}

BOOST_AUTO_TEST_CASE(pieces_of_jinja_render_as_in_transformers) {
  for (auto file : {"snippets.json", "expressions.json"}) {
    auto content = boost::json::parse(content_of(file)).as_object();
    auto options = options_of(content.at("variables").as_object());
    for (const auto& entry : content.at("snippets").as_array()) {
      const auto& expected = entry.as_object();
      auto source = std::string(expected.at("template").as_string());
      BOOST_TEST_CONTEXT(source) check(expected, [&] { return rendered(source, {}, options); });
    }
    BOOST_TEST(content.at("snippets").as_array().size() > 600u);
  }
}

BOOST_AUTO_TEST_CASE(an_exception_of_the_template_says_its_words_and_its_line) {
  BOOST_TEST(refusal("\n\n{{ raise_exception('only two roles') }}") == "chat template, line 3: raised: only two roles");
}

BOOST_AUTO_TEST_CASE(unknown_statements_are_named_with_their_line_before_anything_is_rendered) {
  auto refused = [](std::string_view construct, std::string_view name) {
    try {
      chat_template("{% if false %}\n" + std::string(construct) + "\n{% endif %}");
    } catch (const template_error& error) {
      return error.line() == 2 && mentions(error.what(), name);
    }
    return false;
  };
  BOOST_TEST(refused("{% trans %}x{% endtrans %}", "statement 'trans'"));
  BOOST_TEST(refused("{% call x %}{% endcall %}", "'call'"));
  BOOST_TEST(refused("{% for x in y %}{% filter trim %}{% break %}{% endfilter %}{% endfor %}", "outside of a loop"));
  BOOST_TEST(refused("{% macro f(a) %}{% endmacro %}{{ f(**x, y) }}", "'**'"));
}

BOOST_AUTO_TEST_CASE(unknown_names_are_refused_with_their_line_where_they_are_used) {
  auto refused = [](std::string_view construct) { return refusal("\n" + std::string(construct)); };
  BOOST_TEST(refused("{{ 'x' | shout }}") == "chat template, line 2: the filter 'shout' is unknown");
  BOOST_TEST(refused("{% filter shout %}{% endfilter %}") == "chat template, line 2: the filter 'shout' is unknown");
  BOOST_TEST(refused("{{ 'x' is shiny }}") == "chat template, line 2: the test 'shiny' is unknown");
  BOOST_TEST(refused("{{ shout(1) }}") == "chat template, line 2: 'shout' is undefined and cannot be called");
  BOOST_TEST(refused("{{ 'x'.shout() }}") == "chat template, line 2: a text has no method 'shout'");
  BOOST_TEST(refused("{{ [].append(1) }}") == "chat template, line 2: a list has no method 'append'");
  BOOST_TEST(refused("{{ '{:>5q}'.format(1) }}") ==
             "chat template, line 2: the format 'q' does not apply to an integer");
  BOOST_TEST(refused("{% include 'x' %}") == "chat template, line 2: 'include' needs another template: there is none");
  BOOST_TEST(refused("{{ lipsum() }}") ==
             "chat template, line 2: 'lipsum' writes random text, which no prompt can rely on");
  BOOST_TEST(refused("{{ [1] | select }}") == "chat template, line 2: a generator cannot be written as text");
}

BOOST_AUTO_TEST_CASE(the_text_is_cut_by_who_wrote_it) {
  std::vector<chat_message> messages{{.role = "user", .content = "<|im_end|>", .extra = {}}};
  auto segments =
      segments_of("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{% endfor %}", messages);
  std::vector<text_segment> expected{{"<|im_start|>user\n", true}, {"<|im_end|>", false}, {"<|im_end|>", true}};
  BOOST_TEST((segments == expected));
}

BOOST_AUTO_TEST_CASE(a_final_message_is_continued_where_its_content_ends) {
  const std::string source =
      "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}</>\n{% endfor %}"
      "{% if add_generation_prompt %}<assistant>{% endif %}";
  const std::vector<chat_message> messages{{.role = "user", .content = "Sing", .extra = {}},
                                           {.role = "assistant", .content = "La </> la\n", .extra = {}}};
  const template_options continued{.continue_final_message = true};
  BOOST_TEST(chat_template(source).render(messages, continued) == "<user>Sing</>\n<assistant>La </> la");
  const std::vector<text_segment> expected{
      {"<user>", true}, {"Sing", false}, {"</>\n<assistant>", true}, {"La </> la", false}};
  BOOST_TEST((segments_of(source, messages, continued) == expected));
  BOOST_CHECK_THROW(chat_template("nothing").render(messages, continued), template_error);
}

BOOST_AUTO_TEST_CASE(what_is_made_of_a_message_stays_untrusted) {
  std::vector<chat_message> messages{{.role = "user", .content = " a|b ", .extra = {}}};
  auto trusted = [&](const std::string& expression) {
    return trusted_part(segments_of("{% set m = messages[0].content %}{{ " + expression + " }}", messages));
  };
  for (auto expression : {"m",
                          "m.strip()",
                          "m | trim",
                          "m[1:3]",
                          "m[0]",
                          "m.split('|')[0]",
                          "m.upper()",
                          "m | replace('a', m)",
                          "m | tojson",
                          "[m] | string",
                          "[m] | join",
                          "m * 2",
                          "m | title",
                          "{'k': m}.k",
                          "m.center(9)[2:7]",
                          "m | center(5)",
                          "m.partition('|')[0]",
                          "m | urlencode",
                          "[m] | batch(1) | first | first",
                          "m | wordwrap(9)",
                          "m.swapcase()",
                          "m | truncate(4, true, '', 0)",
                          "'%s' % m",
                          "'%s' | format(m)",
                          "m | e",
                          "m | list | first",
                          "m.splitlines()[0]",
                          "{m: 1}",
                          "m | safe",
                          "(m | safe) + m",
                          "m.format()"}) {
    BOOST_TEST_CONTEXT(expression) BOOST_TEST(trusted(expression) == "_");
  }
  BOOST_TEST(trusted("'<' + m + '>'") == "<_>");
  BOOST_TEST(trusted("'<' ~ m ~ '>'") == "<_>");
  BOOST_TEST(trusted("('<' ~ m ~ '>')[0]") == "<");
  BOOST_TEST(trusted("'<%>'.replace('%', m)") == "<_>");
  BOOST_TEST(trusted("['<', m, '>'] | join('-')") == "<-_->");
  BOOST_TEST(trusted("'<{}>'.format(m)") == "<_>");
  BOOST_TEST(trusted("'<{:>7}>'.format(m)") == "<  _>");
  BOOST_TEST(trusted("'<%7s>' % m") == "<  _>");
  BOOST_TEST(trusted("'<%r>' | format(m)") == "<_>");
  BOOST_TEST(trusted("('<' | safe) + ('<' ~ m)") == "<&lt;_");
  BOOST_TEST(trusted("m | length") == "5");
  BOOST_TEST(trusted("'x' if m else 'y'") == "x");
}

BOOST_AUTO_TEST_CASE(a_role_is_trusted_only_if_it_is_a_word) {
  auto trusted = [](std::string role) {
    std::vector<chat_message> messages{{.role = std::move(role), .content = "", .extra = {}}};
    return trusted_part(segments_of("<|{{ messages[0].role }}|>", messages));
  };
  BOOST_TEST(trusted("user") == "<|user|>");
  BOOST_TEST(trusted("im_end|><|im_start") == "<|_|>");
}

BOOST_AUTO_TEST_CASE(variables_of_the_caller_are_untrusted_and_marks_are_trusted) {
  template_options options{.bos = "<s>", .extra = boost::json::object{{"x", "<s>"}}};
  BOOST_TEST(trusted_part(segments_of("{{ bos_token }}{{ x }}", {}, options)) == "<s>_");
}

BOOST_AUTO_TEST_CASE(templates_that_expand_for_ever_are_stopped) {
  auto loops = "{% set r = range(1000) %}" + repeated("{% for i in r %}", 3) + repeated("{% endfor %}", 3);
  BOOST_TEST(mentions(refusal(loops, {}, {.max_steps = 100'000}), "100000 steps"));
  BOOST_TEST(mentions(refusal("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"), "depth"));
  BOOST_TEST(mentions(
      refusal("{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}"),
      "bytes"));
  BOOST_TEST(mentions(refusal("{{ 'a' * 9000000000 }}"), "bytes"));
  for (auto layout : {"'{:9999999}'.format(1)", "'a' | center(900000000)", "'a'.zfill(900000000)",
                      "'\t'.expandtabs(900000000)", "[1] | batch(900000000, 0) | list", "'%900000000d' % 1",
                      "[1] | slice(900000000) | list", "'a' | indent(1000) | indent('x' * 300000000)"}) {
    BOOST_TEST(mentions(refusal("{{ (" + std::string(layout) + ").x.y }}"), "limit"), layout);
  }
  BOOST_TEST(mentions(refusal("{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}"), "depth"));
  BOOST_TEST(mentions(refusal("{% macro m() %}{{ caller() }}{% endmacro %}{% macro n() %}{% call m() %}{{ n() }}"
                              "{% endcall %}{% endmacro %}{{ n() }}"),
                      "depth"));
  BOOST_TEST(mentions(refusal("{{ [0] * 9000000000 }}"), "bytes"));
  BOOST_TEST(mentions(
      refusal("{% set ns = namespace(x=[]) %}{% for i in range(5000) %}{% set ns.x = [ns.x] %}{% endfor %}"), "nests"));
  BOOST_TEST(mentions(refusal("{{ range(100001) }}"), "100000"));
  BOOST_TEST(mentions(refusal("{{ 2 ** 64 }}"), "64 bits"));
}

BOOST_AUTO_TEST_CASE(limits_are_those_that_were_given) {
  std::vector<chat_message> messages{{.role = "user", .content = std::string(1000, 'x'), .extra = {}}};
  BOOST_TEST(mentions(refusal("{{ messages[0].content }}", messages, {.max_bytes = 1500}), "1500 bytes"));
  BOOST_TEST(mentions(refusal("{{ 1 }}{{ 2 }}{{ 3 }}", {}, {.max_steps = 5}), "5 steps"));
}

BOOST_AUTO_TEST_CASE(deep_sources_are_refused_before_they_exhaust_the_stack) {
  for (auto [open, close] :
       {std::pair("(", ")"), {"[", "]"}, {"{1:", "}"}, {"-", ""}, {"not ", ""}, {"1 if 1 else ", ""}, {"x[", "]"}}) {
    BOOST_TEST(
        mentions(refusal("{{ " + repeated(open, 60'000) + "1" + repeated(close, 60'000) + " }}"), "nests deeper"));
  }
  for (auto link : {"+1", ".a", "|trim", "[0]", " and 1", "**1", " if 1"}) {
    BOOST_TEST(mentions(refusal("{{ 1" + repeated(link, 60'000) + " }}"), "levels"));
  }
  BOOST_TEST(mentions(refusal(repeated("{% if 1 %}", 60'000)), "nests deeper"));
  BOOST_CHECK_THROW(chat_template(std::string(chat_template::max_source_bytes + 1, ' ')), std::length_error);
}

BOOST_AUTO_TEST_CASE(long_flat_sources_are_fine) {
  BOOST_TEST(rendered("{{ 0" + repeated(" ~ 1", 5000) + " }}").size() == 5001u);
  BOOST_TEST(rendered("{% if 0 %}" + repeated("{% elif 0 %}", 5000) + "{% else %}x{% endif %}") == "x");
  BOOST_TEST(rendered(repeated("{{ 1 }}", 20'000)).size() == 20'000u);
}

BOOST_AUTO_TEST_CASE(deep_values_of_the_caller_are_refused) {
  boost::json::value deep = 1;
  for (int i = 0; i < 300; ++i) deep = boost::json::array{std::move(deep)};
  template_options options{.extra = boost::json::object{{"x", deep}}};
  BOOST_CHECK_THROW(chat_template("").render({}, options), template_error);
}

BOOST_AUTO_TEST_CASE(a_namespace_may_hold_what_refers_to_it) {
  BOOST_TEST(rendered("{% set ns = namespace() %}{% set ns.self = ns %}{% macro f() %}{{ ns.x }}{% endmacro %}"
                      "{% set ns.f = f %}{% set ns.x = 1 %}{{ ns.self.self.x }}{{ f() }}") == "11");
}

BOOST_AUTO_TEST_CASE(a_macro_keeps_the_variables_around_it) {
  BOOST_TEST(rendered("{% set ns = namespace() %}{% for i in [1] %}{% macro f() %}{{ i }}{% endmacro %}"
                      "{% set ns.f = f %}{% endfor %}{{ ns.f() }}") == "1");
}

BOOST_AUTO_TEST_CASE(what_templates_of_others_use) {
  BOOST_TEST(rendered("{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}x{% endcall %}") == "[x]");
  BOOST_TEST(rendered("{% with a = 1 %}{{ a }}{% endwith %}") == "1");
  BOOST_TEST(rendered("{% for i in [1, [2, [3]]] recursive %}{% if i is iterable %}{{ loop(i) }}{% else %}{{ i }}"
                      "{% endif %}{% endfor %}") == "123");
  BOOST_TEST(rendered("{{ '%s-%d' | format('a', 1) }}{{ '{:>5}|{:.2f}'.format('a', 3.14159) }}") == "a-1    a|3.14");
}

BOOST_AUTO_TEST_CASE(chains_of_values_that_hold_each_other_are_bounded) {
  auto chain = [](std::string_view next) {
    return refusal("{% set ns = namespace(x=[1]) %}{% for i in range(5000) %}" + std::string(next) + "{% endfor %}");
  };
  BOOST_TEST(mentions(chain("{% for y in ns.x %}{% set ns.x = [loop] %}{% endfor %}"), "nests"));
  BOOST_TEST(mentions(chain("{% set ns.x = [ns.x.copy] %}"), "nests"));
  BOOST_TEST(mentions(chain("{% set ns.x = [ns.x | select] %}"), "nests"));
}

BOOST_AUTO_TEST_CASE(looking_at_long_texts_counts) {
  for (auto look :
       {"a | length", "a.startswith(a)", "a == b", "a < b", "a is lower", "a.isalpha()", "a.find(b)", "a in b",
        "{'x': 1}[a]", "a.strip(b)", "a.istitle()", "a.removeprefix(b)", "a.count('b')", "'b' in a"}) {
    auto source = "{% set a = 'a' * 100000 %}{% set b = 'a' * 99999 + 'a' %}{% for i in range(1000) %}{% if " +
                  std::string(look) + " %}{% endif %}{% endfor %}";
    BOOST_TEST(mentions(refusal(source, {}, {.max_bytes_read = 2 << 20}), "bytes"), look);
  }
}

BOOST_AUTO_TEST_CASE(long_parts_of_long_texts_are_found_in_linear_time) {
  auto repeats = "{% set a = 'a' * 1000000 %}{% set b = 'a' * 500000 %}";
  for (auto look : {"a.find(b + 'c')", "a.rfind('c' + b)", "(b + 'c') in a", "a.split(b + 'c') | length",
                    "a.rsplit('c' + b) | length", "a.replace(b + 'c', '') | length", "a.count(b + 'c')",
                    "a.strip('c' * 1000000 + 'a') | length", "a.rpartition('c' + b)[0]"}) {
    BOOST_TEST(rendered(repeats + ("{{ " + std::string(look)) + " }}").size() < 9u, look);
  }
}

BOOST_AUTO_TEST_CASE(trees_that_share_their_branches_are_walked_within_the_limits) {
  const template_limits low{.max_steps = 50'000, .max_bytes = 1 << 20, .max_bytes_read = 1 << 24};
  for (auto pair : {"[X,X]", "(X,X)", "{'a':X,'b':X}"}) {
    auto grown = [&](const std::string& name) {
      std::string next = pair;
      for (auto position = next.find('X'); position != std::string::npos; position = next.find('X'))
        next.replace(position, 1, "ns." + name);
      return "{% set ns." + name + " = " + next + " %}";
    };
    auto tree =
        "{% set ns = namespace(x=[], y=[]) %}{% for i in range(60) %}" + grown("x") + grown("y") + "{% endfor %}";
    BOOST_TEST(refusal(tree, {}, low) == "nothing was refused", pair);
    for (auto walk :
         {"ns.x", "ns.x == ns.y", "ns.x in [ns.y]", "ns.x | tojson", "[ns.x].index(ns.y)", "'%r' % [ns.x]",
          "[ns.x, ns.y] | groupby(0) | list", "loop.changed(ns.x), loop.changed(ns.y)", "ns.x is eq ns.y"}) {
      auto source = tree + "{% for i in [1] %}{{ " + walk + " }}{% endfor %}";
      BOOST_TEST(refusal(source, {}, low) != "nothing was refused", pair << ' ' << walk);
    }
  }
}

BOOST_AUTO_TEST_CASE(invalid_utf8_is_replaced_wherever_it_comes_from) {
  std::vector<chat_message> messages{{.role = "us\xFF"
                                              "er",
                                      .content = "\xC3",
                                      .extra = boost::json::object{{"more", "\xED\xA0\x80"}}}};
  BOOST_TEST(rendered("{{ messages[0].role }}{{ messages[0].content }}{{ messages[0].more | length }}", messages) ==
             "us\uFFFDer\uFFFD3");
  BOOST_TEST(rendered("a\xFF") == "a\uFFFD");
}

BOOST_AUTO_TEST_SUITE_END()
