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

shared_list chosen(renderer& run, const for_statement& node, const value& items) {
  auto visited = items_of(run, items);
  if (!node.condition) return visited;
  std::vector<value> kept;
  for (const auto& item : visited->items) {
    renderer::block variables(run);
    node.variable.assign(run, item);
    if (is_true(node.condition->evaluate(run))) kept.push_back(item);
  }
  return run.make_list(std::move(kept)).shared_items();
}

/// The body for each of these items, `depth` levels deep in recursion.
void repeat(renderer& run, const for_statement& node, const value& items, std::size_t depth) {
  auto loop = std::make_shared<loop_state>(loop_state{.items = chosen(run, node, items),
                                                      .depth = depth,
                                                      .number = run.begin_loop(),
                                                      .recursive = node.is_recursive ? &node : nullptr,
                                                      .around = run.variables()});
  for (auto& i = loop->index; i < loop->items->items.size(); ++i) {
    auto level = run.enter_here();
    renderer::block variables(run);
    run.set("loop", std::shared_ptr<const loop_state>(loop));
    node.variable.assign(run, loop->items->items[i]);
    if (execute_all(run, node.body) == flow::out_of_loop) break;
  }
  if (!loop->items->items.empty()) return;
  renderer::block variables(run);
  execute_all(run, node.otherwise);
}

/// What each kind of statement does.
struct execution {
  renderer& run;

  flow operator()(const text_statement& node) const {
    run.write(node.text);
    return flow::on;
  }

  flow operator()(const output_statement& node) const {
    auto output = node.output->evaluate(run);
    if (auto* text = output.text()) {
      run.write(*text);
    } else {
      run.write(as_text(run, output));
    }
    return flow::on;
  }

  flow operator()(const if_statement& node) const {
    for (const auto& [condition, body] : node.branches) {
      if (!condition || is_true(condition->evaluate(run))) return execute_all(run, body);
    }
    return flow::on;
  }

  flow operator()(const for_statement& node) const {
    repeat(run, node, node.items->evaluate(run), 0);
    return flow::on;
  }

  flow operator()(const set_statement& node) const {
    node.destination.assign(run, node.source->evaluate(run));
    return flow::on;
  }

  flow operator()(const with_statement& node) const {
    std::vector<value> values;
    for (const auto& [destination, source] : node.assignments) values.push_back(source->evaluate(run));
    renderer::block variables(run);
    for (std::size_t i = 0; i < values.size(); ++i) node.assignments[i].first.assign(run, values[i]);
    return execute_all(run, node.body);
  }

  flow operator()(const macro_statement& node) const {
    run.set(node.name, std::make_shared<const macro>(macro{&node, run.kept_variables()}));
    return flow::on;
  }

  flow operator()(const call_statement& node) const {
    value caller(std::make_shared<const macro>(macro{&node.body, run.kept_variables()}));
    run.write(as_text(run, evaluate(run, node.called, &caller)));
    return flow::on;
  }

  flow operator()(const block_statement& node) const {
    auto around = run.variables();
    while (!node.is_scoped && around->outer()) around = around->outer();
    renderer::block variables(run, std::move(around));
    return execute_all(run, node.body);
  }

  flow operator()(const refused_statement& node) const { run.fail(node.reason); }

  flow operator()(const jump_statement& node) const { return node.where; }

  flow operator()(const scoped_statement& node) const {
    renderer::block variables(run);
    return execute_all(run, node.body);
  }
};

}  // namespace

flow statement::execute(renderer& run) const {
  auto level = run.enter(line);
  return std::visit([&](const auto& kind) { return execution{run}(*kind); }, node);
}

flow execute_all(renderer& run, const statement_list& body) {
  for (const auto& part : body) {
    if (auto where = part.execute(run); where != flow::on) return where;
  }
  return flow::on;
}

void target::assign(renderer& run, const value& source) const { std::visit(assignment{run, source}, destination); }

value call_loop(renderer& run, const loop_state& loop, const arguments& given) {
  auto around = loop.around.lock();
  if (!loop.recursive || !around) run.fail("'loop' can only be called inside of a loop that is recursive");
  bound_arguments bound(run, given, "loop", {"iterable"});
  auto level = run.enter_here();
  renderer::block variables(run, around);
  renderer::capture written(run);
  repeat(run, *loop.recursive, bound.at(0), loop.depth + 1);
  return run.make_text(written.take());
}

}  // namespace cogen::text::jinja
