#pragma once

#include "numbers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cogen::kernels::cuda {

/// What a test wants of a layer: `places` tokens a slot, or what ring and sinks need.
struct layer_wish {
  number type = number::bf16;
  int kv_heads = 2;
  int head_dim = 64;
  int slots = 1;
  int places = 0;
  int ring = 0;
  int sinks = 0;
  int window = 0;
};

/// A layer's memory on the device, and its copy on the host in which tests put tokens. NaN where no token is.
class layer_memory {
 public:
  explicit layer_memory(const layer_wish& wish)
      : wish_(wish),
        places_(wish.ring > 0 ? wish.sinks + wish.ring : wish.places),
        host_(static_cast<std::size_t>(wish.slots * slot_bytes()), std::byte{0xff}),
        device_(host_.size()) {}

  kv_layer layer() const {
    return {.keys = device_.data(),
            .values = device_.data() + slot_bytes() / 2,
            .slot_stride = slot_bytes(),
            .type = wish_.type,
            .kv_heads = wish_.kv_heads,
            .head_dim = wish_.head_dim,
            .ring = wish_.ring,
            .sinks = wish_.sinks,
            .window = wish_.window};
  }

  int row() const { return wish_.kv_heads * wish_.head_dim; }

  /// Writes a position's key (value) [kv_heads, head_dim]; what lay at its place is gone.
  void put(bool value, int slot, int position, const std::vector<float>& numbers) {
    std::byte* target = host_.data() + place(value, slot, position);
    for (std::size_t index = 0; index < numbers.size(); ++index)
      encode(wish_.type, numbers[index], target + index * static_cast<std::size_t>(size()));
  }

  std::vector<float> get(bool value, int slot, int position) const {
    const auto begin = host_.begin() + place(value, slot, position);
    return decoded(wish_.type, {begin, begin + std::ptrdiff_t{row()} * size()});
  }

  void upload() { device_.write(host_); }
  std::vector<std::byte> host() const { return host_; }
  std::vector<std::byte> device() const { return device_.read(); }
  /// From now on get() tells what the device has.
  void download() { host_ = device_.read(); }

 private:
  int size() const { return bytes_of(wish_.type); }
  std::int64_t slot_bytes() const { return std::int64_t{2} * places_ * row() * size(); }
  std::ptrdiff_t place(bool value, int slot, int position) const {
    const std::int64_t index = index_of(layer(), position);
    return slot * slot_bytes() + (value ? slot_bytes() / 2 : 0) + index * row() * size();
  }

  layer_wish wish_;
  int places_;
  std::vector<std::byte> host_;
  device_bytes device_;
};

}  // namespace cogen::kernels::cuda
