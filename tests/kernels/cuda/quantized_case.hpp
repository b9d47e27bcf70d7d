#pragma once

#include "network/kernels/attention_cuda.hpp"
#include "network/kernels/gather_cuda.hpp"
#include "network/kernels/rope_cuda.hpp"
#include "numbers.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cogen::kernels::cuda {

/// What the numbers of 64 tokens [64, dims] of one head stand for once they have been quantized: the definition of
/// cogen::cache::make_group_codec(), number by number.
inline std::vector<float> quantized_and_not(const quantized_format& format, int dims,
                                            const std::vector<float>& values) {
  const auto half = [](float x) { return __half2float(__float2half_rn(x)); };
  const auto index = [&](int token, int dim) { return static_cast<std::size_t>(token * dims + dim); };
  const auto max_code = static_cast<float>((1 << format.bits) - 1);
  std::vector<float> out(values.size());
  const auto group = [&](int token, int tokens, int dim, int count) {
    float least = INFINITY, most = -INFINITY;
    for (int t = token; t < token + tokens; ++t)
      for (int d = dim; d < dim + count; ++d) {
        least = std::min(least, values[index(t, d)]);
        most = std::max(most, values[index(t, d)]);
      }
    const float minimum = half(least), scale = half((most - minimum) / max_code);
    for (int t = token; t < token + tokens; ++t)
      for (int d = dim; d < dim + count; ++d) {
        const float code =
            scale > 0 ? std::clamp(std::nearbyint((values[index(t, d)] - minimum) / scale), 0.0F, max_code) : 0.0F;
        out[index(t, d)] = std::fma(code, scale, minimum);
      }
  };
  if (format.by_channel) {
    for (int token = 0; token < 64; token += format.group)
      for (int dim = 0; dim < dims; ++dim) group(token, format.group, dim, 1);
  } else {
    for (int token = 0; token < 64; ++token)
      for (int dim = 0; dim < dims; dim += format.group) group(token, 1, dim, std::min(format.group, dims - dim));
  }
  return out;
}

struct quantized_case {
  quantized_format keys;
  quantized_format values;
  number type = number::bf16;
  int heads = 4;
  int kv_heads = 2;
  int head_dim = 64;
  int residual = 128;
  int ring = 256;  // tokens in full precision
  int window = 0;
  int quantized_ring = 0;  // blocks
  int longest = 704;
  std::vector<int> lengths;  // of each slot

  int kv_width() const { return kv_heads * head_dim; }
  int width() const { return (heads + 2 * kv_heads) * head_dim; }
  std::string description() const {
    return name_of(type) + ", keys in " + std::to_string(keys.bits) + (keys.by_channel ? " by channel" : " by token") +
           " of " + std::to_string(keys.group) + ", values in " + std::to_string(values.bits) + " of " +
           std::to_string(values.group) + ", " + std::to_string(heads) + " heads on " + std::to_string(kv_heads) +
           " of " + std::to_string(head_dim) + ", residual " + std::to_string(residual) + ", window " +
           std::to_string(window);
  }
};

/// A layer that quantizes, filled by rotate_and_append() (which turns nothing here), and the same numbers on the host.
class quantized_setup {
 public:
  explicit quantized_setup(const quantized_case& c) : case_(c), rows_(row_bytes()), blocks_(block_bytes()) {
    random_source random(700);
    for (const int length : c.lengths) {
      slot_numbers slot;
      slot.qkv = rounded_to(c.type, random.normals(static_cast<std::size_t>(length * c.width())));
      slots_.push_back(std::move(slot));
    }
  }

  kv_layer layer() const {
    kv_layer layer{.keys = rows_.data(),
                   .values = rows_.data() + slot_bytes() / 2,
                   .slot_stride = slot_bytes(),
                   .type = case_.type,
                   .kv_heads = case_.kv_heads,
                   .head_dim = case_.head_dim,
                   .ring = case_.ring,
                   .window = case_.window};
    layer.quantized = {.blocks = blocks_.data(),
                       .slot_stride = quantized_slot_bytes(),
                       .keys = case_.keys,
                       .values = case_.values,
                       .residual = case_.residual,
                       .ring = case_.quantized_ring};
    return layer;
  }

