#pragma once

#include <cstdint>
#include <filesystem>

namespace cogen::load {

/// What shows the score of a pair of texts, which the classifier of a model gives.
enum class score_activation : std::uint8_t {
  identity,  ///< the score itself
  sigmoid,   ///< 1 / (1 + e^-score)
};

/// What the cross-encoders of Sentence Transformers apply: `activation_fn` in "sentence_transformers" of a folder's
/// config.json, or the older "sbert_ce_default_activation_function"; otherwise, and for a GGUF file, the sigmoid.
/// Engines do not apply it. Throws load_error, naming file, key and value, for another function.
score_activation read_score_activation(const std::filesystem::path& path);

}  // namespace cogen::load
