// The tests that follow the word "is".
#include "text/jinja/callables.hpp"
#include "text/jinja/conversions.hpp"
#include "text/jinja/letter_case.hpp"
#include "text/jinja/operators.hpp"

#include <array>
#include <utility>

namespace cogen::text::jinja {
namespace {

template <bool (*Check)(const value&)>
bool plain(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "this test", {});
  return Check(input);
}

template <comparison Operation>
bool compared(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "this test", {"other"});
  return compare(run, Operation, input, bound.at(0));
}

bool is_defined(const value& what) { return !what.is_undefined(); }
bool is_undefined(const value& what) { return what.is_undefined(); }
bool is_none(const value& what) { return what.is_none(); }
bool is_text(const value& what) { return what.text() != nullptr; }
bool is_mapping(const value& what) { return what.members() != nullptr; }
bool is_boolean(const value& what) { return what.is<bool>(); }
bool is_integer(const value& what) { return what.is<std::int64_t>(); }
bool is_real(const value& what) { return what.is<double>(); }
bool is_number(const value& what) { return what.number().has_value(); }
bool is_exactly_true(const value& what) { return what.is<bool>() && jinja::is_true(what); }
bool is_exactly_false(const value& what) { return what.is<bool>() && !jinja::is_true(what); }
bool is_callable(const value& what) { return what.function() || what.is<uncalled_function>(); }

bool is_iterable(const value& what) {
  return what.text() || what.items() || what.members() || what.is_undefined() || what.loop();
}

bool is_sequence(const value& what) { return what.text() || what.items() || what.members() || what.is_undefined(); }

std::int64_t whole_number(renderer& run, const value& what) {
  if (auto number = what.integer()) return *number;
  run.fail(kind_of(what) + " is no integer");
}

bool is_odd(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "odd", {});
  return whole_number(run, input) % 2 != 0;
}

bool is_even(renderer& run, const value& input, const arguments& given) { return !is_odd(run, input, given); }

bool is_divisible(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "divisibleby", {"num"});
  auto divisor = whole_number(run, bound.at(0));
  if (divisor == 0) run.fail("division by zero");
  return divisor == -1 || whole_number(run, input) % divisor == 0;
}

bool is_same(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "sameas", {"other"});
  return input.variant().index() == bound.at(0).variant().index() && are_equal(input, bound.at(0));
}

bool is_in(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "in", {"seq"});
  return compare(run, comparison::in, input, bound.at(0));
}

template <std::string (*Change)(std::string_view), std::string (*Other)(std::string_view)>
bool is_in_case(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "letter case", {});
  auto text = as_text(run, input);
  return Change(text.bytes()) == text.bytes() && Other(text.bytes()) != text.bytes();
}

constexpr std::array<std::pair<std::string_view, value_test>, 36> tests{{
    {"!=", compared<comparison::unequal>},
    {"<", compared<comparison::less>},
    {"<=", compared<comparison::less_or_equal>},
    {"==", compared<comparison::equal>},
    {">", compared<comparison::greater>},
    {">=", compared<comparison::greater_or_equal>},
    {"boolean", plain<is_boolean>},
    {"callable", plain<is_callable>},
    {"defined", plain<is_defined>},
    {"divisibleby", is_divisible},
    {"eq", compared<comparison::equal>},
    {"equalto", compared<comparison::equal>},
    {"even", is_even},
    {"false", plain<is_exactly_false>},
    {"float", plain<is_real>},
    {"ge", compared<comparison::greater_or_equal>},
    {"greaterthan", compared<comparison::greater>},
    {"gt", compared<comparison::greater>},
    {"in", is_in},
    {"integer", plain<is_integer>},
    {"iterable", plain<is_iterable>},
    {"le", compared<comparison::less_or_equal>},
    {"lessthan", compared<comparison::less>},
    {"lower", is_in_case<lower, upper>},
    {"lt", compared<comparison::less>},
    {"mapping", plain<is_mapping>},
    {"ne", compared<comparison::unequal>},
    {"none", plain<is_none>},
    {"number", plain<is_number>},
    {"odd", is_odd},
    {"sameas", is_same},
    {"sequence", plain<is_sequence>},
    {"string", plain<is_text>},
    {"true", plain<is_exactly_true>},
    {"undefined", plain<is_undefined>},
    {"upper", is_in_case<upper, lower>},
}};

}  // namespace

value_test find_test(std::string_view name) {
  for (const auto& [known, check] : tests) {
    if (known == name) return check;
  }
  return nullptr;
}

}  // namespace cogen::text::jinja
