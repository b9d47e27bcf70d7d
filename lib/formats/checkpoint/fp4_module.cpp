#include "formats/checkpoint/module_kinds.hpp"
#include "formats/checkpoint/part_checks.hpp"
#include "formats/checkpoint/row_blocks.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace cogen::load {
namespace {

constexpr std::int64_t nvfp4_group = 16, mxfp4_group = 32;

std::vector<std::int64_t> unpacked_shape(const tensor_info& codes) {
  auto shape = codes.shape;
  shape.back() *= 2;
  return shape;
}

std::vector<std::uint8_t> read_bytes(const tensor_file& file, const tensor_info& tensor, std::int64_t first,
                                     std::int64_t count) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
  file.read(tensor, static_cast<std::uint64_t>(first), std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

class mxfp4_module final : public quantized_module {
 public:
  mxfp4_module(const tensor_file& stored, std::string name, const tensor_info& codes, const tensor_info& exponents)
      : quantized_module(stored, std::move(name), element_type::mxfp4, unpacked_shape(codes)),
        codes_(&codes),
        exponents_(&exponents) {}

 private:
  void read_rows(std::int64_t first, std::int64_t last, std::byte* out) const override {
    const auto in_row = inputs() / 2, groups = inputs() / mxfp4_group;
    const auto codes = read_bytes(stored(), *codes_, first * in_row, (last - first) * in_row);
    const auto exponents = read_bytes(stored(), *exponents_, first * groups, (last - first) * groups);
    write_mxfp4(codes, exponents, out);
  }

  const tensor_info* codes_;
  const tensor_info* exponents_;
};

/// Scales of the matrix are multipliers (ModelOpt) or divisors (compressed-tensors).
class nvfp4_module final : public quantized_module {
 public:
  nvfp4_module(const tensor_file& stored, const module_parts& parts, const tensor_info& codes)
      : quantized_module(stored, parts.weight_name,
                         codes.shape.back() % nvfp4_group == 0 ? element_type::scaled_e2m1 : element_type::f32,
                         unpacked_shape(codes)),
        codes_(&codes),
        scales_(parts.scale),
        divides_(parts.global_scale != nullptr),
        matrix_scales_(divides_ ? parts.global_scale : parts.second_scale),
        outputs_(codes.shape[codes.shape.size() - 2]) {}

 private:
  void read_rows(std::int64_t first, std::int64_t last, std::byte* out) const override {
    const auto in_row = inputs() / 2, groups = inputs() / nvfp4_group;
    const auto codes = read_bytes(stored(), *codes_, first * in_row, (last - first) * in_row);
    auto scales = read_scales(stored(), *scales_, first * groups, (last - first) * groups);
    const auto whole = read_scales(stored(), *matrix_scales_, 0, element_count(*matrix_scales_));
    for (std::int64_t row = first; row < last; ++row, out += row_bytes()) {
      const auto of_matrix = whole[whole.size() == 1 ? 0 : static_cast<std::size_t>(row / outputs_)];
      const auto own =
          std::span(scales).subspan(static_cast<std::size_t>((row - first) * groups), static_cast<std::size_t>(groups));
      for (auto& scale : own) scale = divides_ ? scale / of_matrix : scale * of_matrix;
      write_e2m1(
          weight().type,
          std::span(codes).subspan(static_cast<std::size_t>((row - first) * in_row), static_cast<std::size_t>(in_row)),
          own, out);
    }
  }

  const tensor_info* codes_;
  const tensor_info* scales_;
  bool divides_;
  const tensor_info* matrix_scales_;
  std::int64_t outputs_;
};

/// The same of ModelOpt where blocks of 64 fit, without the scale of the matrix, which is a factor of its own.
class scaled_nvfp4_module final : public quantized_module {
 public:
  scaled_nvfp4_module(const tensor_file& stored, const module_parts& parts, const tensor_info& codes)
      : quantized_module(stored, parts.weight_name, element_type::nvfp4, unpacked_shape(codes)),
        codes_(&codes),
        scales_(parts.scale),
        factors_(*parts.second_scale) {
    factors_.name = factor_name(parts.weight_name).value();
    factors_.shape = {element_count(factors_)};
  }

  /// Of a module's weight: NAME.scale of NAME.weight.
  static std::optional<std::string> factor_name(std::string_view weight) {
    constexpr std::string_view ending = ".weight";
    if (!weight.ends_with(ending)) return std::nullopt;
    return std::string(weight.substr(0, weight.size() - ending.size())) + ".scale";
  }

  std::optional<tensor_info> factors() const override { return factors_; }

 private:
  void read_rows(std::int64_t first, std::int64_t last, std::byte* out) const override {
    const auto in_row = inputs() / 2, groups = inputs() / nvfp4_group;
    const auto codes = read_bytes(stored(), *codes_, first * in_row, (last - first) * in_row);
    const auto scales = read_bytes(stored(), *scales_, first * groups, (last - first) * groups);
    if (std::ranges::any_of(scales, [](std::uint8_t scale) { return scale >= first_bad_scale; }))
      refuse_part(stored(), *scales_, "it has a scale that is negative or not a number; others are read");
    write_nvfp4(codes, scales, out);
  }

  static constexpr std::uint8_t first_bad_scale = 0x7F;

  const tensor_info* codes_;
  const tensor_info* scales_;
  tensor_info factors_;
};

bool takes_factor(const module_parts& parts, const tensor_info& codes) {
  constexpr std::int64_t block_bytes = 32;
  return parts.global_scale == nullptr && codes.shape.back() % block_bytes == 0 &&
         scaled_nvfp4_module::factor_name(parts.weight_name).has_value();
}

/// Scales of so many inputs each lie over the codes.
void check_scales(const tensor_file& stored, const tensor_info& codes, const tensor_info& scales, std::int64_t group) {
  auto expected = unpacked_shape(codes);
  const bool whole = expected.back() % group == 0;
  expected.back() /= group;
  if (!whole || scales.shape != expected)
    refuse(stored.path().string(), "{}, and {}; a scale for each {} numbers belongs to it", description(codes),
           description(scales), group);
}

}  // namespace

module_pointer make_fp4_module(const tensor_file& stored, const module_parts& parts) {
  const auto& codes = *parts.codes();
  const auto& scales = required(stored, parts.scale, "NAME_scale", codes);
  if (codes.shape.size() < 2) refuse_part(stored, codes, "matrices are read in this type");
  if (scales.type == element_type::u8 || scales.type == element_type::f8_e8m0) {
    check_scales(stored, codes, scales, mxfp4_group);
    return std::make_unique<const mxfp4_module>(stored, parts.weight_name, codes, scales);
  }
  if (scales.type != element_type::f8_e4m3)
    refuse_part(stored, scales,
                fmt::format("of {} scales in f8_e4m3 (NVFP4) or u8 (MXFP4) are read", in_quotes(codes.name)));
  check_scales(stored, codes, scales, nvfp4_group);
  const auto* found = parts.global_scale != nullptr ? parts.global_scale : parts.second_scale;
  const auto& whole = required(stored, found, "NAME_global_scale or NAME_scale_2", codes);
  const auto count = element_count(whole),
             stack = element_count(codes) / (codes.shape.back() * *(codes.shape.end() - 2));
  if (!is_scale_type(whole.type) || (count != 1 && count != stack))
    refuse_part(stored, whole, fmt::format("one number belongs to {}", in_quotes(codes.name)));
  if (takes_factor(parts, codes)) return std::make_unique<const scaled_nvfp4_module>(stored, parts, codes);
  return std::make_unique<const nvfp4_module>(stored, parts, codes);
}

}  // namespace cogen::load
