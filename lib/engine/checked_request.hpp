#pragma once

#include <cogen/engine.hpp>
#include <cogen/extend/engine_parts.hpp>

#include <vector>

namespace cogen::detail {

/// What a request asks an engine to read.
struct read_request {
  scheduler::encoder_tokens encoder_input;
  std::vector<token> prompt;
};

/// Checks what can be checked without reading anything. Throws std::invalid_argument naming parameter, value and limit.
void check_parameters(const request& what, int vocabulary);

/// Tokenizes prompt and encoder input. Throws std::invalid_argument where there is nothing to read, or nobody who
/// could.
read_request read(const request& what, const engine_parts& parts, int vocabulary);

/// How many tokens may follow a prompt of that length, by what the request and the engine allow. Throws
/// error::does_not_fit (as system_error) where that is none, or memory for them all exceeds the engine's budget.
int new_tokens_after(int prompt, const request& what, const scheduler::limits& limits);

/// The tokens that end the generation.
std::vector<token> end_tokens_of(const request& what, const engine_parts& parts);

}  // namespace cogen::detail
