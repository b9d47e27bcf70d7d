#include "formats/text/jinja/expressions.hpp"

#include "formats/text/jinja/callables.hpp"
#include "formats/text/jinja/conversions.hpp"
#include "formats/text/jinja/statements.hpp"
#include "formats/text/jinja/walks.hpp"

#include <algorithm>

namespace cogen::text::jinja {
namespace {

void append_named(renderer& run, arguments& given, std::string name, value argument) {
  run.visit(given.named.size());
  auto is_it = [&](const auto& entry) { return entry.first == name; };
  if (std::any_of(given.named.begin(), given.named.end(), is_it))
    run.fail("the argument '" + name + "' is given twice");
  given.named.emplace_back(std::move(name), std::move(argument));
}

void append_members(renderer& run, arguments& given, const value& more) {
  auto* members = more.members();
  if (!members) run.fail("'**' needs a dictionary, not " + kind_of(more));
  for (const auto& [key, member] : members->items()) {
    if (!key.text()) run.fail("an argument has a name, not " + kind_of(key));
    append_named(run, given, key.text()->bytes(), member);
  }
}

value or_none(renderer& run, const expression_ptr& part) { return part ? part->evaluate(run) : value(none{}); }

value named(value found, const std::string& name) { return found.is_undefined() ? value(undefined{&name}) : found; }

arguments evaluated(renderer& run, const argument_list_ptr& list) {
  arguments result;
  if (!list) return result;
  const auto& given = *list;
  for (const auto& argument : given.positional) result.positional.push_back(argument->evaluate(run));
  if (given.more_positional) {
    auto more = items_of(run, given.more_positional->evaluate(run));
    run.charge(more->items.size() * sizeof(value));
    result.positional.insert(result.positional.end(), more->items.begin(), more->items.end());
  }
  for (const auto& [name, argument] : given.named) append_named(run, result, name, argument->evaluate(run));
  if (given.more_named) append_members(run, result, given.more_named->evaluate(run));
  return result;
}

/// The value of each kind of node.
struct evaluation {
  renderer& run;

  value operator()(const constant& node) const { return node.content; }

  value operator()(const variable& node) const {
    if (auto* found = run.find(node.name)) return named(*found, node.name);
    auto* function = find_function(node.name);
    return function ? value(function) : value(undefined{&node.name});
  }

  value operator()(const attribute& node) const {
    auto object = node.object->evaluate(run);
    run.look_at(node.name.size());
    return named(attribute_of(run, object, trusted_text(node.name)), node.name);
  }

  value operator()(const subscript& node) const {
    auto object = node.object->evaluate(run);
    return item_of(run, object, node.key->evaluate(run));
  }

  value operator()(const slice& node) const {
    auto object = node.object->evaluate(run);
    auto begin = or_none(run, node.begin);
    auto end = or_none(run, node.end);
    return slice_of(run, object, begin, end, or_none(run, node.step));
  }

  value operator()(const call& node) const { return evaluate(run, node, nullptr); }

  value operator()(const filtered& node) const {
    if (!node.apply) run.fail("the filter '" + node.name + "' is unknown");
    auto input = node.input->evaluate(run);
    return node.apply(run, input, evaluated(run, node.given));
  }

  value operator()(const tested& node) const {
    if (!node.check) run.fail("the test '" + node.name + "' is unknown");
    auto input = node.input->evaluate(run);
    return node.check(run, input, evaluated(run, node.given));
  }

  value operator()(const negation& node) const {
    auto operand = node.operand->evaluate(run);
    if (node.operation == negation::kind::logical) return !is_true(operand);
    auto minus = negated(run, operand);
    if (node.operation == negation::kind::minus) return minus;
    return operand.is<bool>() ? value(*operand.integer()) : operand;
  }

  value operator()(const calculation& node) const {
    auto left = node.left->evaluate(run);
    return calculate(run, node.operation, left, node.right->evaluate(run));
  }

  value operator()(const concatenation& node) const {
    traced_text text;
    for (const auto& part : node.parts) {
      auto more = as_text(run, part->evaluate(run));
      run.charge(more.content_bytes());
      text.append(more);
    }
    return text;
  }

  value operator()(const comparison_chain& node) const {
    auto left = node.first->evaluate(run);
    for (const auto& [operation, operand] : node.links) {
      auto right = operand->evaluate(run);
      if (!compare(run, operation, left, right)) return false;
      left = right;
    }
    return true;
  }

  value operator()(const connective& node) const {
    auto left = node.left->evaluate(run);
    return is_true(left) == node.is_and ? node.right->evaluate(run) : left;
  }

  value operator()(const conditional& node) const {
    if (is_true(node.condition->evaluate(run))) return node.then->evaluate(run);
    return node.otherwise ? node.otherwise->evaluate(run) : value();
  }

  value operator()(const list_literal& node) const {
    std::vector<value> items;
    for (const auto& item : node.items) items.push_back(item->evaluate(run));
    return run.make_list(std::move(items), node.is_tuple);
  }

  value operator()(const dictionary_literal& node) const {
    dictionary result;
    for (const auto& [key_part, member] : node.items) {
      auto key = key_part->evaluate(run);
      insert(run, result, key, member->evaluate(run));
    }
    return run.checked(std::move(result));
  }

  value operator()(const block_text& node) const {
    renderer::capture written(run);
    renderer::block variables(run);
    execute_all(run, *node.body);
    return run.make_text(written.take());
  }
};

}  // namespace

value expression::evaluate(renderer& run) const {
  auto level = run.enter(line);
  return std::visit(evaluation{run}, node);
}

value evaluate(renderer& run, const call& node, const value* caller) {
  auto callee = node.callee->evaluate(run);
  auto given = evaluated(run, node.given);
  if (caller) append_named(run, given, "caller", *caller);
  if (!node.method.empty()) return call_method(run, callee, node.method, given);
  auto* named = std::get_if<variable>(&node.callee->node);
  return call_value(run, callee, named ? std::string_view(named->name) : std::string_view(), given);
}

}  // namespace cogen::text::jinja
