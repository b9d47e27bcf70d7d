#pragma once

#include "network/backend/tensors.hpp"
#include "network/nn/blocks.hpp"

#include <algorithm>
#include <cstdint>
#include <variant>

namespace cogen::nn {

/// The most columns that blocks on a device need of each intermediate tensor.
struct scratch_widths {
  std::int64_t qkv = 0;
  std::int64_t attended = 0;
  std::int64_t mixed = 0;
  std::int64_t decisions = 0;
  std::int64_t inner = 0;
  std::int64_t experts = 0;
  bool joins = false;
  bool reads_embeddings = false;

  void add(const blocks<device::tensors>& stack) {
    for (const auto& block : stack.items()) {
      std::visit([this](const auto& part) { add(part); }, block.part);
      joins |= block.shared_norm.has_value() || block.feeds_next != models::feed::nothing;
    }
  }

 private:
  using tensors = device::tensors;

  void add(const parts::attention<tensors>& part) {
    widen(part.heads.qkv_width(), part.heads.q_width());
    reads_embeddings |= part.reads_embeddings;
  }
  void add(const parts::latent_attention<tensors>& part) {
    widen(std::max(part.heads.qkv_width(), part.out_width()), std::max(part.heads.q_width(), part.in_width()));
  }
  void add(const parts::cross_attention<tensors>& part) {
    widen(std::max(part.heads.q_width(), 2 * part.heads.kv_width()), part.heads.q_width());
  }
  void add(const parts::mamba<tensors>& part) { mix(part.scan.in_width(), part.scan.channels()); }
  void add(const parts::recurrent_mixer<tensors>& part) {
    std::visit(
        [this](const auto& mixer) {
          mix(mixer.spec.in_width(), mixer.spec.out_width());
          decisions = std::max(decisions, mixer.spec.decisions());
        },
        part.mixer);
  }
  void add(const parts::time_mix<tensors>& part) { mixed = std::max(mixed, part.spec.channels); }
  void add(const parts::channel_mix<tensors>&) { joins = true; }
  void add(const parts::mlp<tensors>& part) { inner = std::max(inner, part.intermediate); }
  void add(const parts::linear<tensors>& part) { qkv = std::max(qkv, part.outputs); }
  void add(const parts::low_rank<tensors>&) { joins = true; }
  void add(const parts::stream_step<tensors>&) {}
  void add(const parts::layer_input<tensors>& part) { inner = std::max(inner, part.width); }
  void add(const parts::mixture_of_experts<tensors>& part) { experts = std::max(experts, part.shares()); }

  void mix(std::int64_t read, std::int64_t written) {
    qkv = std::max(qkv, read);
    mixed = std::max(mixed, written);
  }

  void widen(std::int64_t read, std::int64_t found) {
    qkv = std::max(qkv, read);
    attended = std::max(attended, found);
  }
};

}  // namespace cogen::nn
