#pragma once

#include <cogen/token.hpp>

#include <cstdint>
#include <vector>

namespace cogen {

/// How a sample ended.
enum class sampling_status : std::uint8_t {
  ok,
  not_finite,        ///< a logit is NaN or plus infinity
  nothing_left,      ///< every logit is minus infinity: the model's own, or what bias and processors left
  processor_failed,  ///< the caller's processor threw
};

/// What is added to a token's logit.
struct token_bias {
  token id = 0;
  float value = 0;
};

/// How often a token occurs in a history.
struct token_count {
  token id = -1;
  std::uint32_t total = 0;      ///< in the prompt and in what was generated
  std::uint32_t generated = 0;  ///< in what was generated
};

/// Entries [begin, begin + count) of a list.
struct list_part {
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
};

/// What the rows of one step refer to, packed one row after the other.
struct sampling_lists {
  std::vector<token_bias> biases;
  std::vector<token_count> counts;
};

/// All that the choice of one row's next token depends on beside its logits, for a device that samples by itself: the
/// steps of `sampling`, in their order, with its parameters as numbers. Trivially copyable; the default is padding. No
/// id occurs twice among its biases, nor among its counts; ids outside the vocabulary are ignored.
struct sampling_row {
  std::int32_t slot = -1;  ///< of the cache, in which its token is kept for the next step; below 0: nothing is sampled
  bool by_host = false;    ///< nothing is sampled either
  bool greedy = true;      ///< the largest logit, the lowest id among equals; what follows up to min_p has no effect
  bool unknown_last = false;  ///< the slot's kept token belongs to the history, too, as generated: `counts` lacks it
  float inverse_temperature = 1;
  std::uint32_t top_k = 0;  ///< 0 keeps all
  double top_p = 1;         ///< 1 keeps all
  float min_p = 0;          ///< 0 keeps all
  float repetition_penalty = 1;
  float presence_penalty = 0;
  float frequency_penalty = 0;
  std::uint32_t position = 0;  ///< tokens the sequence holds before the sampled one
  std::uint32_t sample = 0;    ///< counts samples at the same position
  std::uint64_t seed = 0;
  std::uint64_t branch = 0;  ///< which fork of the seeded sequence
  list_part biases;          ///< added to the logits before all else
  list_part held_back;       ///< in the list of biases, too: logits that become minus infinity after the penalties
  list_part counts;          ///< of the history, where a penalty asks for them
};

}  // namespace cogen
