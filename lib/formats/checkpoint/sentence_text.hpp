#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace cogen::load {

/// How Sentence Transformers reads the texts of a folder, beside what tokenizer.json says.
struct sentence_text {
  bool has_modules = false;     ///< the folder lists modules: its texts are cut, not only pairs that are scored
  std::int64_t max_tokens = 0;  ///< longer texts are cut there, and keep the special tokens around them
  bool keeps_end = false;       ///< they are cut at their beginning
  bool lowercase = false;       ///< letters become small ones before everything else
  std::string prompt = {};      ///< stands before each text
};

/// Reads sentence_bert_config.json or one of its older names, config_sentence_transformers.json, and what
/// `tokenizer_config` (the text of that file, or empty) says of lengths. `positions` are the model's. Throws
/// load_error for a setting that is not known.
sentence_text read_sentence_text(const std::filesystem::path& folder, std::string_view tokenizer_config,
                                 std::int64_t positions);

/// The prompt that stands before each text of a folder, or nothing.
std::string read_default_prompt(const std::filesystem::path& folder);

}  // namespace cogen::load
