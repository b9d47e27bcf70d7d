#pragma once

#include <filesystem>

namespace example {

/// The model that scripts/bootstrap fetched, unless the environment variable COGEN_MODEL names another.
std::filesystem::path default_model();

/// The first argument, or the default model.
std::filesystem::path model_path(int argc, char** argv);

}  // namespace example
