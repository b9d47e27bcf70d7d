#include "weights/qkv_rows.hpp"

#include "weights/distance_biases.hpp"

#include <fmt/format.h>

namespace cogen::weights {

namespace {

/// The elements of one head, in the order in which halves of it are rotated.
std::vector<row_run> head_order(const models::attention_spec& spec) {
  const bool apart = spec.rope && spec.rope->interleaved;
  const auto rotated = apart ? spec.rope->config.rotary_dim : 0;
  std::vector<row_run> order;
  for (const std::int64_t first : {0, 1})
    for (std::int64_t row = first; row < rotated; row += 2) order.push_back({row, 1});
  if (rotated < spec.head_dim) order.push_back({rotated, spec.head_dim - rotated});
  return order;
}

void add_run(std::vector<row_run>& runs, row_run next) {
  if (!runs.empty() && runs.back().first + runs.back().count == next.first)
    runs.back().count += next.count;
  else
    runs.push_back(next);
}

/// The heads of queries, of keys or of values in their tensor.
struct head_rows {
  int heads;
  std::int64_t first;   // row of the first head
  int together;         // heads that follow one another,
  std::int64_t stride;  // and rows from the first of these to the first of the next ones
  bool rotated;
};

named_rows rows_of(const models::attention_spec& spec, const std::string& name, std::int64_t stored,
                   const head_rows& of) {
  const auto head = of.rotated ? head_order(spec) : std::vector<row_run>{{0, spec.head_dim}};
  named_rows part{.name = name, .rows = std::int64_t{of.heads} * spec.head_dim, .stored = stored};
  for (int index = 0; index < of.heads; ++index) {
    const auto begin = of.first + index / of.together * of.stride + std::int64_t{index % of.together} * spec.head_dim;
    for (const auto& run : head) add_run(part.runs, {begin + run.first, run.count});
  }
  part.transposed = spec.transposed;
  return part;
}

/// One head's weights, or those of all heads one after the other: of one tensor, or of one tensor for each head. Where
/// the norm has no weights, ones.
std::vector<float> stored_norm_weights(const models::attention_spec& spec, const std::string& name, int heads,
                                       const read_numbers& read) {
  using scope = models::qk_norm_spec::scope;
  const auto tensor = name + ".weight";
  if (name.empty()) return std::vector<float>(static_cast<std::size_t>(spec.head_dim), 1);
  if (spec.qk_norm->over == scope::head) return read(tensor, {spec.head_dim});
  if (spec.qk_norm->over == scope::width) return read(tensor, {std::int64_t{heads} * spec.head_dim});
  if (tensor.find("{}") == std::string::npos) return read(tensor, {heads, spec.head_dim});
  std::vector<float> all;
  for (int head = 0; head < heads; ++head) {
    const auto one = read(fmt::format(fmt::runtime(tensor), head), {spec.head_dim});
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

}  // namespace

std::vector<named_rows> qkv_rows(const models::attention_spec& spec, const std::string& prefix) {
  const auto q = spec.q_width(), kv = spec.kv_width();
  if (spec.shared_kv) return {rows_of(spec, prefix + spec.qkv.at(0), q, {spec.heads, 0, spec.heads, 0, true})};
  if (spec.output_gate) {
    const auto name = prefix + spec.qkv.at(0);
    const auto stride = std::int64_t{2} * spec.head_dim;
    return {rows_of(spec, name, 2 * q, {spec.heads, 0, 1, stride, true}),
            rows_of(spec, prefix + spec.qkv.at(1), kv, {spec.kv_heads, 0, spec.kv_heads, 0, true}),
            rows_of(spec, prefix + spec.qkv.at(2), kv, {spec.kv_heads, 0, spec.kv_heads, 0, false}),
            rows_of(spec, name, 2 * q, {spec.heads, spec.head_dim, 1, stride, false})};
  }
  if (spec.qkv.size() == 3)
    return {rows_of(spec, prefix + spec.qkv[0], q, {spec.heads, 0, spec.heads, 0, true}),
            rows_of(spec, prefix + spec.qkv[1], kv, {spec.kv_heads, 0, spec.kv_heads, 0, true}),
            rows_of(spec, prefix + spec.qkv[2], kv, {spec.kv_heads, 0, spec.kv_heads, 0, false})};
  const auto name = prefix + spec.qkv.front();
  const auto all = q + 2 * kv;
  if (!spec.grouped_qkv)
    return {rows_of(spec, name, all, {spec.heads, 0, spec.heads, 0, true}),
            rows_of(spec, name, all, {spec.kv_heads, q, spec.kv_heads, 0, true}),
            rows_of(spec, name, all, {spec.kv_heads, q + kv, spec.kv_heads, 0, false})};
  const int group = spec.heads / spec.kv_heads;
  const auto stride = std::int64_t{group + 2} * spec.head_dim;
  const auto keys = std::int64_t{group} * spec.head_dim;
  return {rows_of(spec, name, all, {spec.heads, 0, group, stride, true}),
          rows_of(spec, name, all, {spec.kv_heads, keys, 1, stride, true}),
          rows_of(spec, name, all, {spec.kv_heads, keys + spec.head_dim, 1, stride, false})};
}

std::vector<float> qk_norm_weights(const models::attention_spec& spec, const std::string& name, int heads,
                                   const read_numbers& read) {
  const auto stored = stored_norm_weights(spec, name, heads, read);
  std::vector<float> values;
  for (auto head = stored.begin(); head != stored.end(); head += spec.head_dim)
    for (const auto& run : head_order(spec))
      values.insert(values.end(), head + run.first, head + run.first + run.count);
  return values;
}

head_numbers read_head_numbers(const models::attention_spec& spec, const std::string& prefix,
                               const read_numbers& read) {
  head_numbers found;
  if (spec.qk_norm) {
    const auto complete = [&](const std::string& name) { return name.empty() ? name : prefix + name; };
    found.q_norm = qk_norm_weights(spec, complete(spec.qk_norm->q), spec.heads, read);
    if (!spec.shared_kv) found.k_norm = qk_norm_weights(spec, complete(spec.qk_norm->k), spec.kv_heads, read);
  }
  if (!spec.sink_logits.empty()) found.sink_logits = read(prefix + spec.sink_logits, {spec.heads});
  found.distance_biases = distance_biases(spec, read);
  return found;
}

}  // namespace cogen::weights
