#include "network/weights/latent_rows.hpp"

#include <utility>

namespace cogen::weights {

namespace {

/// Rows from `first` on that are not rotated, then those that are, halves apart.
void add_rows(const models::latent_attention_spec& spec, std::int64_t first, std::int64_t plain,
              std::vector<row_run>& runs) {
  const auto rotated = first + plain;
  if (!spec.rope.interleaved) return runs.push_back({first, plain + spec.rope_dim});
  if (plain > 0) runs.push_back({first, plain});
  for (const std::int64_t odd : {0, 1})
    for (auto row = rotated + odd; row < rotated + spec.rope_dim; row += 2) runs.push_back({row, 1});
}

named_rows row_rows(const models::latent_attention_spec& spec, const std::string& prefix) {
  named_rows part{.name = prefix + spec.kv_down, .rows = spec.row_dim()};
  add_rows(spec, 0, spec.kv_rank, part.runs);
  return part;
}

/// The rows of keys and values that one head has in a matrix of all of them.
std::int64_t expanded_dim(const models::latent_attention_spec& spec) {
  return std::int64_t{spec.nope_dim} + spec.value_dim;
}

}  // namespace

std::vector<named_rows> latent_in_rows(const models::latent_attention_spec& spec, const std::string& prefix) {
  auto q = spec.q_rank > 0 ? named_rows{.name = prefix + spec.q_down, .rows = spec.q_rank}
                           : query_rows(spec, prefix + spec.q);
  return {std::move(q), row_rows(spec, prefix)};
}

std::vector<float> latent_in_bias(const models::latent_attention_spec& spec, const std::string& prefix,
                                  const read_numbers& read) {
  auto biases =
      spec.q_rank > 0
          ? read(prefix + spec.q_down + ".bias", {spec.q_rank})
          : std::vector<float>(static_cast<std::size_t>(spec.heads) * static_cast<std::size_t>(spec.query_dim()));
  const auto stored = read(prefix + spec.kv_down + ".bias", {spec.row_dim()});
  for (const auto& run : row_rows(spec, prefix).runs)
    biases.insert(biases.end(), stored.begin() + run.first, stored.begin() + run.first + run.count);
  return biases;
}

named_rows query_rows(const models::latent_attention_spec& spec, std::string name) {
  named_rows part{.name = std::move(name),
                  .rows = std::int64_t{spec.heads} * spec.query_dim(),
                  .stored = std::int64_t{spec.all_heads()} * spec.query_dim()};
  for (auto head = spec.q_shard.first; head < spec.q_shard.first + spec.heads; ++head)
    add_rows(spec, head * spec.query_dim(), spec.nope_dim, part.runs);
  return part;
}

named_rows latent_output_rows(const models::latent_attention_spec& spec, const std::string& prefix,
                              std::int64_t outputs) {
  return {.name = prefix + spec.output,
          .rows = outputs,
          .stored_inputs = std::int64_t{spec.all_heads()} * spec.value_dim,
          .first_input = spec.q_shard.first * spec.value_dim};
}

named_rows absorbing_rows(const models::latent_attention_spec& spec, const std::string& prefix, int own) {
  const auto head = spec.q_shard.first + own;
  named_rows part{.name = prefix + spec.kv_up.front(), .rows = spec.kv_rank};
  if (spec.kv_up.size() == 2) {
    part.stack = spec.all_heads();
    part.index = head;
  } else {
    part.transposed = true;
    part.stored_inputs = spec.all_heads() * expanded_dim(spec);
    part.first_input = head * expanded_dim(spec);
  }
  return part;
}

named_rows expanding_rows(const models::latent_attention_spec& spec, const std::string& prefix, int own) {
  const auto head = spec.q_shard.first + own;
  named_rows part{.name = prefix + spec.kv_up.back(), .rows = spec.value_dim};
  if (spec.kv_up.size() == 2) {
    part.stack = spec.all_heads();
    part.index = head;
  } else {
    part.stored = spec.all_heads() * expanded_dim(spec);
    part.runs = {{head * expanded_dim(spec) + spec.nope_dim, spec.value_dim}};
  }
  return part;
}

}  // namespace cogen::weights
