#include "network/kernels/device_numbers.cuh"
#include "network/kernels/launch.cuh"
#include "network/kernels/selective_scan_cuda.hpp"

#include <stdexcept>

// A thread has one channel of one sequence, and takes its tokens one after the other.
namespace cogen::kernels::cuda {
namespace {

constexpr int threads = 128;
constexpr int max_taps = 8;

/// Consecutive tokens of one slot.
struct sequence_tokens {
  std::int64_t first;
  int count;
  int slot;
  bool begins;  // the slot was empty
};

__device__ inline sequence_tokens tokens_of(const sequence_rows& rows, int row) {
  sequence_tokens found{row, 1};
  if (row >= rows.single) {
    const std::int32_t* start = rows.prompt_starts + (row - rows.single);
    found.first = std::int64_t{rows.single} + start[0];
    found.count = start[1] - start[0];
  }
  found.slot = rows.slots[found.first];
  found.begins = rows.positions[found.first] == 0;
  return found;
}

__device__ inline float silu(float x) { return x / (1.0F + expf(-x)); }

__device__ inline float softplus(float x) { return fmaxf(x, 0.0F) + log1pf(expf(-fabsf(x))); }

template <class T>
__device__ inline float number_at(const void* numbers, std::int64_t index) {
  return static_cast<float>(static_cast<const T*>(numbers)[index]);
}

template <class T>
__device__ inline void set_number(void* numbers, std::int64_t index, float number) {
  static_cast<T*>(numbers)[index] = static_cast<T>(number);
}

template <class T>
__global__ void __launch_bounds__(threads)
    convolution_kernel(sequence_rows rows, causal_convolution_operands operands) {
  const int channel = static_cast<int>(blockIdx.x) * threads + static_cast<int>(threadIdx.x);
  if (channel >= operands.channels) return;
  const sequence_tokens tokens = tokens_of(rows, static_cast<int>(blockIdx.y));
  if (tokens.slot < 0) {
    for (int i = 0; i < tokens.count; ++i)
      set_number<T>(operands.out, (tokens.first + i) * operands.channels + channel, 0.0F);
    return;
  }
  float* const inputs = operands.inputs.states + tokens.slot * operands.inputs.slot_stride + channel;
  float window[max_taps] = {}, weight[max_taps] = {};  // aligned at their ends
  const int unused = max_taps - operands.taps;
#pragma unroll
  for (int i = 0; i < max_taps; ++i) {
    if (i < unused) continue;
    weight[i] = operands.weight[std::int64_t{i - unused} * operands.channels + channel];
    if (i > unused && !tokens.begins) window[i] = inputs[std::int64_t{i - unused - 1} * operands.channels];
  }
  const float bias = operands.bias != nullptr ? operands.bias[channel] : 0.0F;
  for (int token = 0; token < tokens.count; ++token) {
    const std::int64_t row = tokens.first + token;
    float sum = bias;
#pragma unroll
    for (int i = 0; i < max_taps; ++i) {
      if (i < unused) continue;
      window[i] = i + 1 < max_taps ? window[i + 1] : number_at<T>(operands.x, row * operands.x_stride + channel);
      sum = fmaf(window[i], weight[i], sum);
    }
    set_number<T>(operands.out, row * operands.channels + channel, silu(sum));
  }
#pragma unroll
  for (int i = 0; i < max_taps; ++i)
    if (i > unused) inputs[std::int64_t{i - unused - 1} * operands.channels] = window[i];
}

template <class T, int max_states>
__global__ void __launch_bounds__(threads) scan_kernel(sequence_rows rows, selective_scan_operands operands) {
  const int channel = static_cast<int>(blockIdx.x) * threads + static_cast<int>(threadIdx.x);
  if (channel >= operands.channels) return;
  const sequence_tokens tokens = tokens_of(rows, static_cast<int>(blockIdx.y));
  if (tokens.slot < 0) {
    for (int i = 0; i < tokens.count; ++i)
      set_number<T>(operands.out, (tokens.first + i) * operands.out_stride + channel, 0.0F);
    return;
  }
  float* const state = operands.h.states + tokens.slot * operands.h.slot_stride + channel;
  float h[max_states] = {}, decay[max_states] = {};
#pragma unroll
  for (int n = 0; n < max_states; ++n) {
    if (n >= operands.states) continue;
    decay[n] = operands.decay[std::int64_t{n} * operands.channels + channel];
    if (!tokens.begins) h[n] = state[std::int64_t{n} * operands.channels];
  }
  const float skip = operands.skip[channel];
  for (int token = 0; token < tokens.count; ++token) {
    const std::int64_t row = tokens.first + token;
    const float x = number_at<T>(operands.x, row * operands.channels + channel);
    const float step = softplus(operands.step[row * operands.channels + channel]);
    float out = 0.0F;
#pragma unroll
    for (int n = 0; n < max_states; ++n) {
      if (n >= operands.states) continue;
      h[n] = fmaf(h[n], expf(step * decay[n]), step * x * operands.b[row * operands.bc_stride + n]);
      out = fmaf(h[n], operands.c[row * operands.bc_stride + n], out);
    }
    const float gate = number_at<T>(operands.gate, row * operands.gate_stride + channel);
    set_number<T>(operands.out, row * operands.out_stride + channel, fmaf(x, skip, out) * silu(gate));
  }
#pragma unroll
  for (int n = 0; n < max_states; ++n)
    if (n < operands.states) state[std::int64_t{n} * operands.channels] = h[n];
}

dim3 grid_for(const sequence_rows& rows, int channels) {
  return {static_cast<unsigned>((channels + threads - 1) / threads), static_cast<unsigned>(rows.single + rows.prompts)};
}

void check_type(const char* name, number type) {
  if (type != number::f16 && type != number::bf16)
    throw std::invalid_argument(std::string(name) + ": only f16 and bf16 are possible");
}

void check_range(const char* name, const char* quantity, int value, int most) {
  if (value < 1 || value > most)
    throw std::invalid_argument(std::string(name) + ": " + std::to_string(value) + " " + quantity +
                                "; possible are 1 to " + std::to_string(most));
}

}  // namespace

void causal_convolution(const sequence_rows& rows, const causal_convolution_operands& operands, cudaStream_t stream) {
  check_type("causal_convolution", operands.type);
  check_range("causal_convolution", "taps", operands.taps, max_taps);
  with_half_type(operands.type, [&](auto type) {
    launch("causal_convolution", convolution_kernel<decltype(type)>, grid_for(rows, operands.channels), threads, stream,
           rows, operands);
  });
}

void selective_scan(const sequence_rows& rows, const selective_scan_operands& operands, cudaStream_t stream) {
  constexpr int few_states = 16, max_states = 64;
  check_type("selective_scan", operands.type);
  check_range("selective_scan", "states", operands.states, max_states);
  with_half_type(operands.type, [&](auto type) {
    using T = decltype(type);
    const auto kernel = operands.states <= few_states ? scan_kernel<T, few_states> : scan_kernel<T, max_states>;
    launch("selective_scan", kernel, grid_for(rows, operands.channels), threads, stream, rows, operands);
  });
}

}  // namespace cogen::kernels::cuda
