#include "text/jinja/arguments.hpp"

#include <algorithm>

namespace cogen::text::jinja {

bound_arguments::bound_arguments(renderer& run, const arguments& given, std::string_view callee,
                                 std::initializer_list<std::string_view> parameters)
    : run_(&run), callee_(callee), parameters_(parameters), values_(parameters.size(), nullptr) {
  if (given.positional.size() > parameters_.size()) {
    run.fail("'" + std::string(callee) + "' takes " + std::to_string(parameters_.size()) + " arguments, not " +
             std::to_string(given.positional.size()));
  }
  for (std::size_t i = 0; i < given.positional.size(); ++i) values_[i] = &given.positional[i];
  for (const auto& [name, what] : given.named) {
    auto found = std::find(parameters_.begin(), parameters_.end(), name);
    if (found == parameters_.end()) {
      run.fail("'" + std::string(callee) + "' has no argument '" + std::string(name) + "'");
    }
    values_[static_cast<std::size_t>(found - parameters_.begin())] = &what;
  }
}

const value& bound_arguments::at(std::size_t parameter) const {
  if (values_[parameter]) return *values_[parameter];
  run_->fail("'" + std::string(callee_) + "' needs the argument '" + std::string(parameters_[parameter]) + "'");
}

std::string_view bound_arguments::text(std::size_t parameter) const {
  if (auto* text = at(parameter).text()) return text->bytes();
  refuse(parameter, "a text");
}

std::int64_t bound_arguments::integer(std::size_t parameter, std::int64_t otherwise) const {
  if (!values_[parameter]) return otherwise;
  if (auto number = values_[parameter]->integer()) return *number;
  refuse(parameter, "an integer");
}

bool bound_arguments::flag(std::size_t parameter, bool otherwise) const {
  return values_[parameter] ? is_true(*values_[parameter]) : otherwise;
}

void bound_arguments::refuse(std::size_t parameter, const char* expected) const {
  run_->fail("argument '" + std::string(parameters_[parameter]) + "' of '" + std::string(callee_) + "' is " +
             kind_of(*values_[parameter]) + ", but must be " + expected);
}

}  // namespace cogen::text::jinja
