// Templates that are short and would take long: each operation is accounted for by what it looks at and what it makes.
#include "../load/allocation_watch.hpp"
#include "mentions.hpp"

#include <cogen/text/chat_template.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(template_costs)

namespace {

using namespace cogen::text;

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr template_limits small_limits{.max_bytes = 8 * mebibyte, .max_bytes_read = 2 * mebibyte};

std::string outcome(const std::string& source, template_limits limits = small_limits) {
  try {
    return "rendered " + std::to_string(chat_template(source, limits).render({}).size()) + " bytes of text";
  } catch (const template_error& error) {
    return error.what();
  }
}

bool names_a_limit(const std::string& message) {
  return mentions(message, "exceeds the limit of 8388608 bytes") ||
         mentions(message, "exceeds the limit of 2097152 bytes");
}

std::string repeating(std::string_view expression, std::string_view prefix) {
  return std::string(prefix) + "{% for i in range(2000) %}{% if " + std::string(expression) +
         " %}{% endif %}{% endfor %}";
}

}  // namespace

BOOST_AUTO_TEST_CASE(operations_on_texts_count_the_bytes_they_look_at) {
  constexpr auto texts = "{% set a = 'a' * 20000 %}{% set b = 'a' * 19999 + 'a' %}";
  for (const auto* look : {"a|length",
                           "a.startswith(b)",
                           "a.endswith((b, b))",
                           "a == b",
                           "a < b",
                           "a in b",
                           "a is lower",
                           "a.isalpha()",
                           "a.istitle()",
                           "a.find('b')",
                           "a.rfind('b')",
                           "a.index('a' * 9)",
                           "a.count('b')",
                           "a.strip('a')",
                           "a.strip(b + 'b')",
                           "'x'.strip(a)",
                           "a|float",
                           "a|int",
                           "a|wordcount",
                           "a|title",
                           "a.upper()",
                           "a.swapcase()",
                           "a.casefold()",
                           "'x'|truncate(90000, false, a)",
                           "a|truncate(10)",
                           "a[-1]",
                           "a[15000]",
                           "a[1:2]",
                           "a[::-1]",
                           "a.split('b')",
                           "a.rsplit('b' * 20)",
                           "a.replace('b', 'c')",
                           "a.partition('b')",
                           "a.rpartition('b' * 30)",
                           "a.format()",
                           "a % ()",
                           "'%s'|format(a)",
                           "'%(x)s' % {'x': a}",
                           "a|tojson",
                           "[a]|string",
                           "{a: 1}",
                           "{'x': 1}[a]",
                           "{'x': 1}.get(a)",
                           "a|trim",
                           "a|e",
                           "a|forceescape",
                           "a|urlencode",
                           "a|indent",
                           "a|wordwrap(100000)",
                           "a.isidentifier()",
                           "a.isprintable()",
                           "a.isascii()",
                           "a.removeprefix(b)",
                           "a.removesuffix(b)",
                           "a.ljust(10)",
                           "a.zfill(3)",
                           "a ~ 'b'",
                           "[a, b]|join",
                           "[a, b]|sort",
                           "[a, b]|unique|list",
                           "[a, b]|max",
                           "'x'.join([a])",
                           "[a]|map('length')|list",
                           "a.splitlines()",
                           "a.expandtabs()",
                           "a|list",
                           "a|first",
                           "a is in b",
                           "(a, a) == (b, b)",
                           "{'k': a} == {'k': b}",
                           "[a] in [[b]]",
                           "a|string",
                           "a|safe",
                           "(a|safe) + '&'",
                           "a.title()",
                           "a.capitalize()",
                           "'{:>10}'.format(a)",
                           "'{0!r}'.format(a)",
                           "a|center(10)",
                           "a|batch(3)|list",
                           "a|reverse",
                           "{'k': a}|xmlattr",
                           "'{:30000.2}'.format(a)",
                           "[a]|map('float')|list",
                           "loop.changed(a)",
                           "cycler(a, b).next()|trim"}) {
    BOOST_TEST(names_a_limit(outcome(repeating(look, texts))), look);
  }
}

