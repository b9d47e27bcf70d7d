// How many values are valid by schemas, at least.
#include "answers/grammar/schema_cases.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace cogen::grammar {
namespace {

constexpr int max_nested_counts = 8;

std::uint64_t power(std::uint64_t base, std::uint64_t exponent) {
  if (base <= 1) return base;
  std::uint64_t result = 1;
  for (; exponent > 0 && result < repetition::unlimited; --exponent) result = times_at_most(result, base);
  return result;
}

std::uint64_t characters_in(const character_set& set) {
  std::uint64_t count = 0;
  for (const auto& [first, last] : set.ranges()) count += last - first + 1;
  return count;
}

/// Two ways to match may have the same texts: those of one are counted.
std::uint64_t texts_of(const regex_node& node) {
  if (node.type == regex_node::kind::set) return characters_in(node.set);
  if (node.type == regex_node::kind::repeat) {
    const auto& part = node.parts.front();
    const auto texts = texts_of(part);
    if (texts == 0 || node.times.max == 0) return node.times.min == 0 ? 1 : 0;
    if (node.times.max == repetition::unlimited && lengths_of(part).max > 0) return repetition::unlimited;
    return part.type == regex_node::kind::set ? power(texts, node.times.max) : texts;
  }
  std::uint64_t max = node.type == regex_node::kind::sequence ? 1 : 0;
  for (const auto& part : node.parts) {
    const auto texts = texts_of(part);
    if (texts == 0 && node.type == regex_node::kind::sequence) return 0;
    max = std::max(max, texts);
  }
  return max;
}

std::uint64_t texts_of(const string_rules& strings) {
  if (!strings.denied.empty() || strings.patterns.size() > 1) return 1;
  const bool is_plain = strings.patterns.empty();
  const bool has_lengths = strings.lengths != repetition{};
  if (!is_plain && has_lengths && strings.lengths.max != repetition::unlimited) {
    const auto lengths = lengths_of(strings.patterns.begin()->second);
    if (lengths.min < strings.lengths.min || lengths.max > strings.lengths.max) return 1;
  }
  const auto total = is_plain ? texts_of(repeat_of(of_set(character_set::full()), strings.lengths))
                              : texts_of(strings.patterns.begin()->second);
  if (total == repetition::unlimited) return total;
  return total > strings.excluded.size() ? total - strings.excluded.size() : 0;
}

std::uint64_t numbers_in(const number_range& range) {
  if (range.empty()) return 0;
  if (!range.min || !range.max) return repetition::unlimited;
  if (!range.integer) return range.min->value == range.max->value ? 1 : repetition::unlimited;
  const auto value_of = [](const bound& end) { return std::stold(end.value.text()); };
  const auto span = std::floor(value_of(*range.max)) - std::ceil(value_of(*range.min)) - 1;
  return span < 1 ? 1 : static_cast<std::uint64_t>(std::min(span, 1e15L));
}

}  // namespace

bool schema_cases::has_values(const schema_set& schemas, std::uint64_t count) {
  if (is_empty(schemas)) return false;
  if (count <= 1) return true;
  if (++nested_counts_ > max_nested_counts) return --nested_counts_, false;
  const bool has =
      std::ranges::any_of(expand(schemas), [&](const auto& alternative) { return has_values(alternative, count); });
  --nested_counts_;
  return has;
}

bool schema_cases::has_values(const schema_case& applied, std::uint64_t count) {
  if (const auto values = values_of(applied)) return values->size() >= count;
  if (allows(applied, value_type::number)) {
    const auto excluded = excluded_numbers(applied).size();
    const auto range = numbers_of(applied);
    const bool is_bounded = range.min || range.max;
    if (!(is_bounded && !factors_of(applied).empty()) && numbers_in(range) >= count + excluded) return true;
  }
  if (allows(applied, value_type::string) && texts_of(strings_of(applied)) >= count) return true;
  if (allows(applied, value_type::array) && has_arrays(applied, count)) return true;
  return allows(applied, value_type::object) && has_objects(applied, count);
}

bool schema_cases::has_arrays(const schema_case& applied, std::uint64_t count) {
  if (is_empty_array(applied)) return false;
  const auto max = count_of(applied, "minItems", "maxItems").max;
  return max > 0 && has_values(item_of(applied, 0), count);
}

/// By the values of one property: of one that is required, or that may be there besides.
bool schema_cases::has_objects(const schema_case& applied, std::uint64_t count) {
  if (is_empty_object(applied)) return false;
  const auto required = required_of(applied);
  if (std::ranges::any_of(required, [&](const auto& name) { return has_values(property_of(applied, name), count); }))
    return true;
  if (count_of(applied, "minProperties", "maxProperties").max <= required.size()) return false;
  for (const auto& each : applied)
    if (const auto* properties = member(*each.schema, "properties"))
      for (const auto& property : properties->get_object())
        if (has_values(property_of(applied, std::string(property.key())), count)) return true;
  const bool names_are_free = std::ranges::none_of(applied, [](const applied_schema& part) {
    return member(*part.schema, "propertyNames") || member(*part.schema, "patternProperties");
  });
  return names_are_free && !is_empty(other_property_of(applied, {}));
}

}  // namespace cogen::grammar
