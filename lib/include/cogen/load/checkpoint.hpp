#pragma once

#include <cogen/detail/element_type.hpp>
#include <cogen/detail/gguf_vocabulary.hpp>
#include <cogen/load/model_config.hpp>

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

class config_fields;
class tensor_file;
struct tensor_info;

using cogen::element_type;

/// A Hugging Face folder's tokenizer: the contents of the files that exist.
struct tokenizer_files {
  std::string tokenizer_json;
  std::optional<std::string> tokenizer_config_json;
  std::optional<std::string> chat_template_jinja;
};

using tokenizer_source = std::variant<tokenizer_files, text::gguf_vocabulary>;

/// One weight under the name that it was asked for, whatever file it comes from. A matrix is [rows, columns], one row
/// per output. With more than two dimensions, all but the last are rows; a vector of n is n rows of one column. Cheap
/// to copy; valid as long as its checkpoint. Thread-safe.
class weight {
 public:
  const std::string& name() const noexcept { return name_; }
  element_type type() const noexcept;
  const std::vector<std::int64_t>& shape() const noexcept;  ///< outermost dimension first; empty for a scalar
  std::int64_t rows() const noexcept { return rows_; }
  std::int64_t columns() const noexcept { return columns_; }
  std::uint64_t row_bytes() const noexcept { return row_bytes_; }
  std::uint64_t bytes() const noexcept;

  /// Reads rows [first, last) in their stored type, in the order of Transformers: interleaved rows of queries and keys
  /// are restored. `out` holds exactly (last - first) * row_bytes() bytes. Throws load_error if the file cannot be read
  /// or a number or scale is not finite, std::out_of_range or std::invalid_argument for a wrong range or size.
  void read_rows(std::int64_t first, std::int64_t last, std::span<std::byte> out) const;

  /// The same as float: `out` holds exactly (last - first) * columns() elements. Also throws load_error if the type has
  /// no float form: integers and booleans.
  void read_rows_as_float(std::int64_t first, std::int64_t last, std::span<float> out) const;

 private:
  friend class checkpoint;
  weight() = default;
  void read_stored_rows(std::int64_t first, std::int64_t last, std::byte* out) const;
  void read_interleaved_rows(std::int64_t first, std::int64_t last, std::byte* out) const;

  std::string name_;
  const tensor_file* file_ = nullptr;
  const tensor_info* tensor_ = nullptr;
  std::int64_t rows_ = 0, columns_ = 0;
  std::uint64_t row_bytes_ = 0;
  std::int64_t interleaved_head_rows_ = 0;  // rows of one head if they are stored interleaved, else 0
};

/// A trained model on disk: a GGUF file (of a split one, the first part), a folder that contains one, or a Hugging Face
/// folder (config.json, safetensors, tokenizer files). Opening reads the headers. Immutable and thread-safe.
///
///     load::checkpoint files(path);
///     auto config = files.config();
///     auto up = files.at("model.layers.0.mlp.up_proj.weight", {config.intermediate, config.hidden});
class checkpoint {
 public:
  explicit checkpoint(const std::filesystem::path& path);  ///< throws load_error
  checkpoint(checkpoint&&) noexcept;
  checkpoint& operator=(checkpoint&&) noexcept;
  ~checkpoint();

  const std::filesystem::path& path() const noexcept;
  /// "llama", …: Transformers' name, or an unknown GGUF architecture. It needs no other part of the configuration.
  const std::string& family() const noexcept;
  /// For the model families of cogen: all fields as in the source.
  const config_fields& fields() const noexcept;
  /// The checked configuration, completed from the tensors and generation_config.json. Throws load_error.
  model_config config() const;
  /// Throws load_error if files are missing or the metadata have the wrong types.
  tokenizer_source tokenizer() const;
  /// The weight with this Hugging Face name ("model.layers.0.self_attn.q_proj.weight"), or nothing. A GGUF file's
  /// weights have a Llama's names, and those of the file ("blk.0.attn_q.weight").
  std::optional<weight> find(std::string_view name) const;
  /// The same, of this shape. Throws load_error, naming both shapes, if it is missing or differs.
  weight at(std::string_view name, std::initializer_list<std::int64_t> shape) const;
  weight at(std::string_view name, std::span<const std::int64_t> shape) const;

  /// The names of all tensors, in file order: of a GGUF file, a Llama's Hugging Face names where there are such.
  std::vector<std::string> weight_names() const;

  /// Throws load_error for the first tensor whose name is not in `expected`. Tensors that models do not need
  /// (precomputed rotary frequencies, the output matrix of tied embeddings) are always allowed.
  void refuse_others(std::span<const std::string> expected) const;

 private:
  struct contents;
  std::unique_ptr<const contents> contents_;
};

}  // namespace cogen::load
