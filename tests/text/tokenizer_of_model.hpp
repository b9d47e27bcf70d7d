#pragma once

#include "cogen/text/tokenizer.hpp"

#include <filesystem>

/// The tokenizer of a GGUF file, of a folder with tokenizer.json, or of a tokenizer.json.
/// Throws what the readers throw, and std::runtime_error for a file that cannot be read.
cogen::text::tokenizer tokenizer_of_model(const std::filesystem::path& model);
