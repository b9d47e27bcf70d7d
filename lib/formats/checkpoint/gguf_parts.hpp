#pragma once

#include "formats/checkpoint/gguf_header.hpp"
#include "formats/checkpoint/input_file.hpp"

#include <filesystem>
#include <vector>

namespace cogen::load {

/// One file of a GGUF model.
struct gguf_part {
  explicit gguf_part(const std::filesystem::path& path) : file(path), header(read_gguf_header(file)) {}

  input_file file;
  gguf_header header;
};

/// The files of a GGUF model whose first one is `path`: all parts, if its metadata say that the model is split
/// (split.count; github.com/ggml-org/llama.cpp, tools/gguf-split), or that file alone. Parts lie in one folder, and
/// their names end in -00001-of-00003.gguf, and so on. Each tensor's `file` is the part that holds it. Throws
/// load_error where a part is missing, says that it is another one, or has a tensor that a part before it has, and
/// where split.tensors.count is not the number of all tensors.
std::vector<gguf_part> open_gguf_parts(const std::filesystem::path& path);

/// Whether a file of that name is a part of a split model, but not its first.
bool is_later_gguf_part(const std::filesystem::path& path);

}  // namespace cogen::load
