#pragma once

#include <cogen/token.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace cogen::golden {

/// What some logits after one token should be: all of them, or the greatest ones only.
struct reference_row {
  std::vector<token> ids;
  std::vector<float> logits;  // [ids]

  /// How far the best is above the second.
  float margin() const;
};

/// One continuation that a beam search found.
struct beam {
  std::vector<token> ids;
  float score;  // the mean of the tokens' log-probabilities
};

struct reference_prompt {
  std::string text = {};           // of a real model's prompt
  std::vector<token> source = {};  // what the encoder reads; empty for models that have none
  std::vector<token> ids;          // the prompt; where there is a source, the decoder's, its start token first
  std::vector<reference_row> prompt_rows = {};  // after each token of the prompt; empty where they are not recorded
  std::vector<token> continuation;              // greedy, end tokens being tokens like others
  std::vector<reference_row> rows = {};         // what continuation[k] was chosen from
  std::vector<reference_row> predictions = {};  // after each token of both but the last: of the token after the next
  std::vector<beam> beams = {};                 // best first; empty where no search is recorded
};

/// One model's reference outputs. tests/golden/README.md describes the files.
struct golden {
  std::string name = {};
  std::filesystem::path model = {};
  std::vector<reference_prompt> prompts = {};

  /// Whether the model reads sources.
  bool has_encoder_inputs() const;

  /// Whether it has what the model's layer for multi-token prediction predicts.
  bool has_predictions() const;
};

/// A folder with a model and its golden.safetensors.
/// Throws load::load_error, or std::runtime_error naming what the file lacks.
golden read_folder(const std::filesystem::path& folder);

/// A file of continuations of `model`. Throws std::runtime_error naming what the file lacks.
golden read_continuations(const std::filesystem::path& file, const std::filesystem::path& model);

}  // namespace cogen::golden
