#include "network/nn/host_tensor.hpp"

#include <c10/core/CPUAllocator.h>
#include <c10/core/Storage.h>
#include <c10/core/TensorImpl.h>

#include <array>
#include <utility>

namespace cogen::nn {

namespace {

at::Tensor floats_in(c10::Storage memory, std::int64_t rows, std::int64_t columns) {
  auto tensor = c10::make_intrusive<c10::TensorImpl>(std::move(memory), c10::DispatchKeySet(c10::DispatchKey::CPU),
                                                     caffe2::TypeMeta::Make<float>());
  tensor->set_sizes_contiguous(std::array{rows, columns});
  return at::Tensor(std::move(tensor));
}

}  // namespace

at::Tensor host_floats(std::int64_t rows, std::int64_t columns) {
  const auto bytes = rows * columns * std::int64_t{sizeof(float)};
  return floats_in({c10::Storage::use_byte_size_t(), bytes, c10::GetCPUAllocator(), /*resizable=*/false}, rows,
                   columns);
}

at::Tensor first_rows(const at::Tensor& tensor, std::int64_t count) {
  return floats_in(tensor.storage(), count, tensor.size(1));
}

}  // namespace cogen::nn
