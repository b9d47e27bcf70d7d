#include "engine/checked_request.hpp"
#include "grammar/model_responses.hpp"
#include "runner/diagnostics_of.hpp"

#include <cogen/model.hpp>
#include <cogen/render_prompt.hpp>

#include <memory>
#include <utility>

namespace cogen {
namespace {

/// Shares nothing: for calls that keep no share.
template <class T>
std::shared_ptr<const T> borrowed(const T* object) {
  return {std::shared_ptr<void>(), object};
}

}  // namespace

rendered_prompt render_prompt(const model& model, const request& what) try {
  engine_parts parts;
  if (model.has_tokenizer()) parts.tokenizer = borrowed(&model.tokenizer());
  parts.chat = borrowed(model.chat());
  parts.chat_error = model.chat_error();
  const grammar::model_responses responses(parts.tokenizer);
  auto prompt = detail::encode_chat(what, parts, responses.syntax());
  return {std::move(prompt.text), std::move(prompt.tokens)};
} catch (...) {
  throw generation_error(detail::diagnostics_of(std::current_exception()));
}

}  // namespace cogen
