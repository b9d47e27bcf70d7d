#pragma once

#include "load/element_type.hpp"
#include "load/temporary_folder.hpp"

#include <filesystem>
#include <string_view>

namespace cogen::golden {

/// float32, bfloat16 or float16. Throws std::invalid_argument for another name.
load::element_type stored_type_named(std::string_view name);

/// A copy of a model's folder whose tensors of floating-point numbers have another type, each where that has exactly
/// its numbers; all others stay as they are. Removed at the end.
class stored_copy {
 public:
  /// Throws std::runtime_error if no tensor of `folder` is one of a safetensors file, load::load_error if a file is
  /// wrong.
  stored_copy(const std::filesystem::path& folder, load::element_type type);

  const std::filesystem::path& path() const { return copy_.path(); }
  int tensors() const { return tensors_; }      ///< of floating-point numbers
  int converted() const { return converted_; }  ///< of them with that type, now or before

 private:
  void convert(const std::filesystem::path& from, const std::filesystem::path& to, load::element_type type);

  temporary_folder copy_;
  int tensors_ = 0;
  int converted_ = 0;
};

}  // namespace cogen::golden
