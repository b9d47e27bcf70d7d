#include "text/jinja/expressions.hpp"

#include "text/jinja/callables.hpp"
#include "text/jinja/conversions.hpp"

namespace cogen::text::jinja {
namespace {

arguments evaluated(renderer& run, const argument_list& given) {
  arguments result;
  for (const auto& argument : given.positional) result.positional.push_back(argument->evaluate(run));
  for (const auto& [name, argument] : given.named) result.named.emplace_back(name, argument->evaluate(run));
  return result;
}

value or_undefined(renderer& run, const expression_ptr& part) { return part ? part->evaluate(run) : value(); }

value named(value found, const std::string& name) { return found.is_undefined() ? value(undefined{&name}) : found; }

}  // namespace

value variable::compute(renderer& run) const {
  auto* found = run.variables()->find(name_);
  if (found) return named(*found, name_);
  return find_function(name_) ? value(uncalled_function{&name_}) : value(undefined{&name_});
}

attribute::attribute(std::size_t line, expression_ptr object, std::string name)
    : expression(line), object_(std::move(object)), name_(std::move(name)) {
  contains(*object_);
}

value attribute::compute(renderer& run) const {
  auto object = object_->evaluate(run);
  if (has_method(object, name_)) return uncalled_function{&name_};
  return named(member_of(run, object, trusted_text(name_)), name_);
}

subscript::subscript(std::size_t line, expression_ptr object, expression_ptr key)
    : expression(line), object_(std::move(object)), key_(std::move(key)) {
  contains(*object_);
  contains(*key_);
}

value subscript::compute(renderer& run) const {
  auto object = object_->evaluate(run);
  return member_of(run, object, key_->evaluate(run));
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
  auto begin = or_undefined(run, where_.begin);
  auto end = or_undefined(run, where_.end);
  return slice_of(run, object, begin, end, or_undefined(run, where_.step));
}

call_by_name::call_by_name(std::size_t line, std::string name, argument_list given)
    : expression(line), name_(std::move(name)), given_(std::move(given)) {
  contains(given_);
}

value call_by_name::compute(renderer& run) const {
  auto given = evaluated(run, given_);
  if (auto* found = run.variables()->find(name_)) {
    if (auto* called = found->function()) return call_macro(run, *called, given);
    run.fail("'" + name_ + "' is " + kind_of(*found) + " and cannot be called");
  }
  if (auto call = find_function(name_)) return call(run, given);
  run.fail("'" + name_ + "' is undefined and cannot be called");
}

call_of_method::call_of_method(std::size_t line, expression_ptr object, std::string name, argument_list given)
    : expression(line), object_(std::move(object)), name_(std::move(name)), given_(std::move(given)) {
  contains(*object_);
  contains(given_);
}

value call_of_method::compute(renderer& run) const {
  auto object = object_->evaluate(run);
  return call_method(run, object, name_, evaluated(run, given_));
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

negation::negation(std::size_t line, kind what, expression_ptr operand)
    : expression(line), what_(what), operand_(std::move(operand)) {
  contains(*operand_);
}

value negation::compute(renderer& run) const {
  auto operand = operand_->evaluate(run);
  if (what_ == kind::logical) return !is_true(operand);
  auto minus = negated(run, operand);
  return what_ == kind::minus ? minus : operand;
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
  for (const auto& part : parts_) text.append(as_text(run, part->evaluate(run)));
  return run.make_text(std::move(text));
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
  for (const auto& [key, what] : items_) {
    contains(*key);
    contains(*what);
  }
}

value dictionary_literal::compute(renderer& run) const {
  dictionary result;
  for (const auto& [key_part, what] : items_) {
    auto key = key_part->evaluate(run);
    if (!key.text() && !key.number() && !key.is_none()) run.fail(kind_of(key) + " cannot be the key of a dictionary");
    run.charge(sizeof(dictionary::item));
    result.insert(key, what->evaluate(run));
  }
  return run.checked(std::move(result));
}

}  // namespace cogen::text::jinja