  /// All tokens of all slots, at most `chunk` of a slot in one step; slots of different lengths share steps.
  void append(int chunk, cudaStream_t stream) {
    for (int first = 0; first < case_.longest; first += chunk) {
      std::vector<std::int32_t> slots = {-1}, positions = {first + case_.residual + 63};
      std::vector<float> qkv(static_cast<std::size_t>(case_.width()));
      for (int slot = 0; slot < static_cast<int>(slots_.size()); ++slot)
        for (int position = first; position < std::min(first + chunk, case_.lengths[static_cast<std::size_t>(slot)]);
             ++position) {
          slots.push_back(slot);
          positions.push_back(position);
          const auto begin =
              slots_[static_cast<std::size_t>(slot)].qkv.begin() + std::ptrdiff_t{position} * case_.width();
          qkv.insert(qkv.end(), begin, begin + case_.width());
        }
      const device_array<std::int32_t> on_slots(slots), on_positions(positions);
      const device_numbers rows(case_.type, qkv);
      rotate_and_append(layer(), {on_slots.data(), on_positions.data(), static_cast<int>(slots.size())}, {},
                        {.qkv = rows.data(), .stride = case_.width(), .type = case_.type, .heads = case_.heads},
                        stream);
      require(cudaDeviceSynchronize());
    }
  }

  std::vector<std::byte> blocks() const { return blocks_.read(); }

  /// Key (value) of a position [kv_heads, head_dim], quantized or in full precision.
  std::vector<float> expected(bool value, int slot, int position, bool quantized) {
    const int block = position / 64 * 64;
    if (!quantized) return given(value, slot, position);
    auto& known = unquantized_[{value, slot, block}];
    if (known.empty()) known = unquantized(value, slot, block);
    const auto begin = known.begin() + std::ptrdiff_t{position - block} * case_.kv_width();
    return {begin, begin + case_.kv_width()};
  }

  void check_gathered(int slot) {
    const int length = case_.lengths[static_cast<std::size_t>(slot)];
    const int quantized = static_cast<int>(quantized_tokens(length, case_.residual));
    const int first =
        case_.quantized_ring ? std::max(0, quantized - 64 * case_.quantized_ring) : std::min(3, length - 1);
    const auto count = static_cast<std::size_t>((length - first) * case_.kv_width());
    const device_numbers keys(case_.type, count), values(case_.type, count);
    gather_keys_values(layer(),
                       {.slot = slot,
                        .first = first,
                        .count = length - first,
                        .quantized = quantized,
                        .keys = keys.data(),
                        .values = values.data(),
                        .type = case_.type},
                       nullptr);
    for (const bool value : {false, true}) {
      std::vector<float> numbers;
      for (int position = first; position < length; ++position)
        for (const float each : expected(value, slot, position, position < quantized)) numbers.push_back(each);
      BOOST_TEST(((value ? values : keys).read() == rounded_to(case_.type, numbers)));
    }
  }

