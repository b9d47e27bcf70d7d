#include "formats/text/jinja/operators.hpp"

#include "formats/text/jinja/callables.hpp"
#include "formats/text/jinja/conversions.hpp"
#include "formats/text/jinja/text_operations.hpp"
#include "formats/text/jinja/walks.hpp"
#include "formats/text/utf8.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace cogen::text::jinja {
namespace {

const char* symbol(arithmetic operation) {
  switch (operation) {
    case arithmetic::add:
      return "+";
    case arithmetic::subtract:
      return "-";
    case arithmetic::multiply:
      return "*";
    case arithmetic::divide:
      return "/";
    case arithmetic::floor_divide:
      return "//";
    case arithmetic::modulo:
      return "%";
    default:
      return "**";
  }
}

[[noreturn]] void refuse(renderer& run, arithmetic operation, const value& left, const value& right) {
  run.fail("'" + std::string(symbol(operation)) + "' does not combine " + kind_of(left) + " and " + kind_of(right));
}

std::int64_t whole(renderer& run, bool overflowed, std::int64_t result) {
  if (overflowed) run.fail("an integer exceeds 64 bits");
  return result;
}

std::int64_t floor_quotient(std::int64_t left, std::int64_t right) {
  auto quotient = left / right;
  return left % right != 0 && (left < 0) != (right < 0) ? quotient - 1 : quotient;
}

void require_divisor(renderer& run, double divisor) {
  if (divisor == 0) run.fail("division by zero");
}

value power_of(renderer& run, double base, double exponent) {
  if (base == 0 && exponent < 0) run.fail("division by zero");
  auto power = std::pow(base, exponent);
  bool is_complex = std::isnan(power) && !std::isnan(base) && !std::isnan(exponent);
  if (is_complex || (std::isinf(power) && std::isfinite(base) && std::isfinite(exponent))) {
    run.fail("the power is not within the range of numbers");
  }
  return power;
}

value power_of(renderer& run, std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return power_of(run, static_cast<double>(base), static_cast<double>(exponent));
  std::int64_t result = 1;
  bool overflowed = false;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) overflowed |= __builtin_mul_overflow(result, base, &result);
    if (exponent > 1) overflowed |= __builtin_mul_overflow(base, base, &base);
    if (overflowed) break;
  }
  return whole(run, overflowed, result);
}

value calculate_whole(renderer& run, arithmetic operation, std::int64_t left, std::int64_t right) {
  std::int64_t result = 0;
  switch (operation) {
    case arithmetic::add:
      return whole(run, __builtin_add_overflow(left, right, &result), result);
    case arithmetic::subtract:
      return whole(run, __builtin_sub_overflow(left, right, &result), result);
    case arithmetic::multiply:
      return whole(run, __builtin_mul_overflow(left, right, &result), result);
    case arithmetic::power:
      return power_of(run, left, right);
    default:
      break;
  }
  require_divisor(run, static_cast<double>(right));
  if (operation == arithmetic::divide) return static_cast<double>(left) / static_cast<double>(right);
  if (right == -1 && left == std::numeric_limits<std::int64_t>::min()) run.fail("an integer exceeds 64 bits");
  auto quotient = floor_quotient(left, right);
  return operation == arithmetic::floor_divide ? quotient : left - quotient * right;
}

value calculate_real(renderer& run, arithmetic operation, double left, double right) {
  switch (operation) {
    case arithmetic::add:
      return left + right;
    case arithmetic::subtract:
      return left - right;
    case arithmetic::multiply:
      return left * right;
    case arithmetic::power:
      return power_of(run, left, right);
    default:
      break;
  }
  require_divisor(run, right);
  if (operation == arithmetic::divide) return left / right;
  if (operation == arithmetic::floor_divide) return std::floor(left / right);
  auto rest = std::fmod(left, right);
  return rest != 0 && (rest < 0) != (right < 0) ? rest + right : rest;
}

value joined(renderer& run, const traced_text& left, const traced_text& right) {
  bool is_markup = left.is_markup() || right.is_markup();
  auto part = [&](const traced_text& text) {
    return is_markup && !text.is_markup() ? escaped(run, text).as_markup() : text;
  };
  run.charge(left.footprint() + right.footprint());
  auto result = part(left);
  result.append(part(right));
  return result;
}

value joined(renderer& run, const list& left, const list& right) {
  run.charge((left.items.size() + right.items.size()) * sizeof(value));
  auto items = left.items;
  items.insert(items.end(), right.items.begin(), right.items.end());
  return run.make_list(std::move(items), left.is_tuple);
}

std::size_t times(std::size_t size, std::int64_t count) {
  std::size_t total = 0;
  auto factor = static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
  return __builtin_mul_overflow(size, factor, &total) ? std::numeric_limits<std::size_t>::max() : total;
}

value repeated(renderer& run, const traced_text& text, std::int64_t count) {
  run.charge(times(text.content_bytes(), count));
  traced_text result;
  for (std::int64_t i = 0; i < count && !text.empty(); ++i) result.append(text);
  return result;
}

