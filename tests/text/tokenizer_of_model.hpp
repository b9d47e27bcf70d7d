#pragma once

#include <cogen/text/tokenizer.hpp>

#include <filesystem>
#include <memory>

/// The tokenizer of a GGUF file or of a model's folder, as loading the model makes it; of a tokenizer.json, or of a
/// folder that holds nothing else, by itself.
/// Throws what the readers throw, and std::runtime_error for a file that cannot be read.
std::unique_ptr<const cogen::text::tokenizer> tokenizer_of_model(const std::filesystem::path& model);
