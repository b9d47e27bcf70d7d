#pragma once

#include <cogen/loosened_keyword.hpp>

#include <boost/json/value.hpp>

#include <vector>

namespace cogen::grammar {

/// Takes a keyword out of a schema, so that each value that was valid stays so: where it is negated, what negates it
/// goes instead, and what speaks of the rest that it leaves goes with it. Returns what was taken out; nothing if the
/// schema has no such keyword.
std::vector<loosened_keyword> loosen(boost::json::value& root, const loosened_keyword& keyword);

/// Leaves nothing but the type of the value as a whole.
std::vector<loosened_keyword> loosen_all(boost::json::value& root);

}  // namespace cogen::grammar
