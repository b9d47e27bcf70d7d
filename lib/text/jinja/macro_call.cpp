#include "text/jinja/macro_call.hpp"

#include "text/jinja/statements.hpp"

#include <algorithm>

namespace cogen::text::jinja {
namespace {

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
