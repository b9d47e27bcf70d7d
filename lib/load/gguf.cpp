#include "load/gguf.hpp"

#include "load/gguf_header.hpp"
#include "load/input_file.hpp"
#include "load/message.hpp"
#include "load/name_index.hpp"
#include "load/tensor_table.hpp"

#include <limits>
#include <type_traits>
#include <utility>

namespace cogen::load {

std::optional<std::int64_t> as_integer(const gguf_value& value) noexcept {
  return std::visit(
      [](const auto& held) -> std::optional<std::int64_t> {
        using held_type = std::decay_t<decltype(held)>;
        if constexpr (std::is_integral_v<held_type> && !std::is_same_v<held_type, bool>) {
          if (std::in_range<std::int64_t>(held)) return static_cast<std::int64_t>(held);
        }
        return std::nullopt;
      },
      value);
}

std::optional<double> as_real(const gguf_value& value) noexcept {
  return std::visit(
      [](const auto& held) -> std::optional<double> {
        using held_type = std::decay_t<decltype(held)>;
        if constexpr (std::is_arithmetic_v<held_type> && !std::is_same_v<held_type, bool>) {
          return static_cast<double>(held);
        }
        return std::nullopt;
      },
      value);
}

struct gguf_file::contents {
  explicit contents(const std::filesystem::path& path)
      : file(path),
        header(read_gguf_header(file)),
        tensors(std::exchange(header.tensors, {}), file.name()),
        keys({header.keys.begin(), header.keys.end()}) {
    if (const auto key = keys.duplicate()) refuse(file.name(), "metadata key {} is there twice", in_quotes(*key));
  }

  input_file file;
  gguf_header header;
  tensor_table tensors;
  name_index keys;
};

gguf_file::gguf_file(const std::filesystem::path& path) : contents_(std::make_unique<const contents>(path)) {}
gguf_file::~gguf_file() = default;

std::span<const tensor_info> gguf_file::tensors() const noexcept { return contents_->tensors.tensors(); }

const tensor_info* gguf_file::find(std::string_view name) const noexcept { return contents_->tensors.find(name); }

void gguf_file::read(const tensor_info& tensor, std::uint64_t offset, std::span<std::byte> out) const {
  read_tensor(contents_->file, tensor, offset, out);
}

const std::filesystem::path& gguf_file::path() const noexcept { return contents_->file.path(); }
std::uint32_t gguf_file::version() const noexcept { return contents_->header.version; }
const std::vector<std::string>& gguf_file::keys() const noexcept { return contents_->header.keys; }

const gguf_value* gguf_file::metadata(std::string_view key) const noexcept {
  const auto position = contents_->keys.find(key);
  return position ? &contents_->header.values[*position] : nullptr;
}

}  // namespace cogen::load
