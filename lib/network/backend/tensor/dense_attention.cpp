#include "network/backend/tensor/dense_attention.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/floor_divide.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tanh.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace cogen::device {

namespace {

/// The most scores that are computed at a time.
constexpr std::int64_t scores_at_once = std::int64_t{1} << 25;

at::Tensor capped(const at::Tensor& x, float cap) { return cap > 0 ? at::tanh(x / cap) * cap : x; }

/// rows [sequences, heads, queries, …] times matrix [sequences, kv_heads, …]: [sequences, heads, queries, …].
at::Tensor times(const at::Tensor& rows, const at::Tensor& matrix) {
  const auto grouped = rows.reshape({rows.size(0), matrix.size(1), -1, rows.size(3)});
  return at::matmul(grouped, matrix).reshape({rows.size(0), rows.size(1), rows.size(2), matrix.size(3)});
}

at::Tensor products(const at::Tensor& q, const at::Tensor& keys) {
  return times(q.transpose(1, 2), keys.transpose(2, 3));
}

/// The biases of keys at some distances from their queries: [sequences, heads, queries, places].
at::Tensor biases_at(const at::Tensor& distances, const at::Tensor& table) {
  const auto most = table.size(1) / 2;
  const auto columns = distances.clamp(-most, most) + most;
  return at::index_select(table, 1, columns.flatten()).unflatten(1, columns.sizes()).transpose(0, 1);
}

/// [sequences, heads, queries, places]
at::Tensor scores(const queries& query, const kept_tokens& kept, const attention_shape& shape, std::int64_t max_sinks) {
  auto result = products(query.q, kept.keys);
  const auto sinks = std::min(max_sinks, result.size(3));
  if (sinks > 0) result.narrow(3, 0, sinks).copy_(products(query.sink_q, kept.keys.narrow(2, 0, sinks)));
  result = capped(result * shape.scale, shape.softcap);
  if (!shape.distance_biases.defined() && !shape.slopes.defined()) return result;
  const auto distances = kept.positions.unsqueeze(1) - query.positions.unsqueeze(2);
  if (shape.distance_biases.defined()) result = result + biases_at(distances, shape.distance_biases);
  if (shape.slopes.defined())
    result = result + shape.slopes.view({1, -1, 1, 1}) * distances.unsqueeze(1).to(at::kFloat);
  return result;
}

/// Softmax of scores, beside which each head may have one without a value.
at::Tensor softened(const at::Tensor& scores, const at::Tensor& sink_logits) {
  if (!sink_logits.defined()) return at::softmax(scores, 3);
  const auto beside = sink_logits.view({1, -1, 1, 1}).expand({scores.size(0), -1, scores.size(2), 1});
  return at::softmax(at::cat({scores, beside}, 3), 3).narrow(3, 0, scores.size(3));
}

}  // namespace

queries queries::narrow(std::int64_t first, std::int64_t count) const {
  const auto part = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.narrow(1, first, count) : tensor;
  };
  return {part(q), part(sink_q), part(positions)};
}

at::Tensor seen_in(const cache::attention_span& span, const at::Tensor& positions, const at::Tensor& kept) {
  const auto query = positions.unsqueeze(2), key = kept.unsqueeze(1);
  auto seen = span.causal ? key <= query : (key >= 0).expand({-1, positions.size(1), -1});
  if (span.window > 0) seen = seen & (key > query - span.window);
  if (span.window > 0 && !span.causal) seen = seen & (key < query + span.window);
  if (span.chunk > 0) seen = seen & (at::floor_divide(key, span.chunk) == at::floor_divide(query, span.chunk));
  if (span.sinks > 0) seen = seen | ((key < span.sinks) & (key <= query));
  return seen & (key >= 0);
}

at::Tensor found(const queries& query, const kept_tokens& kept, const at::Tensor& seen, const attention_shape& shape,
                 std::int64_t sinks) {
  const auto count = query.q.size(1), places = kept.keys.size(2);
  const auto at_once = std::max<std::int64_t>(1, scores_at_once / (query.q.size(0) * shape.heads * places));
  const auto values = kept.values.masked_fill(~seen.any(1).unsqueeze(1).unsqueeze(3), 0);
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < count; first += at_once) {
    const auto some = std::min(at_once, count - first);
    const auto hidden = ~seen.narrow(1, first, some).unsqueeze(1);
    const auto masked = scores(query.narrow(first, some), kept, shape, sinks)
                            .masked_fill_(hidden, -std::numeric_limits<float>::infinity());
    parts.push_back(times(softened(masked, shape.sink_logits), values).transpose(1, 2));
  }
  return parts.size() == 1 ? parts.front() : at::cat(parts, 1);
}

}  // namespace cogen::device
