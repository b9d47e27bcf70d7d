#pragma once

#include <stdexcept>

namespace cogen::grammar {

/// Why a format is refused: one sentence that names the keyword, its place, and the limit if there is one.
class grammar_error : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

}  // namespace cogen::grammar
