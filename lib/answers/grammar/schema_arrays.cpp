// The items of arrays.
#include "answers/grammar/counted_repetition.hpp"
#include "answers/grammar/item_sequences.hpp"
#include "answers/grammar/schema_writer.hpp"

#include <algorithm>

namespace cogen::grammar {
namespace {

namespace json = boost::json;

constexpr std::uint64_t max_items = 100'000;
const std::string separator = R"("," ws)";

/// Whether a case has such a keyword that asks something.
bool asks_for_distinct_items(const schema_case& applied) {
  return std::ranges::any_of(applied, [](const applied_schema& part) {
    const auto* unique = member(*part.schema, "uniqueItems");
    return unique && unique->get_bool();
  });
}

std::vector<const json::value*> contained_of(const schema_case& applied) {
  std::vector<const json::value*> found;
  for (const auto& each : applied) {
    const auto* min = member(*each.schema, "minContains");
    const bool asks_nothing = min && number_of(*min) == 0 && !member(*each.schema, "maxContains");
    if (member(*each.schema, "contains") && !asks_nothing) found.push_back(each.schema);
  }
  return found;
}

}  // namespace

std::optional<std::string> schema_writer::array(const schema_case& applied) {
  auto count = cases_.count_of(applied, "minItems", "maxItems");
  const auto prefix = cases_.prefix_of(applied);
  for (std::size_t i = 0; i <= prefix && i < count.max; ++i)
    if (cases_.is_empty(cases_.item_of(applied, i))) count.max = i;
  if (count.min > count.max) return std::nullopt;
  if (count.min > max_items)
    cases_.refuse(applied, {"minItems"}, "minItems is supported up to " + std::to_string(max_items) + " items");
  const bool are_distinct = asks_for_distinct_items(applied) && count.max > 1;
  const bool are_contained = !contained_of(applied).empty();
  if (are_distinct && !are_contained)
    if (const auto values = prefix == 0 ? listed_values(cases_.item_of(applied, 0)) : std::nullopt) {
      if (values->size() < count.min) return std::nullopt;
      if (values->size() <= max_items_in_any_order) return few_distinct_items(*values, count);
    }
  const auto open = are_distinct ? distinct_bracket(applied, prefix, count) : literal("[");
  const auto content =
      are_contained ? items_with_contained(applied, prefix, count) : std::optional(items(applied, prefix, count));
  if (!content) return std::nullopt;
  return sequence({open, "ws", *content, literal("]")});
}

/// From the last of the items with schemas of their own to the first one: there may be thousands.
std::string schema_writer::items(const schema_case& applied, std::size_t prefix, repetition count) {
  const auto own = static_cast<std::size_t>(std::min<std::uint64_t>(prefix, count.max));
  std::vector<std::string> first;
  for (std::size_t i = 0; i < own; ++i) first.push_back(item(applied, i));
  auto result = own == count.max ? literal("") : items_alike(applied, own, count);
  for (auto done = own; done-- > 0;) {
    const auto rest = rules_.new_name("items");
    rules_.add(rest, result);
    result = done == 0 ? sequence({first[done], rest}) : sequence({separator, first[done], rest});
    if (done >= count.min) result = optional(result);
  }
  return result;
}

std::string schema_writer::item(const schema_case& applied, std::size_t index) {
  return sequence({rule_of(cases_.item_of(applied, index)), "ws"});
}

std::string schema_writer::items_alike(const schema_case& applied, std::size_t done, repetition count) {
  const auto element = item(applied, done);
  const auto min = less(count.min, done), max = less(count.max, done);
  if (done > 0) return counted(sequence({separator, element}), {min, max}, rules_);
  const auto items = sequence({element, counted(sequence({separator, element}), {less(min, 1), less(max, 1)}, rules_)});
  return min == 0 ? optional(items) : items;
}

std::optional<std::string> schema_writer::items_with_contained(const schema_case& applied, std::size_t prefix,
                                                               repetition count) {
  const auto contained = contained_of(applied);
  if (contained.size() > 1) return items_of_kinds(applied, prefix, count);
  const auto& schema = *contained.front();
  const auto& wanted = *member(schema, "contains");
  const auto bound = [&](const char* keyword, std::uint64_t otherwise) {
    const auto* value = member(schema, keyword);
    return value ? count_value(*value) : otherwise;
  };
  const repetition times{bound("minContains", 1), bound("maxContains", repetition::unlimited)};
  const auto rule_with = [&](std::size_t index, const json::value* also) -> std::optional<std::string> {
    auto item = cases_.item_of(applied, index);
    if (also) item.insert(also);
    if (cases_.is_empty(item)) return std::nullopt;
    return sequence({rule_of(item), "ws"});
  };
  const auto* remaining = times.max == repetition::unlimited ? nullptr : &cases_.without(wanted);
  return kept(applied, {"contains"}, [&] {
    return add_item_sequence({.item = [&](std::size_t index) { return rule_with(index, remaining); },
                              .wanted = [&](std::size_t index) { return rule_with(index, &wanted); },
                              .own_schemas = prefix,
                              .count = count,
                              .times = times},
                             rules_);
  });
}

std::optional<std::string> schema_writer::items_of_kinds(const schema_case& applied, std::size_t prefix,
                                                         repetition count) {
  const auto contained = contained_of(applied);
  const bool are_counted = std::ranges::any_of(contained, [](const json::value* schema) {
    return member(*schema, "maxContains") || (member(*schema, "minContains") && *member(*schema, "minContains") != 1);
  });
  if (are_counted || contained.size() > max_item_kinds)
    cases_.refuse(applied, {"contains"},
                  "several \"contains\" are supported without bounds, up to " + std::to_string(max_item_kinds));
  const auto item_of = [&](std::size_t index, std::uint32_t kinds) -> std::optional<std::string> {
    auto item = cases_.item_of(applied, index);
    for (std::size_t i = 0; i < contained.size(); ++i)
      if ((kinds >> i & 1) != 0) item.insert(member(*contained[i], "contains"));
    if (cases_.is_empty(item)) return std::nullopt;
    return sequence({rule_of(item), "ws"});
  };
  return kept(applied, {"contains"}, [&] {
    return add_item_kinds({.item = item_of, .kinds = contained.size(), .own_schemas = prefix, .count = count}, rules_);
  });
}

std::optional<std::string> schema_writer::few_distinct_items(const std::vector<json::value>& values, repetition count) {
  std::vector<std::string> written;
  for (const auto& each : values) written.push_back(sequence({ebnf_of_value(each), "ws"}));
  const auto items = add_distinct_items(written, count, rules_);
  if (!items) return std::nullopt;
  return sequence({literal("["), "ws", *items, literal("]")});
}

/// Where an item is needed, there has to be one that did not come yet.
std::string schema_writer::distinct_bracket(const schema_case& applied, std::size_t prefix, repetition count) {
  schema_set wanted;
  auto needed = count.min;
  for (const auto* schema : contained_of(applied)) {
    wanted.insert(member(*schema, "contains"));
    const auto* min = member(*schema, "minContains");
    needed = std::max(needed, min ? count_value(*min) : 1);
    if (member(*schema, "maxContains"))
      cases_.refuse(applied, {"uniqueItems"}, "\"uniqueItems\" beside \"maxContains\" is not supported");
  }
  for (std::size_t i = 0; needed > 1 && i <= prefix && i < needed; ++i) {
    auto item = cases_.item_of(applied, i);
    for (const auto* each : wanted) item.insert(each);
    if (!cases_.has_values(item, needed))
      cases_.refuse(applied, {"uniqueItems"},
                    "\"uniqueItems\" of " + std::to_string(needed) +
                        " items or more is supported where it is plain that there are as many values");
  }
  const auto item = cases_.item_of(applied, prefix);
  return rules_.add_bracket('[', {.endless = prefix == 0 && wanted.empty() && are_endless_strings(item)});
}

/// Each of them may go on, whatever it has to differ from.
bool schema_writer::are_endless_strings(const schema_set& schemas) {
  const auto cases = cases_.expand(schemas);
  return !cases.empty() && std::ranges::all_of(cases, [&](const schema_case& alternative) {
    const auto is_other = [&](value_type type) {
      return type != value_type::string && cases_.allows(alternative, type);
    };
    if (cases_.values_of(alternative) || std::ranges::any_of(all_value_types, is_other)) return false;
    const auto strings = cases_.strings_of(alternative);
    return strings.lengths.max == repetition::unlimited && strings.patterns.empty() && strings.denied.empty() &&
           strings.excluded.empty();
  });
}

std::optional<std::vector<json::value>> schema_writer::listed_values(const schema_set& schemas) {
  std::vector<json::value> values;
  const auto add_value = [&](const json::value& value) {
    if (std::ranges::none_of(values, [&](const json::value& known) { return are_equal(known, value); }))
      values.push_back(value);
  };
  for (const auto& each : cases_.expand(schemas)) {
    if (const auto listed = cases_.values_of(each)) {
      for (const auto& value : *listed) add_value(value);
      continue;
    }
    for (const auto type : {value_type::number, value_type::string, value_type::array, value_type::object})
      if (cases_.allows(each, type)) return std::nullopt;
    if (cases_.allows(each, value_type::null)) add_value(nullptr);
    if (cases_.allows(each, value_type::boolean))
      for (const bool value : {true, false})
        if (cases_.allows(each, value)) add_value(value);
  }
  return values;
}

}  // namespace cogen::grammar
