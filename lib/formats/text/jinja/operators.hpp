#pragma once

#include "formats/text/jinja/renderer.hpp"
#include "formats/text/jinja/value.hpp"

namespace cogen::text::jinja {

enum class arithmetic { add, subtract, multiply, divide, floor_divide, modulo, power };
enum class comparison { equal, unequal, less, less_or_equal, greater, greater_or_equal, in, not_in };

// Each fails, naming the kinds, for values that Python would not combine.

value calculate(renderer& run, arithmetic operation, const value& left, const value& right);
value negated(renderer& run, const value& number);
bool compare(renderer& run, comparison operation, const value& left, const value& right);

/// Python's object[begin:end:step], each bound perhaps none.
value slice_of(renderer& run, const value& object, const value& begin, const value& end, const value& step);

}  // namespace cogen::text::jinja
