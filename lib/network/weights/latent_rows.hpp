#pragma once

#include "network/models/model_spec.hpp"
#include "network/weights/matrix_rows.hpp"

#include <string>
#include <vector>

namespace cogen::weights {

// Where a checkpoint has the rows of latent attention's products. Names get the prefix and no suffix. Neighbors that
// the model rotates are taken apart, so that halves are rotated.

/// Those that read x: to queries or the vector that they come from, to the latent vector and the rotated key.
std::vector<named_rows> latent_in_rows(const models::latent_attention_spec& spec, const std::string& prefix);

/// Their biases, zeros for queries, which have none.
std::vector<float> latent_in_bias(const models::latent_attention_spec& spec, const std::string& prefix,
                                  const read_numbers& read);

/// Queries of all heads.
named_rows query_rows(const models::latent_attention_spec& spec, std::string name);

/// The `outputs` rows of the output product, which read the heads' results.
named_rows latent_output_rows(const models::latent_attention_spec& spec, const std::string& prefix,
                              std::int64_t outputs);

/// K, [kv_rank, nope_dim], and V, [value_dim, kv_rank], of one of the spec's own heads.
named_rows absorbing_rows(const models::latent_attention_spec& spec, const std::string& prefix, int own);
named_rows expanding_rows(const models::latent_attention_spec& spec, const std::string& prefix, int own);

}  // namespace cogen::weights
