#pragma once

#include "formats/checkpoint/tensor_file.hpp"
#include "formats/json/string_list.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cogen::load {

/// One metadata value with its type in the file. Arrays hold scalars or strings; arrays of arrays are refused.
using gguf_value =
    std::variant<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t, std::int32_t, std::uint64_t,
                 std::int64_t, float, double, bool, std::string, std::vector<std::uint8_t>, std::vector<std::int8_t>,
                 std::vector<std::uint16_t>, std::vector<std::int16_t>, std::vector<std::uint32_t>,
                 std::vector<std::int32_t>, std::vector<std::uint64_t>, std::vector<std::int64_t>, std::vector<float>,
                 std::vector<double>, std::vector<bool>, json::string_list>;

/// Any integer type, if the value fits; nothing for other types.
std::optional<std::int64_t> as_integer(const gguf_value& value) noexcept;
/// Any integer or floating-point type; nothing for other types.
std::optional<double> as_real(const gguf_value& value) noexcept;

/// A GGUF file, or the parts of a split one, version 2 or 3, little-endian
/// (github.com/ggml-org/ggml/blob/master/docs/gguf.md). Tensor types: F32, F16, BF16, F64, I8 to I64, Q4_0, Q4_1, Q5_0,
/// Q5_1, Q8_0, Q2_K to Q6_K, IQ4_NL, IQ4_XS, MXFP4; any other is refused by name. Dimensions are in row-major order:
/// GGUF's [columns, rows] is shape [rows, columns] here. Keys and names are unique. Tensors follow one another at the
/// file's alignment, and the last ends with the file. Opening needs memory in proportion to the actual metadata,
/// whatever counts the file claims.
class gguf_file final : public tensor_file {
 public:
  /// Of a split file, the path of the first part. Throws load_error.
  explicit gguf_file(const std::filesystem::path& path);
  ~gguf_file() override;

  std::span<const tensor_info> tensors() const noexcept override;
  const tensor_info* find(std::string_view name) const noexcept override;
  void read(const tensor_info& tensor, std::uint64_t offset, std::span<std::byte> out) const override;
  const std::filesystem::path& path() const noexcept override;

  std::uint32_t version() const noexcept;
  /// All keys, in file order; of a split file, those of its first part.
  const std::vector<std::string>& keys() const noexcept;
  /// The value of a key such as "general.architecture", or nullptr.
  const gguf_value* metadata(std::string_view key) const noexcept;

 private:
  struct contents;
  std::unique_ptr<const contents> contents_;
};

}  // namespace cogen::load
