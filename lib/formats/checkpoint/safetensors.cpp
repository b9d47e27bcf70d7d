#include "formats/checkpoint/safetensors.hpp"

#include "formats/checkpoint/input_file.hpp"
#include "formats/checkpoint/safetensors_header.hpp"
#include "formats/checkpoint/tensor_table.hpp"

#include <utility>

namespace cogen::load {

struct safetensors_file::contents {
  explicit contents(const std::filesystem::path& path)
      : file(path), header(read_safetensors_header(file)), tensors(std::exchange(header.tensors, {}), file.name()) {}

  input_file file;
  safetensors_header header;
  tensor_table tensors;
};

safetensors_file::safetensors_file(const std::filesystem::path& path)
    : contents_(std::make_unique<const contents>(path)) {}
safetensors_file::~safetensors_file() = default;

std::span<const tensor_info> safetensors_file::tensors() const noexcept { return contents_->tensors.tensors(); }

const tensor_info* safetensors_file::find(std::string_view name) const noexcept {
  return contents_->tensors.find(name);
}

void safetensors_file::read(const tensor_info& tensor, std::uint64_t offset, std::span<std::byte> out) const {
  read_tensor(contents_->file, tensor, offset, out);
}

const std::filesystem::path& safetensors_file::path() const noexcept { return contents_->file.path(); }

const std::map<std::string, std::string>& safetensors_file::metadata() const noexcept {
  return contents_->header.metadata;
}

}  // namespace cogen::load
