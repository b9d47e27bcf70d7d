#pragma once

#include <cogen/engine.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

namespace throughput {

using seconds = std::chrono::duration<double>;

struct job {
  std::int64_t first;  ///< which prompt the first request has; the next has the next one
  int slots;           ///< requests that run at the same time
  int prompt_tokens;
  int new_tokens;
  int max_buffered_tokens;        ///< tokens ahead of the reader; -1: all of them
  bool prefix_caching;            ///< what earlier jobs have read of the same prompts
  std::vector<seconds> arrivals;  ///< one for each request
  cogen::sampling_params sampling = {};
  bool chats = false;  ///< prompts are questions in a chat, whose answers are text; otherwise ids without a meaning
};

/// The same ids as bench/peers uses, so that every system reads the same prompts.
std::vector<cogen::token> prompt(std::int64_t number, int length, std::int64_t vocabulary);

/// `requests` that arrive at once and run at the same time.
job together(int requests, int prompt_tokens, int new_tokens, int max_buffered_tokens);

/// When each token of one request reached its reader, from the beginning of the job on.
using observation = std::vector<seconds>;

/// Runs all requests of the job, and ends with the last token of the last one.
std::vector<observation> run(cogen::engine& engine, std::int64_t vocabulary, const job& work);

}  // namespace throughput
