#include "network/weights/qkv_rows.hpp"

#include "network/weights/distance_biases.hpp"

#include <fmt/format.h>

#include <utility>

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

/// Heads of queries, of keys or of values in their tensor.
struct head_rows {
  int begin;  // the first one
  int heads;
  std::int64_t first;   // row of head 0
  int together;         // heads that follow one another,
  std::int64_t stride;  // and rows from the first of these to the first of the next ones
  bool rotated;
};

named_rows rows_of(const models::attention_spec& spec, const std::string& name, std::int64_t stored,
                   const head_rows& layout) {
  const auto head = layout.rotated ? head_order(spec) : std::vector<row_run>{{0, spec.head_dim}};
  named_rows part{.name = name, .rows = std::int64_t{layout.heads} * spec.head_dim, .stored = stored};
  for (int index = layout.begin; index < layout.begin + layout.heads; ++index) {
    const auto begin =
        layout.first + index / layout.together * layout.stride + std::int64_t{index % layout.together} * spec.head_dim;
    for (const auto& run : head) add_run(part.runs, {begin + run.first, run.count});
  }
  part.transposed = spec.transposed;
  return part;
}

/// One head's numbers, or those of all heads one after the other: of one tensor, or of one tensor for each head. Where
/// the norm has no weights, ones.
std::vector<float> stored_norm_numbers(const models::attention_spec& spec, const std::string& tensor, int heads,
                                       const read_numbers& read) {
  using scope = models::qk_norm_spec::scope;
  if (tensor.empty()) return std::vector<float>(static_cast<std::size_t>(spec.head_dim), 1);
  if (spec.qk_norm->over == scope::head) return read(tensor, {spec.head_dim});
  if (spec.qk_norm->over == scope::width) return read(tensor, {std::int64_t{heads} * spec.head_dim});
  if (tensor.find("{}") == std::string::npos) return read(tensor, {heads, spec.head_dim});
  std::vector<float> numbers;
  for (int head = 0; head < heads; ++head) {
    const auto head_numbers = read(fmt::format(fmt::runtime(tensor), head), {spec.head_dim});
    numbers.insert(numbers.end(), head_numbers.begin(), head_numbers.end());
  }
  return numbers;
}

/// The numbers of the shard's heads, of those of all heads.
std::vector<float> shard_of(std::vector<float> numbers, const models::shard& which, std::int64_t of_each) {
  if (!which) return numbers;
  const auto first = numbers.begin() + which.first * of_each;
  return {first, first + which.count * of_each};
}

}  // namespace

std::vector<named_rows> qkv_rows(const models::attention_spec& spec, const std::string& prefix) {
  const int heads = spec.all_heads(), kv_heads = spec.all_kv_heads();
  const auto q = std::int64_t{heads} * spec.head_dim, kv = std::int64_t{kv_heads} * spec.head_dim;
  const auto queries = [&](std::int64_t first, int together, std::int64_t stride, bool rotated = true) {
    return head_rows{static_cast<int>(spec.q_shard.first), spec.heads, first, together, stride, rotated};
  };
  const auto keys = [&](std::int64_t first, int together, std::int64_t stride, bool rotated) {
    return head_rows{static_cast<int>(spec.kv_shard.first), spec.kv_heads, first, together, stride, rotated};
  };
  if (spec.shared_kv) return {rows_of(spec, prefix + spec.qkv.at(0), q, queries(0, heads, 0))};
  if (spec.output_gate) {
    const auto name = prefix + spec.qkv.at(0);
    const auto stride = std::int64_t{2} * spec.head_dim;
    return {rows_of(spec, name, 2 * q, queries(0, 1, stride)),
            rows_of(spec, prefix + spec.qkv.at(1), kv, keys(0, kv_heads, 0, true)),
            rows_of(spec, prefix + spec.qkv.at(2), kv, keys(0, kv_heads, 0, false)),
            rows_of(spec, name, 2 * q, queries(spec.head_dim, 1, stride, false))};
  }
  if (spec.qkv.size() == 3)
    return {rows_of(spec, prefix + spec.qkv[0], q, queries(0, heads, 0)),
            rows_of(spec, prefix + spec.qkv[1], kv, keys(0, kv_heads, 0, true)),
            rows_of(spec, prefix + spec.qkv[2], kv, keys(0, kv_heads, 0, false))};
  const auto name = prefix + spec.qkv.front();
  const auto total = q + 2 * kv;
  if (!spec.grouped_qkv)
    return {rows_of(spec, name, total, queries(0, heads, 0)), rows_of(spec, name, total, keys(q, kv_heads, 0, true)),
            rows_of(spec, name, total, keys(q + kv, kv_heads, 0, false))};
  const int group = heads / kv_heads;
  const auto stride = std::int64_t{group + 2} * spec.head_dim;
  const auto first_key = std::int64_t{group} * spec.head_dim;
  return {rows_of(spec, name, total, queries(0, group, stride)),
          rows_of(spec, name, total, keys(first_key, 1, stride, true)),
          rows_of(spec, name, total, keys(first_key + spec.head_dim, 1, stride, false))};
}

