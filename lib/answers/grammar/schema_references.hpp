#pragma once

#include <boost/json/value.hpp>

namespace cogen::grammar {

/// Rewrites each reference of a schema to one of its own schemas as `$ref` with a JSON pointer from the root, whatever
/// `$id` stands between. A reference that leads outside, or nowhere, is left as it is.
void resolve_references(boost::json::value& root);

}  // namespace cogen::grammar