BOOST_AUTO_TEST_CASE(operations_on_lists_count_the_items_they_visit) {
  constexpr auto lists = "{% set l = [0] * 5000 %}{% set d = dict(range(1000)|map('string')|batch(2)) %}";
  for (const auto* visit : {"l|sum",
                            "l|max",
                            "l|min",
                            "l|sort",
                            "l|unique|list",
                            "l|join",
                            "l == l",
                            "l < l",
                            "1 in l",
                            "1 is in l",
                            "l.count(1)",
                            "l|reverse|list",
                            "l[::-1]",
                            "l|batch(3)|list",
                            "l|slice(3)|list",
                            "l|select|list",
                            "l|map('int')|list",
                            "l|tojson",
                            "l|string",
                            "l + [1]",
                            "l * 2",
                            "range(5000)|sum",
                            "l|join('xxx')",
                            "l|tojson(separators=('x' * 1000, 'y'))",
                            "l|tojson(indent='xxxx')",
                            "cycler(*l).next()",
                            "loop.cycle(*l)",
                            "dict(l|batch(2))",
                            "dict(d)",
                            "dict(**d)",
                            "namespace(**d)",
                            "d|dictsort",
                            "d|tojson(sort_keys=true)",
                            "d == dict(d)",
                            "d.items()",
                            "d.values()",
                            "d|list",
                            "'{x}'.format(x=1, **d)",
                            "'%(x)s'|format(**d)",
                            "d.keys() == dict(d).keys()"}) {
    BOOST_TEST(names_a_limit(outcome(repeating(visit, lists))), visit);
  }
}

BOOST_AUTO_TEST_CASE(what_is_shared_is_visited_again_each_time) {
  for (auto [leaf, pair] : {std::pair("[1]", "[X, X]"), {"(1,)", "(X, X)"}, {"{'c': 1}", "{'a': X, 'b': X}"}}) {
    const auto grown = [&, pair = std::string_view(pair)](const std::string& name) {
      std::string next;
      for (const char c : pair) next += c == 'X' ? "ns." + name : std::string(1, c);
      return "{% set ns." + name + " = " + next + " %}";
    };
    const auto tree = "{% set ns = namespace(x=" + std::string(leaf) + ", y=" + leaf + ") %}{% for i in range(60) %}" +
                      grown("x") + grown("y") + "{% endfor %}";
    for (const auto* walk :
         {"ns.x == ns.y", "ns.x in [ns.y]", "ns.x", "ns.x|tojson", "ns.x|string", "'%s' % [ns.x]", "'{}'.format(ns.x)",
          "ns.x is eq ns.y", "ns.x ~ 'a'", "[ns.x].count(ns.y)", "ns.x|e", "{'a': ns.x}|xmlattr", "ns.x|trim",
          "{'a': ns.x} == {'a': ns.y}", "raise_exception(ns.x)", "dict(a=ns.x).items()|string"}) {
      BOOST_TEST(names_a_limit(outcome(tree + "{{ " + walk + " }}")), leaf << ' ' << walk);
    }
  }
  constexpr auto tuples =
      "{% set ns = namespace(x=(1,)) %}{% for i in range(60) %}{% set ns.x = (ns.x, ns.x) %}{% endfor %}";
  for (const auto* walk : {"{ns.x: 1}", "{1: 1}[ns.x]", "{1: 1}.get(ns.x)", "[ns.x]|unique|list", "ns.x in {1: 1}",
                           "ns.x < ns.x", "dict([(ns.x, 1)])"}) {
    BOOST_TEST(names_a_limit(outcome(tuples + ("{{ " + std::string(walk) + " }}"))), walk);
  }
}

