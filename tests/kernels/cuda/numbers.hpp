#pragma once

#include "device.hpp"
#include "network/kernels/cache_layout.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <iostream>
#include <random>
#include <string>
#include <vector>

namespace cogen::kernels::cuda {

inline std::string name_of(number type) {
  switch (type) {
    case number::f32:
      return "f32";
    case number::f16:
      return "f16";
    case number::bf16:
      return "bf16";
    case number::fp8:
      return "fp8";
  }
  return "?";
}

/// The seed of this run: COGEN_SEED, or a fresh one; printed, so that a failure can be repeated.
inline std::uint32_t run_seed() {
  static const std::uint32_t seed = [] {
    const char* given = std::getenv("COGEN_SEED");
    const std::uint32_t value = given ? static_cast<std::uint32_t>(std::stoul(given)) : std::random_device{}();
    std::cout << "COGEN_SEED=" << value << std::endl;
    return value;
  }();
  return seed;
}

/// Random numbers of about a normal distribution (the sum of four even ones), quick to sample.
class random_source {
 public:
  explicit random_source(std::uint32_t stream) : state_(run_seed() * 0x9E3779B97F4A7C15U + stream) {}

  std::uint64_t bits() {
    std::uint64_t x = state_ += 0x9E3779B97F4A7C15U;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9U;
    x = (x ^ x >> 27) * 0x94D049BB133111EBU;
    return x ^ x >> 31;
  }
  unsigned below(unsigned end) { return static_cast<unsigned>(bits() % end); }
  float normal() {
    const std::uint64_t x = bits();
    const auto quarter = [&](int index) { return static_cast<float>(x >> (16 * index) & 0xffff) / 65536.0F - 0.5F; };
    return 1.7320508F * (quarter(0) + quarter(1) + quarter(2) + quarter(3));
  }
  std::vector<float> normals(std::size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = normal();
    return values;
  }

 private:
  std::uint64_t state_;
};

inline void encode(number type, float value, std::byte* target) {
  if (type == number::f32) {
    std::memcpy(target, &value, 4);
  } else if (type == number::f16) {
    const __half x = __float2half_rn(value);
    std::memcpy(target, &x, 2);
  } else if (type == number::bf16) {
    const __nv_bfloat16 x = __float2bfloat16_rn(value);
    std::memcpy(target, &x, 2);
  } else {
    const __nv_fp8_storage_t x = __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
    std::memcpy(target, &x, 1);
  }
}

inline float decode(number type, const std::byte* source) {
  if (type == number::f32) {
    float value = 0;
    std::memcpy(&value, source, 4);
    return value;
  }
  if (type == number::f16) {
    __half x;
    std::memcpy(&x, source, 2);
    return __half2float(x);
  }
  if (type == number::bf16) {
    __nv_bfloat16 x;
    std::memcpy(&x, source, 2);
    return __bfloat162float(x);
  }
  __nv_fp8_storage_t x = 0;
  std::memcpy(&x, source, 1);
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(x, __NV_E4M3)));
}

inline std::vector<std::byte> encoded(number type, const std::vector<float>& values) {
  const auto size = static_cast<std::size_t>(bytes_of(type));
  std::vector<std::byte> bytes(values.size() * size);
  for (std::size_t index = 0; index < values.size(); ++index) encode(type, values[index], bytes.data() + index * size);
  return bytes;
}

inline std::vector<float> decoded(number type, const std::vector<std::byte>& bytes) {
  const auto size = static_cast<std::size_t>(bytes_of(type));
  std::vector<float> values(bytes.size() / size);
  for (std::size_t index = 0; index < values.size(); ++index) values[index] = decode(type, bytes.data() + index * size);
  return values;
}

/// The values as a kernel will read them.
inline std::vector<float> rounded_to(number type, const std::vector<float>& values) {
  return decoded(type, encoded(type, values));
}

/// Numbers of some format in device memory; NaN until written.
class device_numbers {
 public:
  device_numbers(number type, std::size_t count)
      : type_(type), bytes_(count * static_cast<std::size_t>(bytes_of(type))) {}
  device_numbers(number type, const std::vector<float>& values) : type_(type), bytes_(encoded(type, values)) {}

  std::byte* data() const { return bytes_.data(); }
  void poison() { bytes_.poison(); }
  void write(const std::vector<float>& values) { bytes_.write(encoded(type_, values)); }
  std::vector<std::byte> bytes() const { return bytes_.read(); }
  std::vector<float> read() const { return decoded(type_, bytes_.read()); }

 private:
  number type_;
  device_bytes bytes_;
};

/// How much a result may differ from the exact one, relative to the largest, when it is rounded to the type.
inline double precision_of(number type) { return type == number::f32 ? 1e-6 : type == number::f16 ? 1e-3 : 8e-3; }

/// The largest difference, relative to the largest expected value; infinite if anything is not a number.
inline double error_of(const std::vector<float>& values, const std::vector<double>& expected) {
  if (values.size() != expected.size()) return INFINITY;
  double worst = 0, largest = 1e-30;
  for (std::size_t index = 0; index < values.size(); ++index) {
    const double difference = std::abs(values[index] - expected[index]);
    if (!(difference <= worst)) worst = std::isnan(difference) ? INFINITY : difference;
    largest = std::max(largest, std::abs(expected[index]));
  }
  return worst / largest;
}

inline constexpr number half_types[] = {number::f16, number::bf16};

}  // namespace cogen::kernels::cuda
