#pragma once

#include "formats/checkpoint/quantized_blocks.hpp"
#include "load/temporary_folder.hpp"
#include "load/weights_file.hpp"

#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace cogen::golden {

/// float32, bfloat16 or float16. Throws std::invalid_argument for another name.
element_type stored_type_named(std::string_view name);

/// How weights are stored otherwise.
struct stored_form {
  std::optional<element_type> type;  // of each tensor that has exactly its numbers so
  int shards = 0;                    // files, of which each next tensor is in the next one; 0: as they are
};

/// A copy of a model's folder whose weights are stored in another form; tensors of other than floating-point numbers
/// keep their type, and those of folders in the folder their files. Removed at the end.
class stored_copy {
 public:
  /// Throws std::runtime_error if no tensor of `folder` is one of a safetensors file, load::load_error if a file is
  /// wrong.
  stored_copy(const std::filesystem::path& folder, stored_form form);

  const std::filesystem::path& path() const { return copy_.path(); }
  int tensors() const { return tensors_; }      ///< of floating-point numbers
  int converted() const { return converted_; }  ///< of them with that type, now or before

 private:
  void copy(const std::filesystem::path& source, const std::filesystem::path& name);
  void convert(std::span<test::stored_tensor> tensors);
  void write_shards() const;

  stored_form form_;
  temporary_folder copy_;
  std::vector<test::stored_tensor> spread_;  // over the shards
  int tensors_ = 0;
  int converted_ = 0;
};

}  // namespace cogen::golden
