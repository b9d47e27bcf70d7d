#pragma once

#include <cogen/sampling_params.hpp>
#include <cogen/token.hpp>

#include <vector>

namespace cogen {

/// A token that was sampled.
struct sampled_token {
  token id = 0;
  float logprob = 0;               ///< of the model's own distribution; set where the request asked for logprobs
  std::vector<token_logprob> top;  ///< the most probable tokens, as many as the request asked for
};

}  // namespace cogen
