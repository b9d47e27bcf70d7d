#pragma once

#include "answers/grammar/compiler.hpp"
#include "answers/grammar/model_responses.hpp"

#include <cogen/engine.hpp>
#include <cogen/extend/runner.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cogen::detail {

/// The tokenized inputs of a request.
struct read_request {
  scheduler::encoder_tokens encoder_input;
  std::vector<token> prompt;
  std::optional<std::string> chat_ending;  ///< of a chat: what its template wrote after the last message
};

/// Checks what can be checked without tokenizing. Throws std::invalid_argument naming parameter, value and limit.
void check_parameters(const request& request, int vocabulary);

/// Tokenizes prompt and encoder input. Throws std::invalid_argument if a required one is empty, too long for the
/// encoder, or has an unknown token. Likewise if the engine lacks the tokenizer, chat template or encoder for it. A
/// chat has its calls as `syntax` writes them.
read_request read(const request& request, const engine_parts& parts, const response::response_syntax& syntax,
                  int vocabulary);

/// The most tokens that the request and the engine allow after a prompt of `prompt` tokens. Throws error::does_not_fit
/// (as generation_error) if that is none, or if the cache of all tokens would exceed the engine's memory budget.
int new_tokens_after(int prompt, const request& request, const scheduler::limits& limits);

/// Whether a format, or the schemas of tools, may have to be compiled for it.
bool may_compile(const request& request, grammar::compiler& formats);

/// What constrains the generation. Compiles a format, and the schemas of tools. Throws std::invalid_argument for what
/// cannot be compiled, and for what is of another model or null, and what the watch throws.
grammar::guided_response guide_of(const request& request, const read_request& inputs, const engine_parts& parts,
                                  grammar::compiler& formats, const grammar::model_responses& responses,
                                  grammar::work_watch* watch);

/// The tokens that end the generation: the model's, unless the request ignores them, and the request's stop tokens.
/// Ascending, each once.
std::vector<token> end_tokens_of(const request& request, const engine_parts& parts);

/// Where what a slot holds of these tokens is worth keeping (see text::prompt_checkpoints); none where slots can be cut
/// back to any length.
std::vector<int> checkpoints_of(std::span<const token> tokens, const engine_parts& parts, int offset = 0);

}  // namespace cogen::detail