value repeated(renderer& run, const list& source, std::int64_t count) {
  run.charge(times(source.items.size() * sizeof(value), count));
  std::vector<value> items;
  for (std::int64_t i = 0; i < count && !source.items.empty(); ++i) {
    items.insert(items.end(), source.items.begin(), source.items.end());
  }
  return run.make_list(std::move(items), source.is_tuple);
}

/// Visits items until one is equal.
bool is_generated(renderer& run, generator& source, const value& element) {
  while (source.next < source.items->items.size()) {
    if (equal(run, source.items->items[source.next++], element)) return true;
  }
  return false;
}

bool contains(renderer& run, const value& container, const value& element) {
  if (auto* text = container.text()) {
    auto* part = element.text();
    if (!part) run.fail("only a text can be in a text, not " + kind_of(element));
    run.look_at(text->size() + part->size());
    return first_place(text->bytes(), part->bytes()) != std::string::npos;
  }
  if (auto* members = container.members()) return members->find_spelled(required_key(run, element)) != nullptr;
  if (auto* source = container.generated()) return is_generated(run, *source, element);
  auto items = items_of(run, container);
  return std::any_of(items->items.begin(), items->items.end(),
                     [&](const auto& item) { return equal(run, item, element); });
}

std::int64_t bound(renderer& run, const value& given, std::int64_t otherwise) {
  if (given.is_none()) return otherwise;
  if (auto number = given.integer()) return *number;
  run.fail("a slice is bounded by integers, not by " + kind_of(given));
}

struct slice_bounds {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t step;
};

std::int64_t clamped(std::int64_t index, std::int64_t size, std::int64_t lowest, std::int64_t highest) {
  return std::clamp(index < 0 ? index + size : index, lowest, highest);
}

slice_bounds bounds_of(renderer& run, std::int64_t size, const value& begin, const value& end, const value& step) {
  auto stride = bound(run, step, 1);
  if (stride == 0) run.fail("a slice cannot step by 0");
  if (stride > 0) {
    return {clamped(bound(run, begin, 0), size, 0, size), clamped(bound(run, end, size), size, 0, size), stride};
  }
  return {clamped(bound(run, begin, size - 1), size, -1, size - 1),
          end.is_none() ? -1 : clamped(bound(run, end, -1), size, -1, size - 1), stride};
}

std::vector<value> sliced(renderer& run, const std::vector<value>& items, slice_bounds bounds) {
  std::vector<value> result;
  auto [index, end, step] = bounds;
  while (step > 0 ? index < end : index > end) {
    run.visit(1);
    result.push_back(items[static_cast<std::size_t>(index)]);
    if (__builtin_add_overflow(index, step, &index)) break;
  }
  return result;
}

value slice_of_text(renderer& run, const traced_text& text, const value& begin, const value& end, const value& step) {
  run.look_at(text.size());
  auto bounds = bounds_of(run, static_cast<std::int64_t>(character_count(text.bytes())), begin, end, step);
  if (bounds.step == 1) {
    auto last = std::max(bounds.begin, bounds.end);
    return run.make_text(text.part(offset_of(text.bytes(), bounds.begin), offset_of(text.bytes(), last)));
  }
  traced_text result;
  for (const auto& character : sliced(run, characters_of(run, text), bounds)) result.append(*character.text());
  return run.make_text(std::move(result));
}

value slice_of_range(renderer& run, const view& range, const value& begin, const value& end, const value& step) {
  auto bounds = bounds_of(run, static_cast<std::int64_t>(range.items->items.size()), begin, end, step);
  auto items = run.make_list(sliced(run, range.items->items, bounds)).shared_items();
  return view{.items = std::move(items),
              .begin = range.begin + bounds.begin * range.step,
              .end = range.begin + bounds.end * range.step,
              .step = range.step * bounds.step};
}

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

bool is_defined(const value& object) { return !object.is_undefined(); }
bool is_undefined(const value& object) { return object.is_undefined(); }
bool is_none(const value& object) { return object.is_none(); }
bool is_text(const value& object) { return object.text() != nullptr; }
bool is_mapping(const value& object) { return object.members() != nullptr; }
bool is_boolean(const value& object) { return object.is<bool>(); }
bool is_integer(const value& object) { return object.is<std::int64_t>(); }
bool is_real(const value& object) { return object.is<double>(); }
bool is_number(const value& object) { return object.number().has_value(); }
bool is_exactly_true(const value& object) { return object.is<bool>() && jinja::is_true(object); }
bool is_exactly_false(const value& object) { return object.is<bool>() && !jinja::is_true(object); }
bool is_callable(const value& object) {
  return object.function() || object.loop() || object.is<bound_method>() || object.is<const named_function*>() ||
         object.is<joiner*>() || object.is_undefined();
}

bool is_sequence(const value& object) {
  return object.text() || object.items() || object.members() || object.is_undefined() || is_range(object);
}

