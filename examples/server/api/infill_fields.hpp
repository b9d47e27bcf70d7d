#pragma once

#include "api/completion_fields.hpp"
#include "api/field_reader.hpp"

#include <cogen/request.hpp>
#include <cogen/text/tokenizer.hpp>

#include <vector>

namespace server::api {

/// The prompt of llama-server's /infill: `input_prefix` with `prompt` behind it, `input_suffix` and `input_extra`. It
/// leaves room for what is to be generated among `length` tokens: see cogen::text::encode_infill(). What fills the gap
/// ends where the model begins another file. Throws api::error, with status 501 if the model fills no gaps.
cogen::token_ids read_infill(const field_reader& body, const cogen::text::tokenizer& tokens, int length,
                             cogen::request& request);

/// The prompts of /v1/completions with a `suffix`, which are texts. Throws api::error.
std::vector<cogen::prompt> read_suffixed_prompts(const field_reader& body, prompt_tokenizer tokenizer,
                                                 cogen::request& request);

}  // namespace server::api
