#pragma once

#include "text/jinja/arguments.hpp"
#include "text/jinja/renderer.hpp"
#include "text/jinja/value.hpp"

namespace cogen::text::jinja {

/// The text that a macro writes with these arguments.
value call_macro(renderer& run, const macro& called, const arguments& given);

}  // namespace cogen::text::jinja
