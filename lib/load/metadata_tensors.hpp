#pragma once

#include "load/config_fields.hpp"
#include "load/tensor_table.hpp"

#include <filesystem>
#include <vector>

namespace cogen::load {

/// Numbers that Transformers keeps in tensors and a GGUF file in its metadata: xIELU's parameters, an array of a number
/// for each layer. Those of layer 3 are "blk.3.act_fn.alpha_p", "blk.3.act_fn.beta" and so on.
class metadata_tensors final : public tensor_file {
 public:
  /// `path` is the file's. Throws load_error where an array has another length than there are layers.
  metadata_tensors(const config_fields& fields, std::filesystem::path path);

  std::span<const tensor_info> tensors() const noexcept override { return table_.tensors(); }
  const tensor_info* find(std::string_view name) const noexcept override { return table_.find(name); }
  void read(const tensor_info& tensor, std::uint64_t offset, std::span<std::byte> out) const override;
  const std::filesystem::path& path() const noexcept override { return path_; }

 private:
  std::filesystem::path path_;
  std::vector<float> numbers_;
  tensor_table table_;
};

}  // namespace cogen::load
