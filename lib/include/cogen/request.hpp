#pragma once

#include <cogen/clock.hpp>
#include <cogen/detail/indirect.hpp>
#include <cogen/drafter.hpp>
#include <cogen/error.hpp>
#include <cogen/fwd.hpp>
#include <cogen/response_format.hpp>
#include <cogen/sampling_params.hpp>
#include <cogen/text/chat_template.hpp>
#include <cogen/token.hpp>
#include <cogen/tool_call.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cogen {

using text::chat_message;
using chat_messages = std::vector<chat_message>;
using token_ids = std::vector<token>;

/// What a generation begins with: token ids, used as they are; text, in which control tokens are plain text; or a
/// conversation, put through the model's chat template.
using prompt = std::variant<token_ids, std::string, chat_messages>;

/// A conversation of one user message.
inline chat_messages chat(std::string user) {
  chat_messages messages;
  messages.emplace_back("user", std::move(user));
  return messages;
}

/// One text to generate: a prompt, and how to continue it. The engine validates it when it is submitted, and reports
/// what is wrong through the stream.
///
///     engine.generate({.prompt = cogen::chat("Why is the sky blue?"), .max_tokens = 100})
struct request {
  /// If the model has an encoder: how the answer begins, after the decoder start token; it may then be empty.
  cogen::prompt prompt = {};
  /// What a model with an encoder reads first: token ids, used as they are, or text. Other models take none.
  std::optional<std::variant<token_ids, std::string>> encoder_input = {};
  /// Functions that the model may call: JSON objects as Transformers' apply_chat_template() takes them, with
  /// `type` "function" and a `function` of `name`, `description` and `parameters`, a JSON schema. For a chat, whose
  /// template gets them as the variable `tools`. Empty: none.
  detail::indirect<boost::json::array> tools = {};
  /// Whether and which of the tools the model has to call: before anything else but its reasoning, if it must. Calls
  /// that it may write are constrained, too: their arguments are valid by the schemas. Excludes response_format if it
  /// requires a call.
  cogen::tool_choice tool_choice = {};
  /// Whether a response may have more than one call. If not, its first call ends it.
  bool parallel_tool_calls = true;
  /// Tokens of a chat's reasoning at most; then the model's closing tag is forced. At least 0. Empty: no limit. A model
  /// that writes no reasoning has nothing to limit.
  std::optional<int> reasoning_budget = {};
  /// Further variables of the chat template, such as `enable_thinking`, `documents` or a date.
  detail::indirect<boost::json::object> chat_template_kwargs = {};
  /// Continues the last message of a chat, which is the assistant's, instead of beginning an answer.
  bool continue_final_message = false;

  /// Keeps so many of the prompt's last tokens, at least 1, after a chat template (vLLM's truncate_prompt_tokens). With
  /// an encoder, the start token is besides. Empty: keeps all.
  std::optional<int> truncate_prompt = {};

  std::optional<int> max_tokens = {};  ///< to generate at most; 0: the prompt is only read; empty: all that fits
  sampling_params sampling = {};       ///< how each token is chosen

  /// Texts that may not be generated (vLLM's): each as tokens, with and without a space in front, whose last one is
  /// forbidden after the others. At most max_bad_words, of max_bad_word_bytes together; they need a tokenizer.
  std::vector<std::string> bad_words = {};
  static constexpr std::size_t max_bad_words = 1024;
  static constexpr std::size_t max_bad_word_bytes = 16384;
  /// The tokens that may be generated (vLLM's), at most as many as the vocabulary has. Where no end token is among
  /// them, the generation ends another way. Not for strategies, as bad_words. Empty: all.
  std::vector<token> allowed_token_ids = {};

  /// What the generated text has to look like. A format is compiled on another thread while the request is prepared.
  /// The generation ends with finish_reason::eos only where its text is complete, at the latest where nothing else may
  /// follow. Empty: anything.
  std::optional<response_constraint> response_format = {};

  std::vector<std::string> stop = {};      ///< texts that end the generation before they appear
  std::vector<token> stop_token_ids = {};  ///< tokens that end the generation, besides the model's own end tokens
  bool ignore_eos = false;                 ///< continues past the model's end tokens
  /// Fails the generation with error::deadline_exceeded if no token is produced within this time of `generate()`. More
  /// than 0, by the engine's clock.
  std::optional<clock::duration> start_within = {};
  /// Ends the generation this long after `generate()`, without an error, with the text generated so far:
  /// finish_reason::deadline_exceeded. If both limits pass before the first token, the shorter one decides; of equals,
  /// start_within. More than 0, by the engine's clock.
  std::optional<clock::duration> finish_within = {};
  /// Cache bytes that the engine may reserve for the generation. It ends with finish_reason::length where one more
  /// token would need more, and fails with error::does_not_fit where its prompt and one token do. At least 1. Empty:
  /// only the engine's limits apply.
  std::optional<std::int64_t> max_bytes = {};
  /// Tokens that the engine may generate ahead of the reader. A stream with that many unread tokens leaves the batch
  /// until it is read. 0: each token is generated only when it is asked for.
  int max_buffered_tokens = 16;

  /// Reports the raw log-probability of each token of the prompt and those of so many most probable tokens in its
  /// place, at most sampling_params::max_logprobs: see token_stream::prompt_logprobs(). Such a prompt is run whole,
  /// whatever of it is cached; others may share what it has run. Empty: none.
  std::optional<int> prompt_logprobs = {};
  /// The stream begins with a piece of the prompt: its tokens, with what `prompt_logprobs` reports, and their text
  /// without control tokens. It comes with the first generated token or the end; no stop string is looked for.
  bool echo = false;

  /// Guesses at the next tokens, which are verified while they are run: several tokens may come from one step. The
  /// tokens are the same, bit for bit, with and without.
  speculative_options speculative = {};

  int priority = 0;            ///< higher comes first, with a scheduling policy that goes by priority
  std::uint64_t tenant = 0;    ///< for a policy that divides between tenants, and for what they share nothing of
  bool prefix_caching = true;  ///< whether it may share cached prefixes, where the engine caches prefixes
  /// It shares prefixes only with requests of the same salt, whatever their tenant: at most max_cache_salt_bytes, of
  /// which SHA-256 is compared. Empty: only with requests of its tenant that have none, since the time to a first token
  /// would otherwise tell one tenant what another has asked.
  std::optional<std::string> cache_salt = {};
  static constexpr std::size_t max_cache_salt_bytes = 1024;
};

/// A chat as engines read it.
struct rendered_prompt {
  std::string text;           ///< what the chat template writes
  std::vector<token> tokens;  ///< names of control tokens in a message's content are text
};

/// The prompt that an engine over this model makes of a request's messages, tools and chat_template_kwargs, calls with
/// the ids that its family insists on. Throws generation_error with error::invalid_request where the engine refuses
/// them, and for a prompt that is not a chat.
rendered_prompt render_prompt(const model& model, const request& request);

/// What a request would need of an engine.
struct request_estimate {
  int prompt_tokens = 0;         ///< 0 if the prompt could not be read
  int encoder_tokens = 0;        ///< read by the encoder, if there is one
  int max_length = 0;            ///< tokens it may hold, prompt included; if it cannot run, the prompt and one more
  std::int64_t cache_bytes = 0;  ///< reserved for that many tokens when it gets a slot
  diagnostics why_not;           ///< why it would always be refused; empty if it would not
  bool fits() const noexcept { return !why_not; }  ///< whether it can run once there is room
};

}  // namespace cogen
