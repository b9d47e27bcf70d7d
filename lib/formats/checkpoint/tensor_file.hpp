#pragma once

#include "formats/checkpoint/quantized_blocks.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::load {

/// One named tensor of a file, dense and row-major.
struct tensor_info {
  std::string name;
  element_type type{};
  std::vector<std::int64_t> shape;  ///< outermost first: [rows, columns]; empty for a scalar
  std::uint64_t bytes = 0;          ///< of the whole tensor
  std::uint32_t file = 0;           ///< index of the file that holds it, among the source's files
  std::uint64_t begin = 0;          ///< its first byte, from the start of that file
};

/// The product of all dimensions; 1 for a scalar.
std::int64_t element_count(const tensor_info& tensor) noexcept;

/// Named tensors in one or several files. Opening checks every name, size and offset; the data stay on disk. Immutable
/// and thread-safe.
class tensor_file {
 public:
  virtual ~tensor_file() = default;

  /// All tensors, in file order. Names are unique.
  virtual std::span<const tensor_info> tensors() const noexcept = 0;

  /// The tensor of that name, or nullptr.
  virtual const tensor_info* find(std::string_view name) const noexcept = 0;

  /// Fills `out` with the tensor's bytes from `offset` on. The data are read, never mapped: a file truncated since it
  /// was opened gives load_error. Throws std::out_of_range if the range exceeds the tensor.
  virtual void read(const tensor_info& tensor, std::uint64_t offset, std::span<std::byte> out) const = 0;

  /// The path it was opened with, for messages.
  virtual const std::filesystem::path& path() const noexcept = 0;
};

}  // namespace cogen::load
