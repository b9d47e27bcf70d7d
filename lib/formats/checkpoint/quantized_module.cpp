#include "formats/checkpoint/quantized_module.hpp"

#include "formats/checkpoint/message.hpp"

#include <stdexcept>
#include <utility>

namespace cogen::load {

quantized_module::quantized_module(const tensor_file& stored, std::string name, element_type type,
                                   std::vector<std::int64_t> shape)
    : stored_(&stored), weight_{.name = std::move(name), .type = type, .shape = std::move(shape)} {
  const auto [elements, bytes] = layout(type);
  row_bytes_ = static_cast<std::size_t>(inputs() / elements * bytes);
  weight_.bytes = static_cast<std::uint64_t>(element_count(weight_) / elements * bytes);
}

void quantized_module::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > weight_.bytes || out.size() > weight_.bytes - offset || offset % row_bytes_ != 0 ||
      out.size() % row_bytes_ != 0)
    throw std::out_of_range(fmt::format("{}: bytes [{}, {}) of tensor {} were asked for; it has {}, in rows of {}",
                                        stored_->path().string(), offset, offset + out.size(), in_quotes(weight_.name),
                                        weight_.bytes, row_bytes_));
  const auto first = static_cast<std::int64_t>(offset / row_bytes_);
  if (!out.empty()) read_rows(first, first + static_cast<std::int64_t>(out.size() / row_bytes_), out.data());
}

}  // namespace cogen::load
