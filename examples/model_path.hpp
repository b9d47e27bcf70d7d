#pragma once

#include <cstdlib>
#include <filesystem>

namespace example {

/// The model that scripts/bootstrap fetched, unless the environment variable COGEN_MODEL names another.
inline std::filesystem::path default_model() {
  if (const char* chosen = std::getenv("COGEN_MODEL")) return chosen;
  return COGEN_DEFAULT_MODEL;
}

/// The first argument, or the default model.
inline std::filesystem::path model_path(int argc, char** argv) { return argc > 1 ? argv[1] : default_model(); }

}  // namespace example
