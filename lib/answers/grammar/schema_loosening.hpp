#pragma once

#include "answers/grammar/json_schema.hpp"

#include <cogen/response_format.hpp>

#include <boost/json/value.hpp>

#include <functional>
#include <string>
#include <vector>

namespace cogen::grammar {

/// Takes a keyword out of a schema, so that each value that was valid stays so: where it is negated, what negates it
/// goes instead, and what speaks of the rest that it leaves goes with it. Returns what was taken out; nothing if the
/// schema has no such keyword.
std::vector<loosened_keyword> loosen(boost::json::value& root, const loosened_keyword& keyword);

/// Leaves nothing but the type of the value as a whole.
std::vector<loosened_keyword> loosen_all(boost::json::value& root);

/// Calls `write` with the schema and the rules, and again without each keyword that it refuses where the mode says so.
/// Throws what it throws.
schema_rule write_in_mode(boost::json::value schema, rule_list& rules, schema_mode mode,
                          const std::function<std::string(const boost::json::value&, rule_list&)>& write);

}  // namespace cogen::grammar