  /// One row for each slot, of the query at its last position (or, where `back` is more, before it).
  std::vector<std::byte> attend(int splits, int back, cudaStream_t stream) {
    std::vector<std::int32_t> slots, positions;
    std::vector<float> q;
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      slots.push_back(static_cast<std::int32_t>(slot));
      positions.push_back(std::max(0, case_.lengths[slot] - 1 - back));
      const auto begin = query(static_cast<int>(slot), positions.back());
      q.insert(q.end(), begin, begin + case_.heads * case_.head_dim);
    }
    const auto rows = static_cast<int>(slots.size());
    const device_array<std::int32_t> on_slots(slots), on_positions(positions);
    const device_numbers on_q(case_.type, q), out(case_.type, q.size());
    const device_bytes workspace(decode_workspace_bytes(rows, case_.heads, case_.head_dim, splits));
    const device_array<std::int32_t> counters(no_counts(rows * case_.heads));
    decode_attention(layer(), {on_slots.data(), on_positions.data(), rows},
                     {.q = on_q.data(),
                      .q_stride = case_.heads * case_.head_dim,
                      .type = case_.type,
                      .heads = case_.heads,
                      .scale = scale(),
                      .out = out.data(),
                      .workspace = workspace.data(),
                      .counters = counters.data(),
                      .splits = splits},
                     stream);
    const std::vector<float> values = out.read();
    workspace.read();
    BOOST_TEST((counters.read() == no_counts(rows * case_.heads)));
    for (int row = 0; row < rows; ++row) BOOST_TEST_CONTEXT("position " << positions[static_cast<std::size_t>(row)]) {
        const auto begin = values.begin() + std::ptrdiff_t{row} * case_.heads * case_.head_dim;
        BOOST_TEST(error_of({begin, begin + case_.heads * case_.head_dim},
                            attended(row, positions[static_cast<std::size_t>(row)])) < tolerance());
      }
    return out.bytes();
  }

 private:
  struct slot_numbers {
    std::vector<float> qkv;  // [length, q | k | v]
  };
  struct block_key {
    bool value;
    int slot, block;
    auto operator<=>(const block_key&) const = default;
  };

  // Numbers of few bits are rounded to f16 after their minimum was, with its bias: see attention_packed.cu.
  double tolerance() const {
    // Codes of fewer bits are scaled in f16 or bf16, and sums of numbers further apart cancel out more.
    const double steps = case_.values.bits == 2 ? 3 : 1.5;
    return steps * (case_.values.bits == 8 ? precision_of(case_.type) : precision_of(number::bf16));
  }

  float scale() const { return 2.0F / std::sqrt(static_cast<float>(case_.head_dim)); }
  std::int64_t slot_bytes() const { return std::int64_t{2} * case_.ring * case_.kv_width() * bytes_of(case_.type); }
  std::int64_t quantized_slot_bytes() const {
    const int count = case_.quantized_ring ? case_.quantized_ring : case_.longest / 64;
    const quantized_blocks forms{.keys = case_.keys, .values = case_.values};
    return count * case_.kv_heads * quantized_head_bytes(forms, case_.head_dim);
  }
  std::size_t row_bytes() const { return case_.lengths.size() * static_cast<std::size_t>(slot_bytes()); }
  std::size_t block_bytes() const { return case_.lengths.size() * static_cast<std::size_t>(quantized_slot_bytes()); }

  std::vector<float>::const_iterator query(int slot, int position) const {
    return slots_[static_cast<std::size_t>(slot)].qkv.begin() + std::ptrdiff_t{position} * case_.width();
  }

  std::vector<float> given(bool value, int slot, int position) const {
    const auto begin = query(slot, position) + case_.heads * case_.head_dim + (value ? case_.kv_width() : 0);
    return {begin, begin + case_.kv_width()};
  }

  std::vector<float> unquantized(bool value, int slot, int block) const {
    std::vector<float> result(static_cast<std::size_t>(64 * case_.kv_width()));
    for (int head = 0; head < case_.kv_heads; ++head) {
      std::vector<float> numbers;
      for (int token = 0; token < 64; ++token) {
        const std::vector<float> row = given(value, slot, block + token);
        const auto begin = row.begin() + std::ptrdiff_t{head} * case_.head_dim;
        numbers.insert(numbers.end(), begin, begin + case_.head_dim);
      }
      const std::vector<float> kept = quantized_and_not(value ? case_.values : case_.keys, case_.head_dim, numbers);
      for (int token = 0; token < 64; ++token)
        std::copy_n(kept.begin() + std::ptrdiff_t{token} * case_.head_dim, case_.head_dim,
                    result.begin() + std::ptrdiff_t{token} * case_.kv_width() + std::ptrdiff_t{head} * case_.head_dim);
    }
    return result;
  }

  // softmax(scale q k^T) v in double, over what the query reads: quantized up to where its own length says.
  std::vector<double> attended(int slot, int last) {
    const int dims = case_.head_dim, group = case_.heads / case_.kv_heads;
    const auto quantized = static_cast<int>(quantized_tokens(last + 1, case_.residual));
    std::vector<double> out(static_cast<std::size_t>(case_.heads * dims)),
        weights(static_cast<std::size_t>(case_.heads));
    const auto q = query(slot, last);
    for (int position = case_.window ? std::max(0, last + 1 - case_.window) : 0; position <= last; ++position) {
      const std::vector<float> key = expected(false, slot, position, position < quantized);
      const std::vector<float> value = expected(true, slot, position, position < quantized);
      for (int head = 0; head < case_.heads; ++head) {
        const int kv = head / group * dims;
        double score = 0;
        for (int dim = 0; dim < dims; ++dim)
          score += double{q[head * dims + dim]} * key[static_cast<std::size_t>(kv + dim)];
        const double weight = std::exp(score * scale());
        weights[static_cast<std::size_t>(head)] += weight;
        for (int dim = 0; dim < dims; ++dim)
          out[static_cast<std::size_t>(head * dims + dim)] += weight * value[static_cast<std::size_t>(kv + dim)];
      }
    }
    for (std::size_t index = 0; index < out.size(); ++index)
      out[index] /= weights[index / static_cast<std::size_t>(dims)];
    return out;
  }

  quantized_case case_;
  std::vector<slot_numbers> slots_;
  device_bytes rows_;
  device_bytes blocks_;
  std::map<block_key, std::vector<float>> unquantized_;
};

}  // namespace cogen::kernels::cuda
