#include "network/backend/cuda/nccl_collectives.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <nccl.h>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace cogen::device {

namespace {

/// From here on each rank adds one slice and sends the others its sums: less is sent, but twice.
constexpr std::int64_t large = std::int64_t{1} << 18;

/// How long a call of NCCL may take to return before what it uses is aborted.
constexpr std::chrono::milliseconds patience(100);

std::size_t size_of(const at::Tensor& numbers) { return static_cast<std::size_t>(numbers.numel()); }

/// What rank 0 tells the others, by which they find each other.
ncclUniqueId shared_id(parallel::rank_group& ranks) {
  ncclUniqueId id{};
  const auto bytes = std::as_writable_bytes(std::span(&id, 1));
  if (ranks.leads()) {
    if (const auto result = ncclGetUniqueId(&id); result != ncclSuccess)
      throw std::runtime_error(fmt::format("NCCL: {}", ncclGetErrorString(result)));
    ranks.tell(bytes);
    return id;
  }
  const auto told = ranks.listen();
  if (told.size() != bytes.size())
    throw parallel::rank_error(fmt::format("rank 0 sent {} bytes where {} were expected", told.size(), bytes.size()));
  std::memcpy(bytes.data(), told.data(), told.size());
  return id;
}

/// A communicator that other threads may abort while it is used: the kernels that wait for other ranks end.
class communicator {
 public:
  communicator(int device, parallel::rank_group& ranks) : device_(static_cast<c10::DeviceIndex>(device)) {
    const c10::cuda::CUDAGuard guard(device_);
    const auto place = ranks.tensor();
    require(ncclCommInitRank(&comm_, place.count, shared_id(ranks), place.index));
  }
  communicator(const communicator&) = delete;
  communicator& operator=(const communicator&) = delete;

  /// Does not wait for other ranks, as ncclCommDestroy() might. Graphs that use it have been destroyed.
  ~communicator() {
    if (aborting_.joinable()) {
      aborting_.join();
    } else {
      const c10::cuda::CUDAGuard guard(device_);
      ncclCommAbort(comm_);
    }
  }

  /// Calls work(COMMUNICATOR, current stream), which enqueues.
  template <class Work>
  void call(const Work& work) {
    begin_call();
    const auto result = work(comm_, c10::cuda::getCurrentCUDAStream(device_).stream());
    end_call();
    require(result);
  }

  /// On a thread of its own, because NCCL waits for the end of graphs before it frees what they use.
  void abort(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_ = std::make_exception_ptr(parallel::rank_error(why));
    aborting_ = std::thread([this] {
      {
        std::unique_lock called(mutex_);
        returned_.wait_for(called, patience, [this] { return !is_called_; });
      }
      const c10::cuda::CUDAGuard guard(device_);
      ncclCommAbort(comm_);
    });
  }

  std::exception_ptr failure() const noexcept {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

 private:
  void begin_call() {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    is_called_ = true;
  }

  void end_call() {
    const std::lock_guard lock(mutex_);
    is_called_ = false;
    returned_.notify_all();
  }

  void require(ncclResult_t result) const {
    if (result == ncclSuccess) return;
    if (const auto why = failure()) std::rethrow_exception(why);
    throw std::runtime_error(fmt::format("NCCL: {}: {}", ncclGetErrorString(result), ncclGetLastError(nullptr)));
  }

  const c10::DeviceIndex device_;
  ncclComm_t comm_ = nullptr;
  mutable std::mutex mutex_;
  std::condition_variable returned_;
  bool is_called_ = false;
  std::exception_ptr failure_;
  std::thread aborting_;
};

class nccl_collectives final : public collectives {
 public:
  nccl_collectives(int device, std::shared_ptr<parallel::rank_group> ranks)
      : ranks_(std::move(ranks)),
        communicator_(device, *ranks_),
        watching_(ranks_->watch([this](const std::string& why) { communicator_.abort(why); })) {
    connect(device);
  }

  parallel::place place() const override { return ranks_->tensor(); }

  void sum(const at::Tensor& numbers) override {
    const auto flat = numbers.view(-1);
    if (flat.numel() == 0) return;
    if (place().count > 2 && flat.numel() >= large)
      sum_by_slices(flat);
    else
      sum_at_once(flat);
  }

