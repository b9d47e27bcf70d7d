#include "formats/checkpoint/module_kinds.hpp"
#include "formats/checkpoint/part_checks.hpp"
#include "formats/checkpoint/row_blocks.hpp"

#include <algorithm>
#include <utility>

namespace cogen::load {
namespace {

/// Which scale a weight has: of a matrix in a stack, [its rows / outputs, its inputs / inputs], row by row.
struct scale_grid {
  std::int64_t outputs = 1;  // that share a scale
  std::int64_t inputs = 1;
  std::int64_t rows = 1;  // of a matrix's scales
  std::int64_t columns = 1;
  bool stacked = false;  // whether each matrix of a stack has its own
};

/// A stack of matrices, [out, in] each; of one matrix the stack is 1.
struct stack_shape {
  std::int64_t stack, outputs, inputs;
};

stack_shape shape_of(const tensor_info& codes) {
  const auto inputs = codes.shape.back(), outputs = codes.shape[codes.shape.size() - 2];
  return {element_count(codes) / (inputs * outputs), outputs, inputs};
}

class fp8_module final : public quantized_module {
 public:
  fp8_module(const tensor_file& stored, std::string name, const tensor_info& codes, const tensor_info& scales,
             const scale_grid& grid)
      : quantized_module(stored, std::move(name), type_of(codes, grid), codes.shape),
        codes_(&codes),
        scales_(&scales),
        grid_(grid),
        outputs_(shape_of(codes).outputs) {}

 private:
  // Blocks of the type have a scale, so that they are within one of the grid's.
  static element_type type_of(const tensor_info& codes, const scale_grid& grid) {
    const auto block = layout(element_type::scaled_e4m3).elements;
    const bool whole = codes.shape.back() % block == 0 && (grid.columns == 1 || grid.inputs % block == 0);
    return whole ? element_type::scaled_e4m3 : element_type::f32;
  }

  void read_rows(std::int64_t first, std::int64_t last, std::byte* out) const override {
    const auto inputs = static_cast<std::size_t>(this->inputs());
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(last - first) * inputs);
    stored().read(*codes_, static_cast<std::uint64_t>(first) * inputs, std::as_writable_bytes(std::span(codes)));
    const auto first_scale = scale_row(first);
    const auto scales = read_scales(stored(), *scales_, first_scale * grid_.columns,
                                    (scale_row(last - 1) + 1 - first_scale) * grid_.columns);
    for (std::int64_t row = first; row < last; ++row, out += row_bytes()) {
      const auto begin = static_cast<std::size_t>((scale_row(row) - first_scale) * grid_.columns);
      write_e4m3(weight().type, std::span(codes).subspan(static_cast<std::size_t>(row - first) * inputs, inputs),
                 std::span(scales).subspan(begin, static_cast<std::size_t>(grid_.columns)),
                 grid_.columns == 1 ? this->inputs() : grid_.inputs, out);
    }
  }

  std::int64_t scale_row(std::int64_t row) const {
    const auto matrix = grid_.stacked ? row / outputs_ : 0;
    return matrix * grid_.rows + row % outputs_ / grid_.outputs;
  }

  const tensor_info* codes_;
  const tensor_info* scales_;
  scale_grid grid_;
  std::int64_t outputs_;
};

/// How a tensor of scales lies over the codes. Throws load_error where it does not.
scale_grid grid_of(const tensor_file& stored, const tensor_info& codes, const tensor_info& scales,
                   const quantization_method& method) {
  const auto [stack, outputs, inputs] = shape_of(codes);
  const auto count = element_count(scales);
  const auto& shape = scales.shape;
  scale_grid grid{.outputs = outputs, .inputs = inputs};
  if (count == 1) return grid;
  if (count == 0) refuse_part(stored, scales, "scales are one at least");
  const bool stacked = codes.shape.size() > 2;
  grid.stacked = stacked;
  if (stacked && count == stack) return grid;
  if (count == stack * outputs && (shape.back() == 1 || shape.size() + 1 == codes.shape.size())) {
    grid.outputs = 1;
    grid.rows = outputs;
    return grid;
  }
  const bool is_grid = shape.size() == codes.shape.size() && shape.size() >= 2;
  const auto rows = is_grid ? shape[shape.size() - 2] : 0, columns = is_grid ? shape.back() : 0;
  grid.rows = rows;
  grid.columns = columns;
  const auto block = std::ranges::find_if(method.blocks, [&](const scale_block& size) {
    return rows == divided_up(outputs, size.outputs) && columns == divided_up(inputs, size.inputs);
  });
  if (is_grid && rows * columns * stack == count && block != method.blocks.end()) {
    grid.outputs = block->outputs;
    grid.inputs = block->inputs;
    return grid;
  }
  if (is_grid && rows * columns * stack == count && rows == outputs && columns > 0 && inputs % columns == 0) {
    grid.outputs = 1;
    grid.inputs = inputs / columns;
    return grid;
  }
  refuse(stored.path().string(),
         "{}, and {}; one scale, one for each row or group of one, or one for each block of [{}, {}] belongs to it",
         description(codes), description(scales), method.blocks.front().outputs, method.blocks.front().inputs);
}

}  // namespace

module_pointer make_fp8_module(const tensor_file& stored, const module_parts& parts,
                               const quantization_method& method) {
  const auto& codes = *parts.weight;
  const auto* found = parts.scale_inv != nullptr ? parts.scale_inv : parts.scale;
  const auto& scales = required(stored, found, "NAME_scale_inv or NAME_scale", codes);
  if (codes.shape.size() < 2) refuse_part(stored, codes, "matrices are read in this type");
  if (parts.zero_point != nullptr) refuse_part(stored, *parts.zero_point, "numbers of FP8 are read without zeros");
  if (!is_scale_type(scales.type)) refuse_part(stored, scales, "scales of FP8 are f32, f16, bf16 or f8_e8m0");
  return std::make_unique<const fp8_module>(stored, parts.weight_name, codes, scales,
                                            grid_of(stored, codes, scales, method));
}

}  // namespace cogen::load
