#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace cogen::load {

/// How the authors of a model want it to generate, in the words of sampling_params. What they do not say is empty.
struct generation_defaults {
  std::optional<double> temperature = {}, top_p = {}, min_p = {}, repetition_penalty = {};
  std::optional<std::int64_t> top_k = {};  ///< 0: all
  std::optional<int> max_tokens = {};      ///< at most

  friend bool operator==(const generation_defaults&, const generation_defaults&) = default;
};

/// Reads a generation_config.json, that of a Hugging Face folder if it has one, or the keys `general.sampling` of a
/// GGUF file. Nothing uses them by itself. Throws load_error, naming file, key, value and range, for a file that cannot
/// be read and for values that sampling_params does not allow.
generation_defaults read_generation_defaults(const std::filesystem::path& path);

}  // namespace cogen::load
