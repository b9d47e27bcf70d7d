#include "api/infill_fields.hpp"

#include "api/completion_fields.hpp"
#include "api/encoded_text.hpp"
#include "api/error.hpp"

#include <cogen/text/infill.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <variant>

namespace server::api {
namespace {

std::vector<cogen::text::infill_file> read_files(const field_reader& body) {
  std::vector<cogen::text::infill_file> files;
  body.for_each("input_extra", [&](const field_reader& file) {
    files.push_back({file.text("filename").value_or("tmp"), file.required_text("text")});
  });
  return files;
}

/// What fills a gap does not go on with the next file.
void add_ends(const cogen::text::tokenizer& tokens, cogen::request& request) {
  const auto ends = cogen::text::infill_ends(tokens);
  request.stop_token_ids.insert(request.stop_token_ids.end(), ends.begin(), ends.end());
}

}  // namespace

cogen::token_ids read_infill(const field_reader& body, const cogen::text::tokenizer& tokens, int length,
                             cogen::request& request) {
  if (!cogen::text::infill_tokens_of(tokens).complete())
    throw error(501, "not_supported_error",
                "the model has no tokens for a prefix, a suffix and a middle, and fills no gaps", "model");
  const cogen::text::infill_text gap{.prefix = body.required_text("input_prefix"),
                                     .suffix = body.required_text("input_suffix"),
                                     .prompt = body.text("prompt").value_or(""),
                                     .files = read_files(body),
                                     .repository = "myproject",  // as llama-server names them
                                     .name = "filename"};
  const int wanted = std::min(request.max_tokens.value_or(length / 4), length / 2);
  add_ends(tokens, request);
  return cogen::text::encode_infill(tokens, gap, static_cast<std::size_t>(length - std::max(1, wanted)));
}

std::vector<cogen::prompt> read_suffixed_prompts(const field_reader& body, prompt_tokenizer tokenizer,
                                                 cogen::request& request) try {
  const auto& tokens = *tokenizer.tokens;
  if (!cogen::text::infill_tokens_of(tokens).complete())
    body.refuse("suffix", "missing: the model has no tokens for a prefix, a suffix and a middle, and fills no gaps");
  if (request.echo) body.refuse("echo", "false with a suffix");
  add_ends(tokens, request);
  std::vector<std::string> prefixes;
  for (auto& prompt : read_prompts(body, "prompt")) {
    auto* const prefix = std::get_if<std::string>(&prompt);
    if (!prefix) body.refuse("prompt", "a string or an array of strings with a suffix");
    prefixes.push_back(std::move(*prefix));
  }
  auto prompts = encoded("prompt", [&] {
    return cogen::text::encode_infills(tokens, prefixes, body.required_text("suffix"),
                                       static_cast<std::size_t>(tokenizer.length));
  });
  return {std::move_iterator(prompts.begin()), std::move_iterator(prompts.end())};
} catch (const cogen::text::token_limit_exceeded& e) {
  throw too_long(e.least(), true, tokenizer.length);
}

}  // namespace server::api
