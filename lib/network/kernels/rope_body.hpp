#pragma once

#include "network/kernels/elementwise_body.hpp"
#include "network/kernels/kernel_table.hpp"
#include "network/kernels/simd.hpp"

#include <cstddef>
#include <cstdint>

// Rotary positions, and keys and values on their way into the cache.
namespace cogen::kernels {
namespace {

struct as_f32 {
  static constexpr int size = 4;
  static void store(std::byte* target, simd::f v) { simd::store(reinterpret_cast<float*>(target), v); }
};
struct as_f16 {
  static constexpr int size = 2;
  static void store(std::byte* target, simd::f v) { simd::store_f16(target, v); }
};
struct as_bf16 {
  static constexpr int size = 2;
  static void store(std::byte* target, simd::f v) { simd::store_bf16(target, v); }
};

// out [width], in the cache's format, from floats.
template <class Format>
void write(const float* source, std::byte* target, int width) {
  over_row(
      width, [&](row_span span) __attribute__((always_inline)) {
        const simd::f v = load(source, span);
        if (span.live == simd::width) return Format::store(target + span.offset * Format::size, v);
        std::byte lanes[simd::width * Format::size];
        Format::store(lanes, v);
        __builtin_memcpy(target + span.offset * Format::size, lanes,
                         static_cast<std::size_t>(span.live) * Format::size);
      });
}

void write(cache::scalar type, const float* source, std::byte* target, int width) {
  switch (type) {
    case cache::scalar::f32:
      return write<as_f32>(source, target, width);
    case cache::scalar::f16:
      return write<as_f16>(source, target, width);
    case cache::scalar::bf16:
      return write<as_bf16>(source, target, width);
    case cache::scalar::fp8:
      break;  // not of this processor
  }
}

template <class Number>
void scatter(const Number* source, int count, std::byte* target, std::int64_t stride) {
  for (int index = 0; index < count; ++index, target += stride)
    __builtin_memcpy(target, source + index, sizeof(Number));
}

// A head's key, each dimension in a row of its own.
void write_key(const rope_append_job& job, const float* source, std::byte* target) {
  if (job.type == cache::scalar::f32) return scatter(source, job.head_dim, target, job.key_stride);
  alignas(64) std::uint16_t numbers[max_head_dim];
  write(job.type, source, reinterpret_cast<std::byte*>(numbers), job.head_dim);
  scatter(numbers, job.head_dim, target, job.key_stride);
}

// One head: pairs (i, i + pairs) turned by the position's angles; target may be source.
void rotate(const float* rotation, int pairs, const float* source, float* target) {
  over_row(
      pairs, [&](row_span span) __attribute__((always_inline)) {
        const simd::f cosine = load(rotation, span), sine = load(rotation + pairs, span);
        const simd::f a = load(source, span), b = load(source + pairs, span);
        store(target, simd::sub(simd::mul(a, cosine), simd::mul(b, sine)), span);
        store(target + pairs, simd::fma(a, sine, simd::mul(b, cosine)), span);
      });
}

void rope_append_token(const rope_append_job& job) {
  if (job.rotation)
    for (int head = 0; head < job.heads; ++head) {
      float* q = job.q + head * job.head_dim + job.first_rotated;
      rotate(job.rotation, job.pairs, q, q);
    }
  for (int head = 0; head < job.kv_heads; ++head) {
    const float* k = job.k + head * job.head_dim;
    std::byte* key = job.key + head * job.head_stride;
    if (job.rotation) {
      alignas(64) float turned[max_head_dim];
      __builtin_memcpy(turned, k, static_cast<std::size_t>(job.head_dim) * sizeof(float));
      rotate(job.rotation, job.pairs, turned + job.first_rotated, turned + job.first_rotated);
      write_key(job, turned, key);
    } else {
      write_key(job, k, key);
    }
    if (job.value) write(job.type, job.v + head * job.head_dim, job.value + head * job.head_stride, job.head_dim);
  }
}

}  // namespace
}  // namespace cogen::kernels
