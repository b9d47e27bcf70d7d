#include "formats/checkpoint/gguf.hpp"

#include "formats/checkpoint/gguf_parts.hpp"
#include "formats/checkpoint/message.hpp"
#include "formats/checkpoint/name_index.hpp"
#include "formats/checkpoint/tensor_table.hpp"

#include <algorithm>
#include <iterator>
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

namespace {

std::vector<tensor_info> take_tensors(std::vector<gguf_part>& parts) {
  auto tensors = std::exchange(parts.front().header.tensors, {});
  for (auto part = parts.begin() + 1; part != parts.end(); ++part) {
    std::ranges::move(std::exchange(part->header.tensors, {}), std::back_inserter(tensors));
  }
  return tensors;
}

}  // namespace

struct gguf_file::contents {
  explicit contents(const std::filesystem::path& path)
      : parts(open_gguf_parts(path)),
        tensors(take_tensors(parts), first().file.name()),
        keys({first().header.keys.begin(), first().header.keys.end()}) {
    if (const auto key = keys.duplicate())
      refuse(first().file.name(), "metadata key {} is there twice", in_quotes(*key));
  }

  const gguf_part& first() const { return parts.front(); }

  std::vector<gguf_part> parts;
  tensor_table tensors;
  name_index keys;
};

gguf_file::gguf_file(const std::filesystem::path& path) : contents_(std::make_unique<const contents>(path)) {}
gguf_file::~gguf_file() = default;

std::span<const tensor_info> gguf_file::tensors() const noexcept { return contents_->tensors.tensors(); }

const tensor_info* gguf_file::find(std::string_view name) const noexcept { return contents_->tensors.find(name); }

void gguf_file::read(const tensor_info& tensor, std::uint64_t offset, std::span<std::byte> out) const {
  read_tensor(contents_->parts.at(tensor.file).file, tensor, offset, out);
}

const std::filesystem::path& gguf_file::path() const noexcept { return contents_->first().file.path(); }
std::uint32_t gguf_file::version() const noexcept { return contents_->first().header.version; }
const std::vector<std::string>& gguf_file::keys() const noexcept { return contents_->first().header.keys; }

const gguf_value* gguf_file::metadata(std::string_view key) const noexcept {
  const auto position = contents_->keys.find(key);
  return position ? &contents_->first().header.values[*position] : nullptr;
}

}  // namespace cogen::load
