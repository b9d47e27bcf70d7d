#pragma once

#include <cogen/detail/sampling_batch.hpp>

#include <cstdint>
#include <cuda_runtime_api.h>

namespace cogen::cuda {

/// The largest vocabulary that sample() supports.
constexpr int max_sampled_vocabulary = 524288;

constexpr int max_top_logprobs = 128;

/// One step's samples. All pointers are to memory the device can read, and write where they are not to const.
struct device_samples {
  float* logits;                 ///< [rows, vocabulary]; biases and penalties change it
  std::int64_t stride;           ///< from one row of logits to the next, in floats
  int vocabulary;                ///< from 1 to max_sampled_vocabulary
  int rows;                      ///< 0 samples nothing
  const sampling_row* sampling;  ///< [rows]
  const token_bias* biases;      ///< what the samples' `biases` and `held_back` are parts of
  const token_count* counts;     ///< what the samples' `counts` are parts of
  const std::uint64_t* masks;    ///< what the samples' `mask` are parts of
  float* raw_biased;             ///< room for a logit for each of `biases`, if samples have sampled_logprobs::raw
  float* raw_counted;            ///< the same for `counts`
  token* last_tokens;            ///< [slots]
  token* tokens;                 ///< [rows]
  sampling_status* statuses;     ///< [rows]
  float* logprobs;               ///< [rows], written for those that ask for them
  token_logprob* top;            ///< what the samples' `top` are parts of
};

/// Samples the next token of each row with its own parameters: writes `tokens`, `statuses` and the slot's
/// `last_tokens`; token 0 if the status is not `ok`. A row of a token that is known (sampling_row::scored) has no slot
/// and samples nothing: that token is its result. Padding rows and rows sampled on the host are skipped, outputs
/// included. No two rows may have the same slot.
///
/// Writes the log-probability of a row's token, and the most probable ones in order, lower ids first among equals,
/// where it asks for them: from a sum in double, rounded to float once.
///
/// A row's token is that of sampler::sample() on the CPU: the same steps in the same order, bitwise equal weights, and
/// sums in double, in an order that depends on the row only, not on the other rows or its index. That order is not the
/// CPU's; the tokens differ only if a random number or top_p falls between two roundings of the same sum, about once in
/// 10^13 samples.
///
/// A row may ask for up to max_top_logprobs of them. Enqueues one kernel of one block for each row on `stream`, and
/// reads nothing of the batch on the host: it can be captured in a graph, whose replays use what `sampling` and the
/// lists hold then. Returns cudaErrorInvalidValue for numbers out of range, and otherwise the result of the launch.
/// Thread-safe.
cudaError_t sample(const device_samples& batch, cudaStream_t stream);

}  // namespace cogen::cuda
