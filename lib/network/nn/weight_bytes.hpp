#pragma once

#include "network/nn/blocks.hpp"

#include <cstdint>
#include <variant>

namespace cogen::nn {

// Bytes of weights that a step reads of a part.

template <class B>
std::int64_t bytes_of(const parts::attention<B>& part) {
  return B::bytes(part.qkv) + B::bytes(part.output);
}

template <class B>
std::int64_t bytes_of(const parts::latent_attention<B>& part) {
  std::int64_t bytes = B::bytes(part.in) + B::bytes(part.q) + B::bytes(part.output);
  for (const auto* heads : {&part.absorb, &part.expand})
    for (const auto& head : *heads) bytes += B::bytes(head);
  return bytes;
}

template <class B>
std::int64_t bytes_of(const parts::cross_attention<B>& part) {
  return B::bytes(part.q) + B::bytes(part.output);
}

template <class B>
std::int64_t bytes_of(const parts::mamba<B>& part) {
  return B::bytes(part.in) + part.scan.bytes() + B::bytes(part.output);
}

template <class B>
std::int64_t bytes_of(const parts::recurrent_mixer<B>& part) {
  const auto own = std::visit([](const auto& mixer) { return mixer.bytes(); }, part.mixer);
  return B::bytes(part.in) + B::bytes(part.decisions) + own + B::bytes(part.output);
}

template <class B>
std::int64_t bytes_of(const parts::time_mix<B>& part) {
  std::int64_t bytes = B::bytes(part.output);
  for (const auto& each : part.in) bytes += B::bytes(each);
  return bytes;
}

template <class B>
std::int64_t bytes_of(const parts::channel_mix<B>& part) {
  std::int64_t bytes = B::bytes(part.product);
  for (const auto& each : part.in) bytes += B::bytes(each);
  return bytes;
}

template <class B>
std::int64_t bytes_of(const parts::mlp<B>& part) {
  return B::bytes(part.up) + B::bytes(part.down);
}

template <class B>
std::int64_t bytes_of(const parts::linear<B>& part) {
  return B::bytes(part.product);
}

template <class B>
std::int64_t bytes_of(const parts::layer_input<B>& part) {
  return B::bytes(part.gate) + B::bytes(part.down);
}

template <class B>
std::int64_t bytes_of(const parts::low_rank<B>& part) {
  return B::bytes(part.left) + B::bytes(part.right) + B::bytes(part.norm);
}

template <class B>
std::int64_t bytes_of(const parts::stream_step<B>& part) {
  return B::bytes(part.router) + B::bytes(part.coefficients) + B::bytes(part.norm);
}

/// Those of all experts: a step with many rows chooses each of them.
template <class B>
std::int64_t bytes_of(const parts::mixture_of_experts<B>& part) {
  std::int64_t bytes = B::bytes(part.router) + B::bytes(part.into_latent) + B::bytes(part.out_of_latent);
  for (const auto& expert : part.experts) bytes += bytes_of(expert);
  return bytes;
}

template <class B>
std::int64_t bytes_of(const blocks<B>& stack) {
  std::int64_t bytes = 0;
  for (const auto& block : stack.items()) {
    bytes += std::visit([](const auto& part) { return bytes_of(part); }, block.part);
    for (const auto* norm : {&block.pre_norm, &block.after.after, &block.after.post}) bytes += B::bytes(*norm);
  }
  return bytes;
}

}  // namespace cogen::nn
