#include "text/jinja/statements.hpp"

#include "text/jinja/callables.hpp"
#include "text/jinja/conversions.hpp"

#include <algorithm>

namespace cogen::text::jinja {
namespace {

struct assignment {
  renderer& run;
  const value& source;

  void operator()(const std::string& name) const { run.variables()->set(name, source); }

  void operator()(const names& all) const {
    auto items = items_of(run, source);
    if (items->items.size() != all.size()) {
      run.fail("cannot assign " + std::to_string(items->items.size()) + " items to " + std::to_string(all.size()) +
               " variables");
    }
    for (std::size_t i = 0; i < all.size(); ++i) run.variables()->set(all[i], items->items[i]);
  }

  void operator()(const member_name& to) const {
    auto* found = run.variables()->find(to.space);
    auto* space = found ? found->space() : nullptr;
    if (!space) run.fail("'" + to.space + "' is no namespace, so its members cannot be set");
    run.charge(to.member.size() + sizeof(value));
    space->members[to.member] = source;
  }
};

using parameter = macro_statement::parameter;

const value* named_argument(const arguments& given, std::string_view name) {
  auto found = std::find_if(given.named.begin(), given.named.end(), [&](const auto& one) { return one.first == name; });
  return found == given.named.end() ? nullptr : &found->second;
}

void refuse_unknown(renderer& run, const macro_statement::parts& content, const arguments& given) {
  const auto& known = content.parameters;
  if (given.positional.size() > known.size()) {
    run.fail("macro '" + content.name + "' takes " + std::to_string(known.size()) + " arguments, not " +
             std::to_string(given.positional.size()));
  }
  for (const auto& [name, what] : given.named) {
    auto is_it = [&name = name](const parameter& one) { return one.name == name; };
    if (std::none_of(known.begin(), known.end(), is_it)) {
      run.fail("macro '" + content.name + "' has no parameter '" + std::string(name) + "'");
    }
  }
}

void bind_parameters(renderer& run, const std::vector<parameter>& parameters, const arguments& given) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& [name, otherwise] = parameters[i];
    if (i < given.positional.size()) {
      run.variables()->set(name, given.positional[i]);
    } else if (auto* argument = named_argument(given, name)) {
      run.variables()->set(name, *argument);
    } else {
      run.variables()->set(name, otherwise ? otherwise->evaluate(run) : value(undefined{&name}));
    }
  }
}

}  // namespace

flow execute_all(renderer& run, const statement_list& body) {
  for (const auto& part : body) {
    if (auto where = part->execute(run); where != flow::on) return where;
  }
  return flow::on;
}

void target::assign(renderer& run, const value& source) const {
  std::visit([&](const auto& to) { assignment{run, source}(to); }, what);
}

flow text_statement::perform(renderer& run) const {
  run.write(text_);
  return flow::on;
}

flow output_statement::perform(renderer& run) const {
  auto what = what_->evaluate(run);
  if (auto* text = what.text()) {
    run.write(*text);
  } else {
    run.write(as_text(run, what));
  }
  return flow::on;
}

flow if_statement::perform(renderer& run) const {
  for (const auto& [condition, body] : branches_) {
    if (!condition || is_true(condition->evaluate(run))) return execute_all(run, body);
  }
  return flow::on;
}

shared_list for_statement::chosen(renderer& run) const {
  auto all = items_of(run, parts_.items->evaluate(run));
  if (!parts_.condition) return all;
  std::vector<value> kept;
  for (const auto& item : all->items) {
    renderer::block variables(run);
    parts_.each.assign(run, item);
    if (is_true(parts_.condition->evaluate(run))) kept.push_back(item);
  }
  return run.make_list(std::move(kept)).shared_items();
}

flow for_statement::perform(renderer& run) const {
  auto items = chosen(run);
  if (items->items.empty()) {
    renderer::block variables(run);
    return execute_all(run, parts_.otherwise);
  }
  for (std::size_t i = 0; i < items->items.size(); ++i) {
    auto level = run.enter_here();
    renderer::block variables(run);
    run.variables()->set("loop", std::make_shared<const loop_state>(loop_state{items, i}));
    parts_.each.assign(run, items->items[i]);
    if (execute_all(run, parts_.body) == flow::out_of_loop) break;
  }
  return flow::on;
}

flow set_statement::perform(renderer& run) const {
  to_.assign(run, what_->evaluate(run));
  return flow::on;
}

value block_text::compute(renderer& run) const {
  renderer::capture written(run);
  renderer::block variables(run);
  execute_all(run, body_);
  return run.make_text(written.take());
}

flow macro_statement::perform(renderer& run) const {
  run.variables()->set(parts_.name, std::make_shared<const macro>(macro{this, run.variables()}));
  return flow::on;
}

flow generation_statement::perform(renderer& run) const {
  renderer::block variables(run);
  return execute_all(run, body_);
}

value call_macro(renderer& run, const macro& called, const arguments& given) {
  const auto& content = called.statement->content();
  auto around = called.defined_in.lock();
  if (!around) run.fail("macro '" + content.name + "' is called outside of the block that defines it");
  refuse_unknown(run, content, given);
  auto level = run.enter_here();
  renderer::block variables(run, around);
  renderer::capture written(run);
  bind_parameters(run, content.parameters, given);
  execute_all(run, content.body);
  return run.make_text(written.take());
}

}  // namespace cogen::text::jinja
