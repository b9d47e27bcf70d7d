#include "network/backend/cuda/cublaslt_products.hpp"

#include "network/backend/cuda/row_buckets.hpp"

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <string_view>

namespace cogen::device {

namespace {

constexpr int timed_suggestions = 8;
constexpr int timed_runs = 5;

void require(cublasStatus_t status, std::string_view call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(fmt::format("cuBLASLt, {}: {}", call, cublasLtGetStatusString(status)));
}

cudaDataType_t type_of(at::ScalarType type) {
  if (type == at::kHalf) return CUDA_R_16F;
  return type == at::kBFloat16 ? CUDA_R_16BF : CUDA_R_32F;
}

bool has_aligned_data(const at::Tensor& tensor) {
  constexpr std::uintptr_t alignment = 16;
  return !tensor.defined() ||
         (tensor.is_contiguous() && reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % alignment == 0);
}

bool is_of_known_types(const matrix_product& product) {
  const auto type = product.x.scalar_type(), y_type = product.y.scalar_type();
  return (type == at::kHalf || type == at::kBFloat16) && product.weights.scalar_type() == type &&
         (y_type == type || y_type == at::kFloat) && (!product.bias.defined() || product.bias.scalar_type() == y_type);
}

bool is_capturing() { return c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None; }

}  // namespace

/// A product as cuBLASLt describes it, whose matrices are stored by columns: y^T = weights x^T.
class cublaslt_products::described_product {
 public:
  described_product(const product_form& form, std::int64_t rows) {
    const auto type = type_of(form.type), y_type = type_of(form.y_type);
    require(cublasLtMatmulDescInit(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "a product");
    set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    if (form.biased) set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    describe(weights_, type, form.inputs, form.outputs);
    describe(x_, type, form.inputs, rows);
    describe(y_, y_type, form.outputs, rows);
  }

  template <class Value>
  void set(cublasLtMatmulDescAttributes_t which, Value value) {
    require(cublasLtMatmulDescSetAttribute(&operation_, which, &value, sizeof value), "a product's attribute");
  }

  cublasLtMatmulDesc_t operation() { return &operation_; }
  cublasLtMatrixLayout_t weights() { return &weights_; }
  cublasLtMatrixLayout_t x() { return &x_; }
  cublasLtMatrixLayout_t y() { return &y_; }

 private:
  static void describe(cublasLtMatrixLayoutOpaque_t& matrix, cudaDataType_t type, std::int64_t column,
                       std::int64_t columns) {
    require(cublasLtMatrixLayoutInit(&matrix, type, static_cast<std::uint64_t>(column),
                                     static_cast<std::uint64_t>(columns), column),
            "a matrix");
  }

  cublasLtMatmulDescOpaque_t operation_;
  cublasLtMatrixLayoutOpaque_t weights_, x_, y_;
};

struct cublaslt_products::shared_algorithms {
  std::mutex mutex;
  algorithms chosen;
};

cublaslt_products::shared_algorithms& cublaslt_products::of_all_engines() {
  static shared_algorithms shared;
  return shared;
}

bool cublaslt_products::multiply(const matrix_product& product) {
  if (!is_of_known_types(product) || !has_aligned_data(product.x) || !has_aligned_data(product.weights) ||
      !has_aligned_data(product.bias) || !has_aligned_data(product.y))
    return false;
  if (product.x.size(0) == 0) return true;
  make_ready();
  const auto choice = chosen_for(product);
  if (!choice) return false;
  require(run(product, *choice), "multiplying");
  return true;
}

void cublaslt_products::make_ready() {
  if (handle_) return;
  cublasLtHandle_t handle = nullptr;
  require(cublasLtCreate(&handle), "starting");
  handle_.reset(handle);
  workspace_ = at::empty({static_cast<std::int64_t>(workspace_bytes)}, at::TensorOptions(at::kCUDA).dtype(at::kByte));
}

cublaslt_products::product_form cublaslt_products::form_of(const matrix_product& product) {
  return {.device = product.x.device().index(),
          .rows = row_bucket(product.x.size(0)),
          .outputs = product.weights.size(0),
          .inputs = product.weights.size(1),
          .type = product.x.scalar_type(),
          .y_type = product.y.scalar_type(),
          .biased = product.bias.defined(),
          .adds = product.adds};
}

cublaslt_products::algorithm cublaslt_products::chosen_for(const matrix_product& product) {
  const auto form = form_of(product);
  if (const auto found = chosen_.find(form); found != chosen_.end()) return found->second;
  if (is_capturing()) {
    const auto suggested = suggestions(form, 1);
    return suggested.empty() ? std::nullopt : algorithm(suggested.front());
  }
  auto& [mutex, chosen] = of_all_engines();
  const std::lock_guard lock(mutex);
  for (const auto rows : row_buckets(product.x.size(0))) {
    auto smaller = form;
    smaller.rows = rows;
    if (!chosen.contains(smaller)) chosen.emplace(smaller, fastest(smaller, product));
    chosen_.emplace(smaller, chosen.at(smaller));
  }
  return chosen_.at(form);
}

/// Times those of the product's rows that the bucket has room for. What is added to stays as it is.
cublaslt_products::algorithm cublaslt_products::fastest(const product_form& form, const matrix_product& product) {
  auto some = product;
  const auto rows = std::min(form.rows, product.x.size(0));
  some.x = product.x.narrow(0, 0, rows);
  some.y = product.adds ? at::empty_like(product.y.narrow(0, 0, rows)) : product.y.narrow(0, 0, rows);
  algorithm best;
  std::optional<float> least;
  for (const auto& each : suggestions(form, timed_suggestions))
    if (const auto time = time_of(each, some); time && (!least || *time < *least)) best = each, least = time;
  return best;
}

/// Milliseconds of some runs; none if the algorithm does not run.
std::optional<float> cublaslt_products::time_of(const cublasLtMatmulAlgo_t& choice, const matrix_product& product) {
  if (run(product, choice) != CUBLAS_STATUS_SUCCESS) return std::nullopt;
  at::cuda::CUDAEvent begin(cudaEventDefault), end(cudaEventDefault);
  begin.record();
  for (int i = 0; i < timed_runs; ++i) require(run(product, choice), "multiplying");
  end.record();
  end.synchronize();
  return begin.elapsed_time(end);
}

/// Such as suit any number of rows up to that of the form. Parts of a sum are added in float32.
std::vector<cublasLtMatmulAlgo_t> cublaslt_products::suggestions(const product_form& form, int most) {
  described_product described(form, form.rows);
  cublasLtMatmulPreferenceOpaque_t preference;
  require(cublasLtMatmulPreferenceInit(&preference), "a preference");
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t which, auto value) {
    require(cublasLtMatmulPreferenceSetAttribute(&preference, which, &value, sizeof value), "a preference");
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{workspace_bytes});
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  for (const auto which : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                           CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    prefer(which, std::uint32_t{16});
  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<std::size_t>(most));
  int count = 0;
  const auto status =
      cublasLtMatmulAlgoGetHeuristic(handle_.get(), described.operation(), described.weights(), described.x(),
                                     described.y(), described.y(), &preference, most, found.data(), &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  require(status, "asking for algorithms");
  std::vector<cublasLtMatmulAlgo_t> usable;
  for (int i = 0; i < count; ++i)
    if (const auto& suggestion = found[static_cast<std::size_t>(i)]; suggestion.state == CUBLAS_STATUS_SUCCESS)
      usable.push_back(suggestion.algo);
  return usable;
}

cublasStatus_t cublaslt_products::run(const matrix_product& product, const cublasLtMatmulAlgo_t& choice) {
  described_product described(form_of(product), product.x.size(0));
  if (product.bias.defined()) described.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, product.bias.const_data_ptr());
  const float alpha = 1, kept = product.adds ? 1 : 0;
  void* const y = product.y.mutable_data_ptr();
  return cublasLtMatmul(handle_.get(), described.operation(), &alpha, product.weights.const_data_ptr(),
                        described.weights(), product.x.const_data_ptr(), described.x(), &kept, y, described.y(), y,
                        described.y(), &choice, workspace_.mutable_data_ptr(), workspace_bytes,
                        at::cuda::getCurrentCUDAStream());
}

}  // namespace cogen::device
