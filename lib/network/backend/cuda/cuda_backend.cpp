#include "network/backend/cuda/cuda_backend.hpp"

#include "network/backend/cuda/batch_invariance.hpp"
#include "network/backend/cuda/cuda_capture.hpp"
#include "network/backend/cuda/cuda_host_memory.hpp"
#include "network/backend/cuda/cuda_operators.hpp"
#include "network/backend/cuda/cuda_stream.hpp"
#include "network/backend/cuda/cuda_virtual_memory.hpp"
#include "network/backend/cuda/nccl_collectives.hpp"
#include "sampling/sample_cuda.hpp"

#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

#include <stdexcept>
#include <utility>

namespace cogen::device {

namespace {

class cuda_backend final : public backend {
 public:
  cuda_backend(int number, const backend_switches& switches)
      : number_(static_cast<c10::DeviceIndex>(number)), switches_(switches) {
    at::globalContext().lazyInitDevice(at::kCUDA);
  }

  at::Device device() const override { return {at::kCUDA, number_}; }
  std::string description() const override { return at::cuda::getDeviceProperties(number_)->name; }
  std::unique_ptr<stream> make_stream() const override { return make_cuda_stream(number_); }
  std::unique_ptr<operators> make_operators() const override {
    return make_cuda_operators(number_, switches_, attended_);
  }
  void check_batch_invariance(std::optional<std::string_view> part) const override {
    if (part) refuse_batch_invariance(*part);
  }
  std::unique_ptr<operators> make_batch_invariant_operators() const override {
    return make_batch_invariant_cuda_operators(number_);
  }

  std::unique_ptr<collectives> make_collectives(std::shared_ptr<parallel::rank_group> ranks) const override {
#ifdef COGEN_WITH_NCCL
    return make_nccl_collectives(number_, std::move(ranks));
#else
    throw std::invalid_argument(
        "load_options.parallel is over 1, and device is cuda; this build of cogen was configured without NCCL");
#endif
  }

  at::Tensor make_host(std::int64_t bytes) const override {
    const c10::cuda::CUDAGuard guard(number_);
    return pinned_memory(static_cast<std::size_t>(bytes));
  }

  /// What the allocator caches is free, too.
  std::int64_t free_bytes() const override {
    const c10::cuda::CUDAGuard guard(number_);
    std::size_t free = 0, total = 0;
    C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
    return static_cast<std::int64_t>(free) + cached_bytes(number_) - unallocated_promises(number_);
  }

  std::int64_t page_bytes() const override { return cuda_page_bytes(number_); }
  std::unique_ptr<cache::virtual_memory> reserve(std::int64_t bytes, std::int64_t limit) const override {
    return make_cuda_virtual_memory(number_, bytes, limit);
  }

  void allocate(const std::function<void()>& work) const override {
    const std::lock_guard lock(allocation_mutex());
    work();
  }

  int max_recorded_row() const override { return 16; }
  prompt_attention_counts prompt_attention() const override { return attended_->counts(); }
  std::int64_t max_vocabulary() const override { return cogen::cuda::max_sampled_vocabulary; }

  void synchronize() const override { c10::cuda::getDefaultCUDAStream(number_).synchronize(); }

 private:
  const c10::DeviceIndex number_;
  const backend_switches switches_;
  const std::shared_ptr<prompt_attention_log> attended_ = std::make_shared<prompt_attention_log>();
};

}  // namespace

int cuda_devices() noexcept { return at::cuda::device_count(); }

std::shared_ptr<const backend> make_cuda_backend(int number, const backend_switches& switches) {
  return std::make_shared<const cuda_backend>(number, switches);
}

}  // namespace cogen::device
