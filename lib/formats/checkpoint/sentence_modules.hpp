#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cogen::load {

/// A dense layer in a folder of its own. Its tensors are called PATH.linear.weight and PATH.linear.bias.
struct dense_module {
  std::string path;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  bool bias = true;
  bool tanh = false;
};

/// What modules.json of Sentence Transformers lists behind the transformer.
struct sentence_modules {
  std::string pooling = "mean";  // or "cls", "last"
  std::vector<dense_module> dense;
  bool normalize = false;
};

/// Those of a folder, if it has a modules.json. Throws load_error for modules that are not known, or in another order:
/// pooling, dense layers, normalization.
std::optional<sentence_modules> read_sentence_modules(const std::filesystem::path& folder);

/// Throws load_error where a model that scores pairs has modules behind the transformer, or a prompt.
void check_scoring_modules(const std::filesystem::path& folder);

}  // namespace cogen::load
