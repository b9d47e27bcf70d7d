#pragma once

#include "text/jinja/renderer.hpp"
#include "text/jinja/value.hpp"

#include <boost/json/value.hpp>

namespace cogen::text::jinja {

/// The value with its texts not trusted. Fails for nesting deeper than a rendering can walk.
value from_json(renderer& run, const boost::json::value& what);

}  // namespace cogen::text::jinja
