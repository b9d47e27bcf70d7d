#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cogen {

/// How a call came to its end.
enum class tool_call_status : std::uint8_t {
  complete,    ///< its arguments are a JSON object
  unfinished,  ///< the generation ended first
  malformed,   ///< it is not written as the model's format says
};

/// A call of a function, as the model wrote it.
struct tool_call {
  std::string id;         ///< the model's, or a random one in the form that its chat template takes
  std::string name;       ///< empty if none could be read
  std::string arguments;  ///< JSON; unless it is complete, what of it has come, and what could not be read
  tool_call_status status = tool_call_status::unfinished;
};

/// What a piece adds to a call.
struct tool_call_delta {
  int index = 0;        ///< of the call in the response, from 0
  std::string id = {};  ///< whole, with the first delta that has anything else
  std::string name = {};
  std::string arguments = {};
  std::optional<tool_call_status> status = {};  ///< at its end
};

/// Adds deltas to the calls that they belong to.
void append(std::vector<tool_call>& calls, std::vector<tool_call_delta> more);

/// Whether and what the model may call.
struct tool_choice {
  enum class kind : std::uint8_t { automatic, none, required, function };

  kind type = kind::automatic;
  std::string name = {};  ///< of the function

  /// A call of this function, and nothing else.
  static tool_choice call(std::string name) { return {kind::function, std::move(name)}; }
};

}  // namespace cogen
