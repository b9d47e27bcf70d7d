#pragma once

#include "network/models/model_spec.hpp"
#include "network/weights/matrix_rows.hpp"

#include <string>
#include <vector>

namespace cogen::weights {

/// Where a checkpoint has the rows of queries, keys and values, in the order q | k | v of halves that are rotated
/// together: neighbors that the model rotates are taken apart. Gates of outputs
/// follow. Names get the prefix and no suffix.
std::vector<named_rows> qkv_rows(const models::attention_spec& spec, const std::string& prefix);

/// The same of attention to an encoder input: q, k and v.
std::vector<named_rows> cross_rows(const models::attention_spec& spec, const std::string& prefix);

/// Where it has the `outputs` rows of the output product, which read the heads' results.
named_rows output_rows(const models::attention_spec& spec, const std::string& prefix, std::int64_t outputs);

/// Numbers of attention that are in no matrix.
struct head_numbers {
  std::vector<float> q_norm, k_norm;                      ///< as qk_norm_numbers() returns them; empty: there are none
  std::vector<float> q_norm_bias = {}, k_norm_bias = {};  ///< likewise
  std::vector<float> sink_logits = {};                    ///< [heads], or empty
  std::vector<float> distance_biases = {};                ///< as distance_biases() returns them, or empty
};
head_numbers read_head_numbers(const models::attention_spec& spec, const std::string& prefix, const read_numbers& read);

/// The weights or biases of the norm of queries, or of keys, in the order of those rows: [heads * head_dim], or
/// [head_dim] if all heads have the same. Without a tensor's name they are ones, [head_dim].
std::vector<float> qk_norm_numbers(const models::attention_spec& spec, const std::string& tensor, int heads,
                                   const read_numbers& read);

}  // namespace cogen::weights
