#pragma once

#include <cogen/sampling_params.hpp>

#include <boost/container/small_vector.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cogen {

/// Most often one, which then takes no memory of its own.
using piece_tokens = boost::container::small_vector<sampled_token, 1>;

/// A stretch of generated text as it became certain: whole UTF-8 characters, no part of a stop string.
struct piece {
  std::string text;
  piece_tokens tokens;  ///< the tokens that have come since the last piece
};

/// How a generation ended.
enum class finish_reason : std::uint8_t {
  eos,                ///< the model said so: an end token, or a stop token of the request
  stop_string,        ///< a stop string of the request appeared
  length,             ///< max_tokens were generated, or the context is full
  aborted,            ///< `stop()` was called
  failed,             ///< see `error()`
  deadline_exceeded,  ///< the request's `finish_within()` is over
};

std::string_view to_string(finish_reason reason) noexcept;

/// What a generation took.
struct usage {
  int prompt_tokens = 0;
  int cached_tokens = 0;  ///< of the prompt, how many were not computed anew
  int generated_tokens = 0;

  /// Whether it is what the request would have brought alone: false once it has gone on from a swap-out with
  /// swap_format::q8.
  bool exact = true;

  std::chrono::nanoseconds time_to_first_token{};  ///< from `generate()` until the first token was sampled
  std::chrono::nanoseconds total_time{};           ///< from `generate()` until the end
};

/// A whole generation.
struct completion {
  std::string text;
  std::vector<sampled_token> tokens;
  finish_reason reason = finish_reason::aborted;
  cogen::usage usage;
};

}  // namespace cogen
