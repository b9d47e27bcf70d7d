#pragma once

#include <stdexcept>

namespace cogen::json {

/// A JSON text that is malformed, or holds something else than its reader expects.
/// what() begins with the name of the text; what comes from the text is escaped.
class json_error : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

}  // namespace cogen::json
