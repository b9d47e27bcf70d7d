#pragma once

#include "formats/checkpoint/tensor_file.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cogen::load {

/// A weight that a folder has as codes, scales and zeros: one tensor, whose rows are joined as they are read. Any
/// thread; valid as long as the file of its parts.
class quantized_module {
 public:
  virtual ~quantized_module() = default;

  const tensor_info& weight() const noexcept { return weight_; }

  /// What multiplies the weight, a number for each matrix of a stack: the tensor NAME.scale beside NAME.weight, as GGUF
  /// files name it. Nothing where the weight has it in its blocks.
  virtual std::optional<tensor_info> factors() const { return std::nullopt; }

  /// As tensor_file::read(), of whole rows.
  void read(std::uint64_t offset, std::span<std::byte> out) const;

 protected:
  /// `shape`: outermost first, of two dimensions at least.
  quantized_module(const tensor_file& stored, std::string name, element_type type, std::vector<std::int64_t> shape);

  const tensor_file& stored() const noexcept { return *stored_; }
  std::int64_t inputs() const noexcept { return weight_.shape.back(); }
  std::size_t row_bytes() const noexcept { return row_bytes_; }

 private:
  /// Writes rows [first, last), one after the other, to `out`.
  virtual void read_rows(std::int64_t first, std::int64_t last, std::byte* out) const = 0;

  const tensor_file* stored_;
  tensor_info weight_;
  std::size_t row_bytes_;
};

}  // namespace cogen::load
