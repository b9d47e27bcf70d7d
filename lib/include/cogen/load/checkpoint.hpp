#pragma once

#include <cogen/load/config_fields.hpp>
#include <cogen/load/model_config.hpp>
#include <cogen/load/tensor_file.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cogen::load {

/// A Hugging Face folder's tokenizer: the files' texts as they are, where they exist.
struct tokenizer_files {
  std::string tokenizer_json;
  std::optional<std::string> tokenizer_config_json;
  std::optional<std::string> chat_template_jinja;
};

/// A GGUF file's tokenizer: the values under "tokenizer.".
struct gguf_tokenizer {
  std::string model;                // "gpt2": byte-level BPE
  std::string pre;                  // names the pre-tokenizer: "smollm", "llama-bpe", "qwen2", …
  std::vector<std::string> tokens;  // in order of id, in the byte-level alphabet
  std::vector<std::int32_t> types;  // per token: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
  std::vector<float> scores;        // per token; empty where the file has none
  std::vector<std::string> merges;  // "left right", best first
  std::optional<token> bos, eos, unknown, pad;
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = false;
  std::optional<std::string> chat_template;
};

using tokenizer_source = std::variant<tokenizer_files, gguf_tokenizer>;

/// One weight under its Hugging Face name, whatever file it comes from. A matrix is [rows, columns] with one row per
/// output; of more than two dimensions all but the last are rows; a vector of n is n rows of one column.
/// Cheap to copy; valid as long as its checkpoint. Thread-safe.
class weight {
 public:
  const std::string& name() const noexcept { return name_; }
  element_type type() const noexcept { return tensor_->type; }
  const std::vector<std::int64_t>& shape() const noexcept { return tensor_->shape; }
  std::int64_t rows() const noexcept { return rows_; }
  std::int64_t columns() const noexcept { return columns_; }
  std::uint64_t row_bytes() const noexcept { return row_bytes_; }
  std::uint64_t bytes() const noexcept { return tensor_->bytes; }

  /// Rows [first, last) in the order in which Transformers has them, still in their stored type. GGUF keeps the query
  /// and key rows of some architectures interleaved; they are put back here, so that models rotate halves only.
  /// `out` holds exactly (last - first) * row_bytes() bytes. Throws load_error where the file cannot be read, and
  /// std::out_of_range or std::invalid_argument for a wrong range or size.
  void read_rows(std::int64_t first, std::int64_t last, std::span<std::byte> out) const;

  /// The same as float: `out` holds exactly (last - first) * columns() elements.
  /// Throws also load_error where the type has no float form.
  void read_rows_as_float(std::int64_t first, std::int64_t last, std::span<float> out) const;

 private:
  friend class checkpoint;
  weight() = default;
  void read_stored_rows(std::int64_t first, std::int64_t last, std::byte* out) const;
  void read_interleaved_rows(std::int64_t first, std::int64_t last, std::byte* out) const;

  std::string name_;
  const tensor_file* file_ = nullptr;
  const tensor_info* tensor_ = nullptr;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  std::uint64_t row_bytes_ = 0;
  std::int64_t interleaved_head_rows_ = 0;  // rows of one head where they are stored interleaved, else 0
};

/// A trained model on disk: a GGUF file, a folder with one, or a Hugging Face folder (config.json, safetensors,
/// tokenizer files). Opening reads the headers; weights are read when asked for. Immutable and thread-safe.
///
///   load::checkpoint files(path);
///   auto config = files.config();
///   auto up = files.at("model.layers.0.mlp.up_proj.weight", {config.intermediate, config.hidden});
class checkpoint {
 public:
  /// Throws load_error.
  explicit checkpoint(const std::filesystem::path& path);
  checkpoint(checkpoint&&) noexcept;
  checkpoint& operator=(checkpoint&&) noexcept;
  ~checkpoint();

  const std::filesystem::path& path() const noexcept;

  /// "llama", …: known even where the rest of the configuration cannot be read, so that an unknown family can be
  /// refused as such.
  const std::string& family() const noexcept;

  /// All fields as the source has them, for what only one family knows.
  const config_fields& fields() const noexcept;

  /// The checked configuration, completed by what the tensors and generation_config.json tell. Throws load_error.
  model_config config() const;

  /// Throws load_error where the files are missing or the metadata have the wrong types.
  tokenizer_source tokenizer() const;

  /// The weight of that Hugging Face name ("model.layers.0.self_attn.q_proj.weight"), or nothing.
  std::optional<weight> find(std::string_view name) const;

  /// The weight of that name and shape. Throws load_error, naming both shapes, where it is missing or different.
  weight at(std::string_view name, std::initializer_list<std::int64_t> shape) const;
  weight at(std::string_view name, std::span<const std::int64_t> shape) const;

  /// The Hugging Face names of all tensors, in the order of the file. A GGUF tensor without one keeps its own.
  std::vector<std::string> weight_names() const;

  /// Throws load_error for the first tensor whose name is not in `expected`. Tensors that carry nothing a model reads
  /// from them (precomputed rotary frequencies, the output matrix of tied embeddings) may always be there.
  void refuse_others(std::span<const std::string> expected) const;

 private:
  struct contents;
  std::unique_ptr<const contents> contents_;
};

}  // namespace cogen::load
