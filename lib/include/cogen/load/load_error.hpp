#pragma once

#include <stdexcept>

namespace cogen::load {

/// A model file that cannot be read: missing, truncated, malformed, or beyond a limit. what() names the file, the thing
/// in it, the value found and what is allowed; text from the file is escaped.
class load_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace cogen::load