  /// To all ranks: each has links of its own, on which it takes no longer.
  void gather(const at::Tensor& part, const std::vector<at::Tensor>& parts) override {
    communicator_.call([&](ncclComm_t comm, cudaStream_t stream) {
      ncclGroupStart();
      for (int rank = 0; rank < place().count; ++rank) {
        const auto& target = parts.at(static_cast<std::size_t>(rank));
        ncclBroadcast(part.const_data_ptr(), target.mutable_data_ptr(), size_of(target), ncclFloat32, rank, comm,
                      stream);
      }
      return ncclGroupEnd();
    });
  }
  bool gathers() const override { return true; }

  void broadcast(const at::Tensor& numbers) override {
    communicator_.call([&](ncclComm_t comm, cudaStream_t stream) {
      void* const data = numbers.mutable_data_ptr();
      return ncclBroadcast(data, data, numbers.nbytes(), ncclUint8, 0, comm, stream);
    });
  }

  void fail(std::string_view why) noexcept override { ranks_->fail_soon(why); }
  std::exception_ptr failure() const noexcept override { return communicator_.failure(); }

 private:
  /// NCCL connects ranks and allocates when they first exchange something, which no graph may record.
  void connect(int device) {
    const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device));
    const auto numbers = at::zeros({large}, at::TensorOptions(at::Device(at::kCUDA, guard.current_device().index())));
    sum_at_once(numbers.narrow(0, 0, place().count));
    sum_by_slices(numbers);
    broadcast(numbers);
    c10::cuda::getCurrentCUDAStream().synchronize();
    if (const auto why = failure()) std::rethrow_exception(why);
  }

  /// sum = the first part + the second + ...
  void add_in_order(const at::Tensor& parts, at::Tensor sum) const {
    at::add_out(sum, parts.select(0, 0), parts.select(0, 1));
    for (int rank = 2; rank < place().count; ++rank) sum.add_(parts.select(0, rank));
  }

  void sum_at_once(const at::Tensor& numbers) {
    const auto parts = at::empty({place().count, numbers.numel()}, numbers.options());
    communicator_.call([&](ncclComm_t comm, cudaStream_t stream) {
      return ncclAllGather(numbers.const_data_ptr(), parts.mutable_data_ptr(), size_of(numbers), ncclFloat32, comm,
                           stream);
    });
    add_in_order(parts, numbers);
  }

  void sum_by_slices(const at::Tensor& numbers) {
    const auto [own, count] = place();
    const auto slice = [&, ranks = count](int rank) {
      const auto first = numbers.numel() * rank / ranks;
      return numbers.narrow(0, first, numbers.numel() * (rank + 1) / ranks - first);
    };
    const auto mine = slice(own);
    const auto parts = at::empty({count, mine.numel()}, numbers.options());
    parts.select(0, own).copy_(mine);
    communicator_.call([&, own = own, ranks = count](ncclComm_t comm, cudaStream_t stream) {
      ncclGroupStart();
      for (int rank = 0; rank < ranks; ++rank) {
        if (rank == own) continue;
        const auto theirs = slice(rank);
        const auto part = parts.select(0, rank);
        ncclSend(theirs.const_data_ptr(), size_of(theirs), ncclFloat32, rank, comm, stream);
        ncclRecv(part.mutable_data_ptr(), size_of(part), ncclFloat32, rank, comm, stream);
      }
      return ncclGroupEnd();
    });
    add_in_order(parts, mine);
    communicator_.call([&, ranks = count](ncclComm_t comm, cudaStream_t stream) {
      ncclGroupStart();
      for (int rank = 0; rank < ranks; ++rank) {
        const auto sums = slice(rank);
        ncclBroadcast(sums.const_data_ptr(), sums.mutable_data_ptr(), size_of(sums), ncclFloat32, rank, comm, stream);
      }
      return ncclGroupEnd();
    });
  }

  const std::shared_ptr<parallel::rank_group> ranks_;
  communicator communicator_;
  const std::shared_ptr<void> watching_;  // ends before what it calls
};

}  // namespace

std::unique_ptr<collectives> make_nccl_collectives(int device, std::shared_ptr<parallel::rank_group> ranks) {
  return std::make_unique<nccl_collectives>(device, std::move(ranks));
}

}  // namespace cogen::device