named_rows output_rows(const models::attention_spec& spec, const std::string& prefix, std::int64_t outputs) {
  return {.name = prefix + spec.output,
          .rows = outputs,
          .transposed = spec.transposed,
          .stored_inputs = std::int64_t{spec.all_heads()} * spec.head_dim,
          .first_input = spec.q_shard.first * spec.head_dim};
}

std::vector<named_rows> cross_rows(const models::attention_spec& spec, const std::string& prefix) {
  const auto q = spec.all_heads(), kv = spec.all_kv_heads();
  const auto rows = [&](std::size_t which, int stored, const models::shard& part, int heads) {
    return rows_of(spec, prefix + spec.qkv.at(which), std::int64_t{stored} * spec.head_dim,
                   {static_cast<int>(part.first), heads, 0, stored, 0, false});
  };
  return {rows(0, q, spec.q_shard, spec.heads), rows(1, kv, spec.kv_shard, spec.kv_heads),
          rows(2, kv, spec.kv_shard, spec.kv_heads)};
}

std::vector<float> qk_norm_numbers(const models::attention_spec& spec, const std::string& tensor, int heads,
                                   const read_numbers& read) {
  const auto stored = stored_norm_numbers(spec, tensor, heads, read);
  std::vector<float> values;
  for (auto head = stored.begin(); head != stored.end(); head += spec.head_dim)
    for (const auto& run : head_order(spec))
      values.insert(values.end(), head + run.first, head + run.first + run.count);
  return values;
}

head_numbers read_head_numbers(const models::attention_spec& spec, const std::string& prefix,
                               const read_numbers& read) {
  head_numbers found;
  if (const auto& norm = spec.qk_norm) {
    const auto of_heads = [&](const std::string& name, const char* end, int heads, const models::shard& which) {
      auto numbers = qk_norm_numbers(spec, name.empty() ? name : prefix + name + end, heads, read);
      const auto shared = numbers.size() == static_cast<std::size_t>(spec.head_dim);
      return shared ? numbers : shard_of(std::move(numbers), which, spec.head_dim);
    };
    const auto of_queries = [&](const char* end) { return of_heads(norm->q, end, spec.all_heads(), spec.q_shard); };
    const auto of_keys = [&](const char* end) { return of_heads(norm->k, end, spec.all_kv_heads(), spec.kv_shard); };
    found.q_norm = of_queries(".weight");
    if (norm->bias) found.q_norm_bias = of_queries(".bias");
    if (!spec.shared_kv) found.k_norm = of_keys(".weight");
    if (norm->bias && !spec.shared_kv) found.k_norm_bias = of_keys(".bias");
  }
  if (!spec.sink_logits.empty())
    found.sink_logits = shard_of(read(prefix + spec.sink_logits, {spec.all_heads()}), spec.q_shard, 1);
  found.distance_biases = distance_biases(spec, read);
  return found;
}

}  // namespace cogen::weights
