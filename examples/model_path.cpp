#include "model_path.hpp"

#include <cstdlib>

namespace example {

std::filesystem::path default_model() {
  const char* const chosen = std::getenv("COGEN_MODEL");
  return chosen != nullptr ? chosen : COGEN_DEFAULT_MODEL;
}

std::filesystem::path model_path(int argc, char** argv) { return argc > 1 ? argv[1] : default_model(); }

}  // namespace example
