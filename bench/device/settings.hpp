#pragma once

#include <cogen/engine_options.hpp>
#include <cogen/load_model.hpp>

#include <optional>
#include <string>
#include <vector>

namespace cogen::bench {

/// So many requests at once, and tokens of each prompt.
struct cell {
  int requests;
  int context;
};

/// A time that the clients of a service expect.
struct service_level {
  double first_token_ms;
  double token_ms;  ///< mean of a request's later tokens
};

struct settings {
  std::string device;
  std::string model;
  std::string shape;
  std::vector<cell> cells;
  std::vector<cell> prompts;
  std::vector<double> arrival_rates;  ///< requests a second
  cell arriving = {64, 1024};
  int slots = 0;  ///< of arrivals
  service_level limits = {};
  int new_tokens = 0;
  int repeat = 0;
  int swapping_clients = 0;
  std::string beside;  ///< one of extra_kinds, or empty
  int max_length = 0;  ///< tokens that a slot can hold, at least; 0: those of the cell
  device_weights weights = device_weights::whole;
  bool eager = false;
  bool in_turn = false;
  bool library = false;
  bool flash = false;
  bool lively = false;
  bool apart = false;
  bool json = false;
  engine_options engine;  ///< but for slots and max_sequence_length
};

/// None where help was asked for, and shown. Throws std::invalid_argument for what cannot be run.
std::optional<settings> parse(int argc, char** argv);

}  // namespace cogen::bench
