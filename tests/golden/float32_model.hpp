#pragma once

#include "golden.hpp"

#include <cogen/model.hpp>

#include <filesystem>
#include <optional>

namespace cogen::golden {

/// The folder with the same numbers as float32, for a golden whose weights were quantized after its outputs were made.
std::optional<std::filesystem::path> float32_model_in(const std::filesystem::path& golden);

/// Replaces the outputs by what the model makes of the same prompts.
void take_from(const model& model, golden& reference);

}  // namespace cogen::golden
