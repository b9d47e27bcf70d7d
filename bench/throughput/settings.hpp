#pragma once

#include <cogen/engine_options.hpp>
#include <cogen/load_model.hpp>

#include <optional>
#include <string>
#include <vector>

namespace throughput {

struct settings {
  std::string model;
  std::vector<int> requests;
  int prompt_tokens;
  int new_tokens;
  int repeat;
  int max_buffered_tokens;
  std::string trace;
  bool json;
  bool serve;
  bool compare_sampling;
  bool chats;  ///< the compared requests are questions in a chat
  bool prefix_caching;
  cogen::parallel_options parallel;
  cogen::engine_options engine;  ///< but for slots and max_sequence_length, which go by what is run
};

/// None where help was asked for, and shown. Throws what cannot be run.
std::optional<settings> parse(int argc, char** argv);

}  // namespace throughput
