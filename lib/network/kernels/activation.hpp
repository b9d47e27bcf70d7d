#pragma once

#include "network/kernels/activation_kind.hpp"
#include "network/kernels/execution.hpp"
#include "network/kernels/prologue.hpp"
#include "network/kernels/strided_rows.hpp"

#include <cstdint>

namespace cogen::kernels {

struct activation_job;

/// out = f(x), or f(x) * factor where there is one. Strides count floats between rows. out may be x.
struct activation_operands {
  activation kind = activation::silu;
  strided_rows<const float> x = {};       // [rows, width]
  strided_rows<const float> factor = {};  // [rows, width], or none
  strided_rows<float> out = {};           // [rows, width]
  std::int64_t rows = 0;
  std::int64_t width = 0;
  const float* parameters = nullptr;  // [4], of xielu and swiglu_oai; [1], of softcap
};

/// Each element's result depends on that element alone; relative error about 5e-7 where the result is not tiny beside
/// its input. Any thread.
void activate(const execution& run, const activation_operands& operands);

/// The same as a product's rows (linear_operands::maker).
class activated_rows final : public prologue {
 public:
  activated_rows(const execution& run, const activation_operands& operands);
  void make(std::int64_t row) const override;

 private:
  void (*activate_)(const activation_job& job);
  activation_operands operands_;
};

}  // namespace cogen::kernels
