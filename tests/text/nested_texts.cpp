// Templates and tokenizers by depth and by breadth, on little stack: each is used, or refused in a sentence.
#include "../small_stack.hpp"

#include <cogen/text/chat_template.hpp>
#include <cogen/text/tokenizer.hpp>

#include <boost/test/unit_test.hpp>

#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

BOOST_AUTO_TEST_SUITE(nested_texts)

namespace {

using namespace cogen;
using namespace cogen::text;

std::string times(std::string_view part, std::size_t count) {
  std::string text;
  for (; count > 0; --count) text += part;
  return text;
}

void check_is_survived(const std::function<void()>& use) {
  std::string said;
  test::on_small_stack([&] {
    try {
      use();
    } catch (const std::exception& error) {
      said = error.what();
    }
  });
  BOOST_TEST(said.size() < 2100u, said);
  BOOST_TEST(said.find("bad_alloc") == std::string::npos);
}

void check_template(const std::string& source) {
  constexpr template_limits limits{.max_steps = 1'000'000, .max_bytes = std::size_t{32} << 20};
  check_is_survived([&] { chat_template(source, limits).render({}); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(templates_by_depth) {
  for (const std::size_t depth : {90, 100, 101, 100'000})
    for (const auto& [open, close] : {std::pair("{{ (", ") }}"), {"{% if 1 %}", "{% endif %}"}})
      check_template(times(open, depth) + "1" + times(close, depth));
  for (const std::size_t depth : {20, 90, 200, 50'000}) {
    for (const auto& [open, close] : {std::pair("(", ")"),
                                      {"[", "]"},
                                      {"{1: ", "}"},
                                      {"-", ""},
                                      {"not ", ""},
                                      {"a(", ")"},
                                      {"a[", "]"},
                                      {"a[1:", "]"},
                                      {"(1,", ")"},
                                      {"1 if (", ") else 1"},
                                      {"1 if 1 else ", ""},
                                      {"1 ** ", ""},
                                      {"[1]|map(", ")"},
                                      {"1 is eq ", ""}})
      check_template("{{ " + times(open, depth) + "1" + times(close, depth) + " }}");
    for (const auto* more : {"+1", "~1", "**1", "*1", "<1", " and 1", " or 1", " if 1 else 1", " is odd", "|int", ".a",
                             "()", "[0]", " in [1]"})
      check_template("{{ 1" + times(more, depth) + " }}");
    for (const auto& [open, close] : {std::pair("{% for a in [1] %}", "{% endfor %}"),
                                      {"{% set a %}", "{% endset %}"},
                                      {"{% with a = 1 %}", "{% endwith %}"},
                                      {"{% filter upper %}", "{% endfilter %}"},
                                      {"{% macro m() %}", "{% endmacro %}"},
                                      {"{% call m() %}", "{% endcall %}"},
                                      {"{% if 1 %}{% else %}", "{% endif %}"},
                                      {"{% generation %}", "{% endgeneration %}"},
                                      {"{% autoescape false %}", "{% endautoescape %}"}})
      check_template(times(open, depth) + "1" + times(close, depth));
    check_template("{% set " + times("(", depth) + "a" + times(")", depth) + " = 1 %}");
    check_template("{% if 1 %}" + times("{% elif 1 %}", depth) + "{% endif %}");
    check_template("{{ '" + times("{:", depth) + times("}", depth) + "'.format(1) }}");
    check_template("{{ ('" + times("[", depth) + "')|fromjson }}");
  }
}

BOOST_AUTO_TEST_CASE(templates_by_breadth) {
  for (const auto& [open, part, close] : {std::tuple("{{ [", "1,", "] }}"),
                                          {"{{ (", "1,", ") }}"},
                                          {"{{ {", "1: 1,", "} }}"},
                                          {"{{ a(", "1,", ") }}"},
                                          {"", "{{ 1 }}", ""},
                                          {"", "{% set a = 1 %}", ""},
                                          {"{% macro m(", "a,", ") %}{% endmacro %}"},
                                          {"{% with ", "a = 1,", "b = 1 %}{% endwith %}"},
                                          {"{{ ", "'a' ", " }}"},
                                          {"{# ", "{# ", "#}"}})
    check_template(open + times(part, 100'000) + close);
}

/// Values that hold each other, in every way that a template has.
BOOST_AUTO_TEST_CASE(values_by_depth) {
  for (const auto* hold :
       {"{% set ns.a = [ns.a] %}", "{% set ns.a = (ns.a,) %}", "{% set ns.a = {'a': ns.a} %}",
        "{% set ns.a = {'a': ns.a}.values() %}", "{% set ns.a = {'a': ns.a}.items() %}",
        "{% set ns.a = [ns.a]|select('defined') %}", "{% set ns.a = [ns.a]|map('string') %}",
        "{% set ns.a = [ns.a].append %}", "{% set ns.a = cycler(ns.a) %}", "{% set ns.a = namespace(a=ns.a) %}",
        "{% set ns.a = [ns.a]|batch(1) %}", "{% set ns.a = [{'a': ns.a}]|groupby('b') %}",
        "{% for i in [ns.a] %}{% set ns.a = loop %}{% endfor %}", "{% set ns.a = dict(a=ns.a) %}",
        "{% set ns.a = [ns.a]|reverse %}", "{% set ns.a = [ns.a]|list %}", "{% set ns.a = joiner(ns.a|string) %}"}) {
    const std::string loop =
        "{% set ns = namespace(a=1) %}{% for i in range(50000) %}" + std::string(hold) + "{% endfor %}";
    for (const auto* use : {"", "{{ ns.a }}", "{{ ns.a|tojson }}", "{{ ns.a == ns.a }}", "{{ [ns.a]|sort }}"})
      check_template(loop + use);
  }
  check_template("{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}");
  check_template("{% for i in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}");
}

BOOST_AUTO_TEST_CASE(tokenizers_by_depth_and_breadth) {
  const auto check_json = [](const std::string& json) {
    check_is_survived([&] { tokenizer::from_tokenizer_json(json).encode("a b\u00E9"); });
  };
  const auto with = [](const std::string& field, const std::string& value) {
    return R"({"model": {"vocab": {"a": 0}, "merges": []}, ")" + field + "\": " + value + "}";
  };
  for (const std::size_t depth : {5, 20, 30, 50'000})
    for (const auto& [field, list, last] : {std::tuple("normalizer", "normalizers", "NFC"),
                                            {"pre_tokenizer", "pretokenizers", "Whitespace"},
                                            {"decoder", "decoders", "Fuse"},
                                            {"post_processor", "processors", "ByteLevel"}}) {
      const auto open = R"({"type": "Sequence", ")" + std::string(list) + "\": [",
                 item = R"({"type": ")" + std::string(last) + "\"}";
      check_json(with(field, times(open, depth) + item + times("]}", depth)));
      check_json(with(field, open + times(item + ",", depth) + item + "]}"));
      check_json(with(field, open + times(open + "]},", depth) + item + "]}"));
    }
  for (const std::size_t depth : {50, 100'000})
    for (const auto& [open, close] : {std::pair("[", "]"), {R"({"a":)", "}"}})
      check_json(with("extra", times(open, depth) + "1" + times(close, depth)));
}

BOOST_AUTO_TEST_SUITE_END()
