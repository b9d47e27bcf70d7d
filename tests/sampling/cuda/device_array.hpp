#pragma once

#include <algorithm>
#include <cstddef>
#include <cuda_runtime_api.h>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace cogen::test {

inline void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

/// Memory of the device.
template <typename T>
class device_array {
 public:
  explicit device_array(std::size_t size) : size_(size) {
    check(cudaMalloc(reinterpret_cast<void**>(&data_), std::max<std::size_t>(size, 1) * sizeof(T)));
  }
  explicit device_array(std::span<const T> values) : device_array(values.size()) { write(values); }
  explicit device_array(const std::vector<T>& values) : device_array(std::span<const T>(values)) {}
  device_array(device_array&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  ~device_array() { cudaFree(data_); }

  T* data() const { return data_; }

  void write(std::span<const T> values) {
    if (values.size() > size_) throw std::length_error("more than the device array holds");
    check(cudaMemcpy(data_, values.data(), values.size_bytes(), cudaMemcpyHostToDevice));
  }

  std::vector<T> read() const {
    std::vector<T> values(size_);
    check(cudaMemcpy(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

class device_stream {
 public:
  device_stream() { check(cudaStreamCreate(&stream_)); }
  device_stream(const device_stream&) = delete;
  device_stream& operator=(const device_stream&) = delete;
  ~device_stream() { cudaStreamDestroy(stream_); }

  operator cudaStream_t() const { return stream_; }
  void wait() const { check(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// What was enqueued on a stream within `enqueue`, to be run again and again.
class device_graph {
 public:
  template <typename Enqueue>
  device_graph(cudaStream_t stream, Enqueue enqueue) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    enqueue();
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream, &graph));
    const auto status = cudaGraphInstantiate(&graph_, graph, 0);
    cudaGraphDestroy(graph);
    check(status);
  }
  device_graph(const device_graph&) = delete;
  device_graph& operator=(const device_graph&) = delete;
  ~device_graph() { cudaGraphExecDestroy(graph_); }

  void launch(cudaStream_t stream) const { check(cudaGraphLaunch(graph_, stream)); }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace cogen::test
