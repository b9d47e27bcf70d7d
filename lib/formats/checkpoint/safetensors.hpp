#pragma once

#include "formats/checkpoint/tensor_file.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace cogen::load {

/// One safetensors file (github.com/huggingface/safetensors, "Format"). Types: F64, F32, F16, BF16, I8 to I64, U8 to
/// U64, BOOL; any other is refused by name. The header is at most 100 MB, begins with `{`, and may end in spaces.
/// Tensors follow one another from 0 without gaps or overlap, and the last ends with the file.
class safetensors_file final : public tensor_file {
 public:
  /// Throws load_error.
  explicit safetensors_file(const std::filesystem::path& path);
  ~safetensors_file() override;

  std::span<const tensor_info> tensors() const noexcept override;
  const tensor_info* find(std::string_view name) const noexcept override;
  void read(const tensor_info& tensor, std::uint64_t offset, std::span<std::byte> out) const override;
  const std::filesystem::path& path() const noexcept override;

  /// The strings under "__metadata__".
  const std::map<std::string, std::string>& metadata() const noexcept;

 private:
  struct contents;
  std::unique_ptr<const contents> contents_;
};

/// The safetensors files of a Hugging Face folder: model.safetensors if it exists, else the shards listed in
/// model.safetensors.index.json. Shard names must be plain file names. Each listed tensor must be in its shard and in
/// no other, and no shard may hold an unlisted tensor. Dense layers in modules.json have tensors "2_Dense.NAME", after
/// the folder.
class safetensors_folder final : public tensor_file {
 public:
  /// Throws load_error.
  explicit safetensors_folder(const std::filesystem::path& folder);
  ~safetensors_folder() override;

  std::span<const tensor_info> tensors() const noexcept override;
  const tensor_info* find(std::string_view name) const noexcept override;
  void read(const tensor_info& tensor, std::uint64_t offset, std::span<std::byte> out) const override;
  const std::filesystem::path& path() const noexcept override;

 private:
  struct contents;
  std::unique_ptr<const contents> contents_;
};

}  // namespace cogen::load