bool is_iterable(const value& object) {
  return is_sequence(object) || object.loop() || object.generated() || object.viewed();
}

bool is_escaped(const value& object) { return object.text() && object.text()->is_markup(); }

template <auto Find>
bool is_known(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "this test", {});
  bool is_unhashable = input.members() || (input.items() && !input.items()->is_tuple);
  if (is_unhashable) run.fail(kind_of(input) + " is not a name");
  return input.text() && Find(input.text()->bytes()) != nullptr;
}

bool has_rest(renderer& run, const value& input, std::int64_t divisor, std::int64_t rest) {
  return equal(run, calculate(run, arithmetic::modulo, input, value(divisor)), value(rest));
}

bool is_odd(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "odd", {});
  return has_rest(run, input, 2, 1);
}

bool is_even(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "even", {});
  return has_rest(run, input, 2, 0);
}

bool is_divisible(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "divisibleby", {"num"});
  return equal(run, calculate(run, arithmetic::modulo, input, bound.at(0)), value(std::int64_t{0}));
}

bool is_same(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "sameas", {"other"});
  const auto& other = bound.at(0);
  if (input.items() || input.members()) return input.items() == other.items() && input.members() == other.members();
  return input.variant().index() == other.variant().index() && equal(run, input, other);
}

bool is_in(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "in", {"seq"});
  return compare(run, comparison::in, input, bound.at(0));
}

template <std::string (*Change)(std::string_view), std::string (*Other)(std::string_view)>
bool is_in_case(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "letter case", {});
  auto text = as_text(run, input);
  run.look_at(2 * text.size());
  run.charge(2 * text.size());
  return Change(text.bytes()) == text.bytes() && Other(text.bytes()) != text.bytes();
}

constexpr std::array<std::pair<std::string_view, value_test>, 39> tests{{
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
    {"escaped", plain<is_escaped>},
    {"even", is_even},
    {"false", plain<is_exactly_false>},
    {"filter", is_known<find_filter>},
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
    {"test", is_known<find_test>},
    {"true", plain<is_exactly_true>},
    {"undefined", plain<is_undefined>},
    {"upper", is_in_case<upper, lower>},
}};

}  // namespace

value calculate(renderer& run, arithmetic operation, const value& left, const value& right) {
  if (auto a = left.integer(), b = right.integer(); a && b) return calculate_whole(run, operation, *a, *b);
  if (auto a = left.number(), b = right.number(); a && b) return calculate_real(run, operation, *a, *b);
  if (operation == arithmetic::add) {
    if (auto *a = left.text(), *b = right.text(); a && b) return joined(run, *a, *b);
    if (auto *a = left.items(), *b = right.items(); a && b && a->is_tuple == b->is_tuple) return joined(run, *a, *b);
  }
  if (operation == arithmetic::modulo && left.text()) return percent_format(run, *left.text(), right);
  if (operation == arithmetic::multiply) {
    const auto& [operand, count] = left.integer() ? std::pair(right, left.integer()) : std::pair(left, right.integer());
    if (count && operand.text()) return repeated(run, *operand.text(), *count);
    if (count && operand.items()) return repeated(run, *operand.items(), *count);
  }
  refuse(run, operation, left, right);
}

value negated(renderer& run, const value& number) {
  if (auto integer = number.integer()) {
    std::int64_t result = 0;
    return whole(run, __builtin_sub_overflow(std::int64_t{0}, *integer, &result), result);
  }
  if (auto real = number.number()) return -*real;
  run.fail("'-' does not apply to " + kind_of(number));
}

bool compare(renderer& run, comparison operation, const value& left, const value& right) {
  switch (operation) {
    case comparison::equal:
      return equal(run, left, right);
    case comparison::unequal:
      return !equal(run, left, right);
    case comparison::less:
      return order(run, left, right) < 0;
    case comparison::less_or_equal:
      return order(run, left, right) <= 0;
    case comparison::greater:
      return order(run, left, right) > 0;
    case comparison::greater_or_equal:
      return order(run, left, right) >= 0;
    case comparison::in:
      return contains(run, right, left);
    default:
      return !contains(run, right, left);
  }
}

value slice_of(renderer& run, const value& object, const value& begin, const value& end, const value& step) {
  if (object.is_undefined()) run.fail(kind_of(object) + ", cannot be sliced");
  if (auto* text = object.text()) return slice_of_text(run, *text, begin, end, step);
  if (auto* items = object.items()) {
    auto bounds = bounds_of(run, static_cast<std::int64_t>(items->items.size()), begin, end, step);
    return run.make_list(sliced(run, items->items, bounds), items->is_tuple);
  }
  if (is_range(object)) return slice_of_range(run, *object.viewed(), begin, end, step);
  run.fail(kind_of(object) + " cannot be sliced");
}

value_test find_test(std::string_view name) { return find_named<value_test>(tests, name); }

}  // namespace cogen::text::jinja
