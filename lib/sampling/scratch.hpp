#pragma once

#include <cogen/token.hpp>

#include <cstdint>
#include <vector>

namespace cogen {

/// A token with its logit and its weight exp((logit - largest) / temperature).
struct candidate {
  token id;
  float logit;
  float weight;
};

/// Working memory of a sample; grows to what one row needs and is then reused without allocation. One per sampling
/// thread.
struct sampling_scratch {
  std::vector<float> model_logits;    // [vocabulary], where log-probabilities are asked for
  std::vector<float> block_maxima;    // [blocks]
  std::vector<float> ordered_maxima;  // [blocks], permuted by selection
  std::vector<float> weights;         // [vocabulary]
  std::vector<double> block_sums;     // [blocks], of the weights
  std::vector<double> bucket_sums;    // [buckets], of the candidates' weights by size
  std::vector<std::uint32_t> ids;     // [vocabulary], of the candidates to be; then positions of candidates
  std::vector<candidate> candidates;  // in order of ids
  std::vector<candidate> ordered;     // some of them, permuted by selection
};

}  // namespace cogen
