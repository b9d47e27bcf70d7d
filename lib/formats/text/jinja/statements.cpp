#include "formats/text/jinja/statements.hpp"

#include "formats/text/jinja/callables.hpp"
#include "formats/text/jinja/conversions.hpp"

namespace cogen::text::jinja {
namespace {

struct assignment {
  renderer& run;
  const value& source;

  void operator()(const std::string& name) const { run.set(name, source); }

  void operator()(const std::vector<target>& targets) const {
    auto items = items_of(run, source);
    if (items->items.size() != targets.size()) {
      run.fail("cannot assign " + std::to_string(items->items.size()) + " items to " + std::to_string(targets.size()) +
               " variables");
    }
    for (std::size_t i = 0; i < targets.size(); ++i) targets[i].assign(run, items->items[i]);
  }

  void operator()(const member_name& name) const {
    auto* found = run.find(name.space);
    auto* space = found ? found->space() : nullptr;
    if (!space) run.fail("'" + name.space + "' is not a namespace, so its members cannot be set");
    set_member(run, *space, name.member, source);
  }
};

}  // namespace

flow execute_all(renderer& run, const statement_list& body) {
  for (const auto& part : body) {
    if (auto where = part->execute(run); where != flow::on) return where;
  }
  return flow::on;
}

void target::assign(renderer& run, const value& source) const {
  std::visit([&](const auto& alternative) { assignment{run, source}(alternative); }, destination);
}

flow text_statement::perform(renderer& run) const {
  run.write(text_);
  return flow::on;
}

flow output_statement::perform(renderer& run) const {
  auto output = output_->evaluate(run);
  if (auto* text = output.text()) {
    run.write(*text);
  } else {
    run.write(as_text(run, output));
  }
  return flow::on;
}

flow if_statement::perform(renderer& run) const {
  for (const auto& [condition, body] : branches_) {
    if (!condition || is_true(condition->evaluate(run))) return execute_all(run, body);
  }
  return flow::on;
}

shared_list for_statement::chosen(renderer& run, const value& items) const {
  auto visited = items_of(run, items);
  if (!parts_.condition) return visited;
  std::vector<value> kept;
  for (const auto& item : visited->items) {
    renderer::block variables(run);
    parts_.variable.assign(run, item);
    if (is_true(parts_.condition->evaluate(run))) kept.push_back(item);
  }
  return run.make_list(std::move(kept)).shared_items();
}

flow for_statement::perform(renderer& run) const {
  repeat(run, parts_.items->evaluate(run), 0);
  return flow::on;
}

void for_statement::repeat(renderer& run, const value& items, std::size_t depth) const {
  auto loop = std::make_shared<loop_state>(loop_state{.items = chosen(run, items),
                                                      .depth = depth,
                                                      .number = run.begin_loop(),
                                                      .recursive = parts_.is_recursive ? this : nullptr,
                                                      .around = run.variables()});
  for (auto& i = loop->index; i < loop->items->items.size(); ++i) {
    auto level = run.enter_here();
    renderer::block variables(run);
    run.set("loop", std::shared_ptr<const loop_state>(loop));
    parts_.variable.assign(run, loop->items->items[i]);
    if (execute_all(run, parts_.body) == flow::out_of_loop) break;
  }
  if (!loop->items->items.empty()) return;
  renderer::block variables(run);
  execute_all(run, parts_.otherwise);
}

value call_loop(renderer& run, const loop_state& loop, const arguments& given) {
  auto around = loop.around.lock();
  if (!loop.recursive || !around) run.fail("'loop' can only be called inside of a loop that is recursive");
  bound_arguments bound(run, given, "loop", {"iterable"});
  auto level = run.enter_here();
  renderer::block variables(run, around);
  renderer::capture written(run);
  loop.recursive->repeat(run, bound.at(0), loop.depth + 1);
  return run.make_text(written.take());
}

flow set_statement::perform(renderer& run) const {
  destination_.assign(run, source_->evaluate(run));
  return flow::on;
}

value block_text::compute(renderer& run) const {
  renderer::capture written(run);
  renderer::block variables(run);
  execute_all(run, body_);
  return run.make_text(written.take());
}

flow with_statement::perform(renderer& run) const {
  std::vector<value> values;
  for (const auto& [destination, source] : assignments_) values.push_back(source->evaluate(run));
  renderer::block variables(run);
  for (std::size_t i = 0; i < values.size(); ++i) assignments_[i].first.assign(run, values[i]);
  return execute_all(run, body_);
}

flow scoped_statement::perform(renderer& run) const {
  renderer::block variables(run);
  return execute_all(run, body_);
}

flow block_statement::perform(renderer& run) const {
  auto around = run.variables();
  while (!is_scoped_ && around->outer()) around = around->outer();
  renderer::block variables(run, std::move(around));
  return execute_all(run, body_);
}

}  // namespace cogen::text::jinja