BOOST_AUTO_TEST_CASE(names_paths_and_blocks_count) {
  const std::string loop = "{% for i in range(9000) %}";
  const std::string name(5000, 'n');
  for (const auto& source :
       {"{% set " + name + " = 1 %}" + loop + "{% if " + name + " %}{% endif %}{% endfor %}",
        "{% set d = {} %}" + loop + "{% if d." + name + " %}{% endif %}{% endfor %}",
        "{% set ns = namespace() %}{% set ns.x = ns %}{% set p = 'x.' * 9000 ~ 'x' %}" + loop +
            "{% if [ns]|map(attribute=p)|list %}{% endif %}{% endfor %}",
        "{% set ns = namespace() %}{% set ns.x = ns %}{% set p = '{0' ~ '.x' * 9000 ~ '.y}' %}" + loop +
            "{% if p.format(ns) %}{% endif %}{% endfor %}",
        "{% macro m(a) %}{{ kwargs|length }}{% endmacro %}{% set d = dict(range(2000)|map('string')|batch(2)) %}" +
            loop + "{% if m(1, **d) %}{% endif %}{% endfor %}"}) {
    BOOST_TEST(names_a_limit(outcome(source)), source.substr(0, 60));
  }
  std::string nested;
  for (int i = 0; i < 30; ++i) nested += "{% for i in [1] %}";
  nested += loop + loop + "{% if zz %}{% endif %}";
  for (int i = 0; i < 32; ++i) nested += "{% endfor %}";
  BOOST_TEST(names_a_limit(outcome(nested)));
}

BOOST_AUTO_TEST_CASE(memory_is_accounted_for_before_it_is_taken) {
  constexpr auto big = "{% set a = '&' * 1000000 %}{% set c = '\x01' * 1000000 %}";
  constexpr template_limits limits{.max_bytes = 8 * mebibyte, .max_bytes_read = 64 * mebibyte};
  std::string sum = "a";
  for (int i = 0; i < 200; ++i) sum += " ~ a";
  for (const auto& grow : {sum, std::string("a|forceescape"), std::string("c|tojson"), std::string("[c]|string"),
                           std::string("'%a' % [c]"), std::string("range(100)|join(a)"),
                           std::string("a.replace('', a)"), std::string("a|batch(1)|map('join')|join(a)"),
                           std::string("[0]|tojson(indent=a) ~ range(99)|list|tojson(indent=a)"),
                           std::string("([1] * 99)|tojson(separators=(a, a))"),
                           std::string("'\t'.expandtabs(99999999)"), std::string("'a'.center(99999999)"),
                           std::string("a.splitlines() * 99999999"), std::string("(a ~ 'b').split('&')")}) {
    BOOST_TEST(outcome(big) == "rendered 0 bytes of text");
    const allocation_watch watch;
    BOOST_TEST(mentions(outcome(big + ("{% set r = " + grow + " %}"), limits), "limit of 8388608 bytes"),
               grow.substr(0, 40));
    BOOST_TEST(watch.largest() < 40 * mebibyte, grow.substr(0, 40));
  }
  BOOST_TEST(mentions(outcome("{% set a = 'a' * 300000 %}{% set ns = namespace(k=[]) %}{% for i in range(99) %}"
                              "{% set ns.k = ns.k + [{a: 1}] %}{% endfor %}"),
                      "bytes"));
}

BOOST_AUTO_TEST_CASE(messages_of_a_template_are_cut) {
  BOOST_TEST(outcome("{{ raise_exception('a' * 1000000) }}").size() < 2100u);
  BOOST_TEST(outcome("{{ " + std::string(100000, '9') + " }}").size() < 2100u);
  BOOST_TEST(outcome("{% " + std::string(100000, 'x') + " %}").size() < 2100u);
  BOOST_TEST(outcome("{{ '" + std::string(100000, 'n') + "'|" + std::string(100000, 'f') + " }}").size() < 2100u);
}

BOOST_AUTO_TEST_CASE(ordinary_looks_are_free_of_the_size) {
  constexpr auto text = "{% set a = 'a' * 20000 %}{% set l = [0] * 5000 %}";
  for (const auto* look : {"a is string", "a is defined", "a|default('x')", "a.startswith('<think>')", "a[0]",
                           "a == 'x'", "l|length", "l|first", "l|last", "l[0]", "a is none", "not a", "a and 1"}) {
    BOOST_TEST(outcome(repeating(look, text)) == "rendered 0 bytes of text", look);
  }
}

BOOST_AUTO_TEST_CASE(numbers_that_differ_are_different_keys) {
  BOOST_TEST(chat_template("{{ {0.1: 1, 0.1000001: 2, 1: 3, 1.0: 4, true: 5}|tojson }}").render({}) ==
             R"({"0.1": 1, "0.1000001": 2, "1": 5})");
}

BOOST_AUTO_TEST_SUITE_END()
