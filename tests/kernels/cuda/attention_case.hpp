#pragma once

#include "cache_model.hpp"
#include "network/kernels/attention_cuda.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

namespace cogen::kernels::cuda {

struct attention_case {
  layer_wish wish;
  number type = number::bf16;
  int heads = 1;
  int splits = 1;
  int min_blocks = 1;
  std::vector<std::int32_t> slots;  // each slot at most once
  std::vector<std::int32_t> positions;

  int rows() const { return static_cast<int>(slots.size()); }
  int group() const { return heads / wish.kv_heads; }
  int width() const { return heads * wish.head_dim; }
  float scale() const { return 1.0F / std::sqrt(static_cast<float>(wish.head_dim)); }
  bool span(int query, int key) const {
    return key <= query && (wish.window == 0 || key > query - wish.window || key < wish.sinks);
  }
  std::string description() const {
    std::ostringstream text;
    text << name_of(type) << " over " << name_of(wish.type) << ", " << heads << " heads on " << wish.kv_heads << " of "
         << wish.head_dim << ", ring " << wish.ring << ", sinks " << wish.sinks << ", window " << wish.window << ", "
         << splits << " splits of at least " << min_blocks << " blocks";
    return text.str();
  }
};

/// Random queries, and keys and values for all positions up to each row's own. Keys at the edges of what a row sees
/// point the way of one of its queries, so that one more or one less would show.
class attention_setup {
 public:
  explicit attention_setup(const attention_case& c)
      : case_(c),
        memory_(c.wish),
        q_stride_(c.width() + 16),
        q_(sample(600, q_stride_)),
        sink_q_(sample(601, c.width())),
        device_q_(c.type, q_),
        device_sink_q_(c.type, sink_q_),
        out_(c.type, static_cast<std::size_t>(c.rows() * c.width())),
        workspace_(decode_workspace_bytes(c.rows(), c.heads, c.wish.head_dim, c.splits)),
        counters_(no_counts(c.rows() * c.heads)),
        slots_(c.slots),
        positions_(c.positions) {
    random_source random(602);
    for (int row = 0; row < c.rows(); ++row)
      if (c.slots[static_cast<std::size_t>(row)] >= 0) fill(row, random);
    memory_.upload();
  }

  void run(cudaStream_t stream) const { run_rows(0, case_.rows(), stream); }
  void run_row(int row, cudaStream_t stream) const { run_rows(row, 1, stream); }

  /// Results and workspace are nothing again.
  void restart() {
    out_.poison();
    workspace_.poison();
  }

  void steer(const std::vector<std::int32_t>& slots, const std::vector<std::int32_t>& positions) {
    slots_.write(slots);
    positions_.write(positions);
  }

  std::vector<std::byte> result() const { return out_.bytes(); }
  std::vector<std::byte> row_of(const std::vector<std::byte>& out, int row) const {
    const std::ptrdiff_t bytes = std::ptrdiff_t{case_.width()} * bytes_of(case_.type);
    return {out.begin() + row * bytes, out.begin() + (row + 1) * bytes};
  }

  void check() const {
    const std::vector<float> out = out_.read();
    for (int row = 0; row < case_.rows(); ++row)
      BOOST_TEST_CONTEXT("position " << case_.positions[static_cast<std::size_t>(row)]) {
        const auto begin = out.begin() + std::ptrdiff_t{row} * case_.width();
        BOOST_TEST(error_of({begin, begin + case_.width()}, expected(row)) < 1.5 * precision_of(case_.type));
      }
    BOOST_TEST((memory_.device() == memory_.host()));
    BOOST_TEST((device_q_.read() == q_));
    BOOST_TEST((device_sink_q_.read() == sink_q_));
    workspace_.read();  // its guards
    BOOST_TEST((counters_.read() == no_counts(case_.rows() * case_.heads)));
  }

 private:
  std::vector<float> sample(std::uint32_t stream, int width) const {
    return rounded_to(case_.type, random_source(stream).normals(static_cast<std::size_t>(case_.rows() * width)));
  }

