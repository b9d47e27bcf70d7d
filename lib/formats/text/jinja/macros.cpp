// Calls of macros.
#include "formats/text/jinja/callables.hpp"
#include "formats/text/jinja/conversions.hpp"
#include "formats/text/jinja/statements.hpp"
#include "formats/text/jinja/walks.hpp"

#include <algorithm>

namespace cogen::text::jinja {
namespace {

/// What a call gives beyond the parameters of a macro, which a body may ask for by name.
class further_arguments {
 public:
  further_arguments(renderer& run, const macro_statement& called, const arguments& given)
      : run_(run), called_(called), given_(given) {}

  /// The one for a parameter, or nullptr.
  const value* take(std::size_t parameter) {
    if (parameter < given_.positional.size()) return &given_.positional[parameter];
    return take(called_.parameters[parameter].name);
  }

  /// Sets the variables that hold the rest. Fails for a rest that the body does not ask for.
  void bind_rest() {
    if (called_.takes_caller && !has_parameter("caller")) {
      auto* caller = take("caller");
      run_.set("caller", caller ? *caller : value());
    }
    bind_named();
    bind_positional();
  }

 private:
  bool has_parameter(std::string_view name) const {
    run_.visit(called_.parameters.size());
    return std::ranges::any_of(called_.parameters, [&](const auto& parameter) { return parameter.name == name; });
  }

  const value* take(std::string_view name) {
    run_.visit(given_.named.size());
    auto found = std::ranges::find_if(given_.named, [&](const auto& argument) { return argument.first == name; });
    if (found == given_.named.end()) return nullptr;
    taken_.push_back(name);
    return &found->second;
  }

  void bind_named() {
    dictionary rest;
    for (const auto& [name, argument] : given_.named) {
      run_.visit(taken_.size());
      if (std::ranges::find(taken_, name) == taken_.end()) insert(run_, rest, trusted_text(name), argument);
    }
    if (called_.takes_kwargs && !has_parameter("kwargs")) {
      run_.set("kwargs", run_.checked(std::move(rest)));
    } else if (rest.size() > 0) {
      run_.fail("macro '" + called_.name + "' has no parameter '" + rest.items()[0].first.text()->bytes() + "'");
    }
  }

  void bind_positional() {
    const auto& given = given_.positional;
    auto count = std::min(given.size(), called_.parameters.size());
    if (called_.takes_varargs && !has_parameter("varargs")) {
      std::vector<value> rest(given.begin() + static_cast<std::ptrdiff_t>(count), given.end());
      run_.set("varargs", run_.make_list(std::move(rest), true));
    } else if (given.size() > count) {
      run_.fail("macro '" + called_.name + "' takes " + std::to_string(count) + " arguments, not " +
                std::to_string(given.size()));
    }
  }

  renderer& run_;
  const macro_statement& called_;
  const arguments& given_;
  std::vector<std::string_view> taken_;
};

void bind_parameters(renderer& run, const macro_statement& called, const arguments& given) {
  further_arguments arguments(run, called, given);
  std::vector<const value*> found;
  for (std::size_t i = 0; i < called.parameters.size(); ++i) found.push_back(arguments.take(i));
  arguments.bind_rest();
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto& [name, otherwise] = called.parameters[i];
    auto missing = [&, &own = name, &substitute = otherwise] {
      return substitute ? substitute->evaluate(run) : value(undefined{&own});
    };
    run.set(name, found[i] ? *found[i] : missing());
  }
}

}  // namespace

value call_macro(renderer& run, const macro& called, const arguments& given) {
  const auto& content = *called.statement;
  auto around = called.defined_in.lock();
  if (!around) run.fail("macro '" + content.name + "' is called where its variables are gone");
  auto level = run.enter_here();
  renderer::block variables(run, around);
  renderer::capture written(run);
  bind_parameters(run, content, given);
  execute_all(run, content.body);
  return run.make_text(written.take());
}

}  // namespace cogen::text::jinja
