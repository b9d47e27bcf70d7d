#pragma once

#include "sampling/scratch.hpp"
#include "sampling/token_mask.hpp"

#include <cogen/detail/sampling_batch.hpp>
#include <cogen/sampling_params.hpp>
#include <cogen/token.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cogen {

/// Why no token could be sampled from a row's logits; empty for ok.
std::string explain(sampling_status status);

/// The token sampled from one row of logits.
struct sampled {
  sampling_status status = sampling_status::ok;
  token id = 0;
  float logprob = 0;  ///< of the distribution of its logprobs_mode; set if logprobs were requested
  std::vector<token_logprob> top =
      {};                    ///< most probable first, the lowest id first among equals; as many as were requested
  std::string message = {};  ///< explains a status other than `ok`
};

/// A token that may be sampled, with its probability.
struct token_probability {
  token id = 0;
  double probability = 0;
};

/// A sampling_row with the lists that it refers to, and what only the host has. Refers to all of it.
struct host_row {
  const sampling_row& parameters;
  const sampling_lists& lists;
  const std::function<void(std::span<float>)>& processor;  ///< the caller's own; empty: none
  token_mask mask = {};                                    ///< empty: that of the lists
};

/// Samples from `logits` [vocabulary], which are modified, on the CPU: in the order of sampling_params, by the inverse
/// distribution function over the kept tokens in order of their ids: the first token whose cumulative probability
/// exceeds the row's random number. A row with a known token is scored instead. Depends only on the arguments' values.
/// Throws only if memory runs out: bad logits and a throwing processor are a status. The row's last token is known:
/// `unknown_last` is for devices.
sampled sample(const host_row& row, std::span<float> logits, sampling_scratch& scratch);

/// Changes `logits` [vocabulary] as sample() does before it chooses, but for the mask: biases, penalties, held back
/// tokens, processor. Returns the message of a processor that threw.
std::optional<std::string> process(const host_row& row, std::span<float> logits);

/// The probabilities that sample() uses, in order of ids, without tokens of probability 0; one token of probability 1
/// if greedy. `logits` is modified. Empty with a status other than `ok`.
std::pair<sampling_status, std::vector<token_probability>> distribution(const host_row& row, std::span<float> logits,
                                                                        sampling_scratch& scratch);

/// The log-probability of a token, and the `count` most probable ones. `logits` are the model's own. Throws only if
/// memory runs out: bad logits are a status.
sampled logprobs_of(std::span<const float> logits, token id, std::size_t count, sampling_scratch& scratch);

}  // namespace cogen
