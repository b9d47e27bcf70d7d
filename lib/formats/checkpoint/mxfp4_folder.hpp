#pragma once

#include "formats/checkpoint/tensor_file.hpp"
#include "formats/checkpoint/tensor_table.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace cogen::load {

/// The tensors of a Hugging Face folder whose quantization method is mxfp4. What it stores as NAME_blocks u8
/// [..., groups, 16] and NAME_scales u8 [..., groups] is one tensor here, NAME mxfp4 [..., groups * 32].
class mxfp4_folder final : public tensor_file {
 public:
  /// Throws load_error where one of both is missing, or is not of such a shape.
  explicit mxfp4_folder(std::unique_ptr<const tensor_file> stored);

  std::span<const tensor_info> tensors() const noexcept override { return tensors_.tensors(); }
  const tensor_info* find(std::string_view name) const noexcept override { return tensors_.find(name); }
  const std::filesystem::path& path() const noexcept override { return stored_->path(); }

  /// Of mxfp4 tensors whole blocks are read.
  void read(const tensor_info& tensor, std::uint64_t offset, std::span<std::byte> out) const override;

 private:
  struct pair {
    const tensor_info* blocks;
    const tensor_info* scales;
  };

  std::vector<tensor_info> joined();
  std::optional<pair> pair_of(const tensor_info& tensor) const;
  const tensor_info& named(std::string_view start, std::string_view ending, const tensor_info& partner) const;
  void check_shapes(const pair& both) const;

  std::unique_ptr<const tensor_file> stored_;
  std::vector<pair> pairs_;  // the `begin` of an mxfp4 tensor is an index into it
  tensor_table tensors_;
};

}  // namespace cogen::load
