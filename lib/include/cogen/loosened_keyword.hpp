#pragma once

#include <string>

namespace cogen {

/// A keyword of a JSON schema that texts are not held to.
struct loosened_keyword {
  std::string name;
  std::string path;  ///< of the schema that has it, as a JSON pointer: "#/properties/a"

  friend bool operator==(const loosened_keyword&, const loosened_keyword&) = default;
};

}  // namespace cogen
