#pragma once

#include "answers/response/call_ids.hpp"
#include "answers/response/parameter_types.hpp"
#include "answers/response/reader.hpp"
#include "formats/text/output_processor.hpp"

#include <cogen/token_stream.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace cogen::detail {

/// How the response of a chat is taken apart.
struct response_parts {
  const response::response_syntax* syntax = nullptr;  ///< null: all of it is text
  std::span<const token> control_tokens = {};         ///< that the syntax has, and that are text for it
  response::parameter_types types = {};
  response::reader::options options = {};
};

/// The text of a response as its tokens are generated: complete characters, up to a stop string, in its parts. Has
/// pointers to its own members.
class response_text {
 public:
  /// What the arguments point to must outlive it. All text is empty if `tokens` is null.
  response_text(const text::tokenizer* tokens, text::stop_matcher stops, response_parts parts);
  response_text(const response_text&) = delete;
  response_text& operator=(const response_text&) = delete;

  /// The text of the next token of the prompt.
  std::string echo(token id) { return characters_.echo(id); }

  /// What a token ends the text with. What is behind it is dropped.
  enum class ending : std::uint8_t { none, stop_string, only_call };

  /// Sets the text, reasoning and calls of the piece to what the token adds.
  ending push(token id, piece& output);

  /// The same with what is held back, after the last token.
  void finish(piece& output);

 private:
  void set(response::response_delta&& parts, piece& output);

  response_parts parts_;
  text::output_processor characters_;
  std::optional<response::reader> reader_;
  std::optional<response::call_ids> ids_;
};

}  // namespace cogen::detail