  const float* query(int row, int head, bool for_sinks) const {
    const int offset = head * case_.wish.head_dim;
    return for_sinks ? sink_q_.data() + row * case_.width() + offset : q_.data() + row * q_stride_ + offset;
  }

  bool on_edge(int query, int key) const {
    return key == query || key % 64 == 0 || (key > 0 && case_.span(query, key) != case_.span(query, key - 1)) ||
           case_.span(query, key) != case_.span(query, key + 1);
  }

  void fill(int row, random_source& random) {
    const int slot = case_.slots[static_cast<std::size_t>(row)], last = case_.positions[static_cast<std::size_t>(row)];
    const int dims = case_.wish.head_dim;
    for (int position = 0; position <= last; ++position) {
      std::vector<float> key = random.normals(static_cast<std::size_t>(memory_.row()));
      if (on_edge(last, position))
        for (int kv_head = 0; kv_head < case_.wish.kv_heads; ++kv_head) {
          const int head = kv_head * case_.group() + position % case_.group();
          const float* like = query(row, head, position < case_.wish.sinks);
          const float factor = 7.0F / std::sqrt(static_cast<float>(dims));  // a score of about 7
          for (int dim = 0; dim < dims; ++dim) key[static_cast<std::size_t>(kv_head * dims + dim)] = factor * like[dim];
        }
      memory_.put(false, slot, position, key);
      memory_.put(true, slot, position, random.normals(static_cast<std::size_t>(memory_.row())));
    }
  }

  void run_rows(int row, int rows, cudaStream_t stream) const {
    const std::ptrdiff_t size = bytes_of(case_.type);
    decode_attention(memory_.layer(), {slots_.data() + row, positions_.data() + row, rows},
                     {.q = device_q_.data() + row * q_stride_ * size,
                      .q_stride = q_stride_,
                      .type = case_.type,
                      .heads = case_.heads,
                      .scale = case_.scale(),
                      .out = out_.data() + row * case_.width() * size,
                      .sink_q = device_sink_q_.data() + row * case_.width() * size,
                      .workspace = workspace_.data(),
                      .counters = counters_.data(),
                      .splits = case_.splits,
                      .min_blocks = case_.min_blocks},
                     stream);
  }

  // softmax(scale q k^T) v over the keys that the row sees, in double.
  std::vector<double> expected(int row) const {
    const int slot = case_.slots[static_cast<std::size_t>(row)], last = case_.positions[static_cast<std::size_t>(row)];
    const int dims = case_.wish.head_dim;
    std::vector<double> out(static_cast<std::size_t>(case_.width())), weights(static_cast<std::size_t>(case_.heads));
    if (slot < 0) return out;
    for (int position = 0; position <= last; ++position) {
      if (!case_.span(last, position)) continue;
      const std::vector<float> key = memory_.get(false, slot, position), value = memory_.get(true, slot, position);
      for (int head = 0; head < case_.heads; ++head) {
        const float* q = query(row, head, position < case_.wish.sinks);
        const std::ptrdiff_t kv = std::ptrdiff_t{head / case_.group()} * dims;
        double score = 0;
        for (int dim = 0; dim < dims; ++dim) score += double{q[dim]} * key[static_cast<std::size_t>(kv + dim)];
        const double weight = std::exp(score * case_.scale());
        weights[static_cast<std::size_t>(head)] += weight;
        for (int dim = 0; dim < dims; ++dim)
          out[static_cast<std::size_t>(head * dims + dim)] += weight * value[static_cast<std::size_t>(kv + dim)];
      }
    }
    for (std::size_t index = 0; index < out.size(); ++index)
      out[index] /= weights[index / static_cast<std::size_t>(dims)];
    return out;
  }

  attention_case case_;
  layer_memory memory_;
  int q_stride_;
  std::vector<float> q_, sink_q_;
  device_numbers device_q_, device_sink_q_, out_;
  device_bytes workspace_;
  device_array<std::int32_t> counters_;
  device_array<std::int32_t> slots_, positions_;
};

}  // namespace cogen::kernels::cuda
