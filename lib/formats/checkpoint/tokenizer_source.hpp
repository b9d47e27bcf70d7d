#pragma once

#include "formats/checkpoint/gguf.hpp"

#include <cogen/load/checkpoint.hpp>

#include <filesystem>

namespace cogen::load {

/// The tokenizer's files in a Hugging Face folder. Throws load_error where tokenizer.json is missing.
tokenizer_files read_tokenizer_files(const std::filesystem::path& folder);

/// The tokenizer in a GGUF file's metadata. Throws load_error where a value is missing, of the wrong type, or where
/// lists that go with the tokens are not of their length.
text::gguf_vocabulary read_gguf_vocabulary(const gguf_file& file);

}  // namespace cogen::load
