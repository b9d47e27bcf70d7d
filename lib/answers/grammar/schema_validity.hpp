#pragma once

#include "answers/grammar/schema_document.hpp"

namespace cogen::grammar {

/// Whether a value is valid by a schema of the document. Throws grammar_error for a keyword that is not supported.
bool is_valid(const schema_document& document, const boost::json::value& schema, const boost::json::value& value);

}  // namespace cogen::grammar
