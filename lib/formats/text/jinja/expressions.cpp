#include "formats/text/jinja/expressions.hpp"

#include "formats/text/jinja/callables.hpp"
#include "formats/text/jinja/conversions.hpp"
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

arguments with_caller(renderer& run, arguments given, const value* caller) {
  if (caller) append_named(run, given, "caller", *caller);
  return given;
}

value or_undefined(renderer& run, const expression_ptr& part) { return part ? part->evaluate(run) : value(); }
value or_none(renderer& run, const expression_ptr& part) { return part ? part->evaluate(run) : value(none{}); }

value named(value found, const std::string& name) { return found.is_undefined() ? value(undefined{&name}) : found; }

}  // namespace

arguments evaluated(renderer& run, const argument_list& given) {
  arguments result;
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

value variable::compute(renderer& run) const {
  auto* found = run.find(name_);
  if (found) return named(*found, name_);
  auto* function = find_function(name_);
  return function ? value(function) : value(undefined{&name_});
}

attribute::attribute(std::size_t line, expression_ptr object, std::string name)
    : expression(line), object_(std::move(object)), name_(std::move(name)) {
  contains(*object_);
}

value attribute::compute(renderer& run) const {
  auto object = object_->evaluate(run);
  run.look_at(name_.size());
  return named(attribute_of(run, object, trusted_text(name_)), name_);
}

subscript::subscript(std::size_t line, expression_ptr object, expression_ptr key)
    : expression(line), object_(std::move(object)), key_(std::move(key)) {
  contains(*object_);
  contains(*key_);
}

value subscript::compute(renderer& run) const {
  auto object = object_->evaluate(run);
  return item_of(run, object, key_->evaluate(run));
}

slice::slice(std::size_t line, expression_ptr object, bounds where)
    : expression(line), object_(std::move(object)), where_(std::move(where)) {
  contains(*object_);
  for (auto* bound : {where_.begin.get(), where_.end.get(), where_.step.get()}) {
    if (bound) contains(*bound);
  }
}

value slice::compute(renderer& run) const {
  auto object = object_->evaluate(run);
  auto begin = or_none(run, where_.begin);
  auto end = or_none(run, where_.end);
  return slice_of(run, object, begin, end, or_none(run, where_.step));
}

call_of_value::call_of_value(std::size_t line, expression_ptr callee, argument_list given)
    : call(line), callee_(std::move(callee)), given_(std::move(given)) {
  contains(*callee_);
  contains(given_);
}

value call_of_value::compute_with(renderer& run, const value* caller) const {
  auto callee = callee_->evaluate(run);
  auto* named = dynamic_cast<const variable*>(callee_.get());
  auto given = with_caller(run, evaluated(run, given_), caller);
  return call_value(run, callee, named ? std::string_view(named->name()) : std::string_view(), given);
}

call_of_method::call_of_method(std::size_t line, expression_ptr object, std::string name, argument_list given)
    : call(line), object_(std::move(object)), name_(std::move(name)), given_(std::move(given)) {
  contains(*object_);
  contains(given_);
}

value call_of_method::compute_with(renderer& run, const value* caller) const {
  auto object = object_->evaluate(run);
  return call_method(run, object, name_, with_caller(run, evaluated(run, given_), caller));
}

filtered::filtered(std::size_t line, expression_ptr input, std::string name, argument_list given)
    : expression(line),
      input_(std::move(input)),
      name_(std::move(name)),
      apply_(find_filter(name_)),
      given_(std::move(given)) {
  contains(*input_);
  contains(given_);
}

value filtered::compute(renderer& run) const {
  if (!apply_) run.fail("the filter '" + name_ + "' is unknown");
  auto input = input_->evaluate(run);
  return apply_(run, input, evaluated(run, given_));
}

tested::tested(std::size_t line, expression_ptr input, std::string name, argument_list given)
    : expression(line),
      input_(std::move(input)),
      name_(std::move(name)),
      check_(find_test(name_)),
      given_(std::move(given)) {
  contains(*input_);
  contains(given_);
}

value tested::compute(renderer& run) const {
  if (!check_) run.fail("the test '" + name_ + "' is unknown");
  auto input = input_->evaluate(run);
  return check_(run, input, evaluated(run, given_));
}

negation::negation(std::size_t line, kind operation, expression_ptr operand)
    : expression(line), operation_(operation), operand_(std::move(operand)) {
  contains(*operand_);
}

value negation::compute(renderer& run) const {
  auto operand = operand_->evaluate(run);
  if (operation_ == kind::logical) return !is_true(operand);
  auto minus = negated(run, operand);
  if (operation_ == kind::minus) return minus;
  return operand.is<bool>() ? value(*operand.integer()) : operand;
}

calculation::calculation(std::size_t line, arithmetic operation, expression_ptr left, expression_ptr right)
    : expression(line), operation_(operation), left_(std::move(left)), right_(std::move(right)) {
  contains(*left_);
  contains(*right_);
}

value calculation::compute(renderer& run) const {
  auto left = left_->evaluate(run);
  return calculate(run, operation_, left, right_->evaluate(run));
}

concatenation::concatenation(std::size_t line, std::vector<expression_ptr> parts)
    : expression(line), parts_(std::move(parts)) {
  for (const auto& part : parts_) contains(*part);
}

value concatenation::compute(renderer& run) const {
  traced_text text;
  for (const auto& part : parts_) {
    auto more = as_text(run, part->evaluate(run));
    run.charge(more.content_bytes());
    text.append(more);
  }
  return text;
}

comparison_chain::comparison_chain(std::size_t line, expression_ptr first, std::vector<link> links)
    : expression(line), first_(std::move(first)), links_(std::move(links)) {
  contains(*first_);
  for (const auto& [operation, operand] : links_) contains(*operand);
}

value comparison_chain::compute(renderer& run) const {
  auto left = first_->evaluate(run);
  for (const auto& [operation, operand] : links_) {
    auto right = operand->evaluate(run);
    if (!compare(run, operation, left, right)) return false;
    left = right;
  }
  return true;
}

connective::connective(std::size_t line, bool is_and, expression_ptr left, expression_ptr right)
    : expression(line), is_and_(is_and), left_(std::move(left)), right_(std::move(right)) {
  contains(*left_);
  contains(*right_);
}

value connective::compute(renderer& run) const {
  auto left = left_->evaluate(run);
  return is_true(left) == is_and_ ? right_->evaluate(run) : left;
}

conditional::conditional(std::size_t line, expression_ptr then, expression_ptr condition, expression_ptr otherwise)
    : expression(line), then_(std::move(then)), condition_(std::move(condition)), otherwise_(std::move(otherwise)) {
  contains(*then_);
  contains(*condition_);
  if (otherwise_) contains(*otherwise_);
}

value conditional::compute(renderer& run) const {
  return is_true(condition_->evaluate(run)) ? then_->evaluate(run) : or_undefined(run, otherwise_);
}

list_literal::list_literal(std::size_t line, std::vector<expression_ptr> items, bool is_tuple)
    : expression(line), items_(std::move(items)), is_tuple_(is_tuple) {
  for (const auto& item : items_) contains(*item);
}

value list_literal::compute(renderer& run) const {
  std::vector<value> items;
  for (const auto& item : items_) items.push_back(item->evaluate(run));
  return run.make_list(std::move(items), is_tuple_);
}

dictionary_literal::dictionary_literal(std::size_t line, std::vector<item> items)
    : expression(line), items_(std::move(items)) {
  for (const auto& [key, member] : items_) {
    contains(*key);
    contains(*member);
  }
}

value dictionary_literal::compute(renderer& run) const {
  dictionary result;
  for (const auto& [key_part, member] : items_) {
    auto key = key_part->evaluate(run);
    insert(run, result, key, member->evaluate(run));
  }
  return run.checked(std::move(result));
}

}  // namespace cogen::text::jinja
