#pragma once

#include "formats/checkpoint/config_fields.hpp"
#include "formats/checkpoint/quantized_module.hpp"
#include "formats/checkpoint/tensor_file.hpp"
#include "formats/checkpoint/tensor_table.hpp"

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace cogen::load {

/// The tensors of a Hugging Face folder, in which each quantized weight is one tensor under its plain name, whichever
/// parts it is stored as. The tensors decide which modules are quantized: codes with their scales. Scales of
/// activations and of caches are left out.
class quantized_folder final : public tensor_file {
 public:
  /// Throws load_error for a method that is not read, for codes without scales, for scales without codes, and for parts
  /// that do not belong together.
  quantized_folder(std::unique_ptr<const tensor_file> stored, const config_fields& fields);

  std::span<const tensor_info> tensors() const noexcept override { return tensors_.tensors(); }
  const tensor_info* find(std::string_view name) const noexcept override { return tensors_.find(name); }
  const std::filesystem::path& path() const noexcept override { return stored_->path(); }

  /// Of quantized weights whole rows are read.
  void read(const tensor_info& tensor, std::uint64_t offset, std::span<std::byte> out) const override;

 private:
  std::vector<tensor_info> joined(const config_fields& fields);

  std::unique_ptr<const tensor_file> stored_;
  std::vector<std::unique_ptr<const quantized_module>> modules_;  // the `begin` of their tensors is an index into it
  tensor_table tensors_;
};

}  // namespace cogen::load
