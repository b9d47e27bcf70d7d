#pragma once

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <cuda_runtime_api.h>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cogen::kernels::cuda {

inline void require(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

/// A precondition of every suite here; says which ones are skipped.
inline boost::test_tools::assertion_result on_device(boost::unit_test::test_unit_id suite) {
  int count = 0;
  const bool present = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
  if (!present) {
    cudaGetLastError();
    std::cout << "no CUDA device: " << boost::unit_test::framework::get(suite, boost::unit_test::TUT_ANY).full_name()
              << " is skipped" << std::endl;
  }
  boost::test_tools::assertion_result result(present);
  result.message() << "no CUDA device";
  return result;
}

/// A precondition of what looks for kernels that begin before others have ended.
inline boost::test_tools::assertion_result kernels_overlap(boost::unit_test::test_unit_id) {
  int concurrent = 0;
  require(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentKernels, 0));
  boost::test_tools::assertion_result result(concurrent != 0);
  result.message() << "the device runs one kernel at a time";
  return result;
}

/// Device memory between two guards, every byte of it 0xff at first: NaN in all formats.
class device_bytes {
 public:
  explicit device_bytes(std::size_t size) : size_(size) {
    require(cudaMalloc(&memory_, size_ + 2 * guard));
    require(cudaMemset(memory_, 0xff, size_ + 2 * guard));
    require(cudaDeviceSynchronize());  // streams here do not wait for the default one
  }
  explicit device_bytes(const std::vector<std::byte>& bytes) : device_bytes(bytes.size()) { write(bytes); }
  device_bytes(device_bytes&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  device_bytes& operator=(device_bytes&&) = delete;
  ~device_bytes() { cudaFree(memory_); }

  std::size_t size() const { return size_; }
  std::byte* data() const { return static_cast<std::byte*>(memory_) + guard; }

  void poison() {
    require(cudaMemset(data(), 0xff, size_));
    require(cudaDeviceSynchronize());
  }

  void write(const std::vector<std::byte>& bytes) {
    require(cudaMemcpy(data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
    require(cudaDeviceSynchronize());
  }

  /// What it holds; fails the test if a guard was touched.
  std::vector<std::byte> read() const {
    require(cudaDeviceSynchronize());
    std::vector<std::byte> buffer(size_ + 2 * guard);
    require(cudaMemcpy(buffer.data(), memory_, buffer.size(), cudaMemcpyDeviceToHost));
    const auto untouched = [](std::byte byte) { return byte == std::byte{0xff}; };
    const auto end = buffer.begin() + static_cast<std::ptrdiff_t>(guard + size_);
    BOOST_TEST(std::all_of(buffer.begin(), buffer.begin() + guard, untouched));
    BOOST_TEST(std::all_of(end, buffer.end(), untouched));
    return {buffer.begin() + guard, end};
  }

 private:
  static constexpr std::ptrdiff_t guard = 256;
  void* memory_ = nullptr;
  std::size_t size_;
};

/// An array of plain values in device memory.
template <class T>
class device_array {
 public:
  explicit device_array(const std::vector<T>& values) : bytes_(values.size() * sizeof(T)) { write(values); }
  T* data() const { return reinterpret_cast<T*>(bytes_.data()); }
  void write(const std::vector<T>& values) {
    const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
    bytes_.write({bytes, bytes + values.size() * sizeof(T)});
  }
  std::vector<T> read() const {
    const std::vector<std::byte> bytes = bytes_.read();
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

 private:
  device_bytes bytes_;
};

/// decode_operands::counters before and after a launch.
inline std::vector<std::int32_t> no_counts(int count) {
  return std::vector<std::int32_t>(static_cast<std::size_t>(count));
}

class device_stream {
 public:
  device_stream() { require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  device_stream(const device_stream&) = delete;
  device_stream& operator=(const device_stream&) = delete;
  ~device_stream() { cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Launches that were recorded once and can be repeated.
class captured_graph {
 public:
  template <class Launches>
  captured_graph(cudaStream_t stream, Launches launches) {
    cudaGraph_t graph = nullptr;
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    launches(stream);
    require(cudaStreamEndCapture(stream, &graph));
    require(cudaGraphInstantiate(&graph_, graph, 0));
    require(cudaGraphDestroy(graph));
  }
  captured_graph(const captured_graph&) = delete;
  captured_graph& operator=(const captured_graph&) = delete;
  ~captured_graph() { cudaGraphExecDestroy(graph_); }

  void replay(cudaStream_t stream) const { require(cudaGraphLaunch(graph_, stream)); }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace cogen::kernels::cuda
