#pragma once

#include <cogen/clock.hpp>
#include <cogen/sampling.hpp>
#include <cogen/text/chat_template.hpp>
#include <cogen/token.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cogen {

using text::chat_message;

/// One thing to generate: a prompt, and how to go on from it. A plain value; built by `chat()`, `continuation()`,
/// `token_ids()` or `seq2seq()` and refined by the members below, each of which may be chained.
///
/// Nothing is checked here. What does not suit the model is told to the stream that the request becomes.
class request {
 public:
  using messages = std::vector<chat_message>;
  using ids = std::vector<token>;
  using prompt_type = std::variant<std::string, messages, ids>;
  using source_type = std::variant<std::monostate, std::string, ids>;

  /// Generates from this prompt.
  explicit request(prompt_type prompt) : prompt_(std::move(prompt)) {}

  /// What a model with an encoder reads first: text, or token ids used as they are. Other models take none. The prompt
  /// is then how the answer begins, after the token that the model starts every answer with; it may be empty.
  request encoder_input(std::string text) && { return std::move(encoder_input(std::move(text))); }
  request& encoder_input(std::string text) & { return encoder_input_ = std::move(text), *this; }
  request encoder_input(ids tokens) && { return std::move(encoder_input(std::move(tokens))); }
  request& encoder_input(ids tokens) & { return encoder_input_ = std::move(tokens), *this; }

  /// Tokens to generate at most; by default as many as the context holds.
  request max_tokens(int count) && { return std::move(max_tokens(count)); }
  request& max_tokens(int count) & { return max_tokens_ = count, *this; }

  /// Fails the generation with error::deadline_exceeded when it has no token so long after `generate()`: it waited for
  /// a slot, or its prompt took too long. More than 0, by the engine's clock.
  request start_within(clock::duration limit) && { return std::move(start_within(limit)); }
  request& start_within(clock::duration limit) & { return start_within_ = limit, *this; }

  /// Ends the generation so long after `generate()` with what it has by then, be it nothing, and without an error:
  /// finish_reason::deadline_exceeded. Where both limits pass before the first token, the shorter one decides, and of
  /// equals start_within. More than 0, by the engine's clock.
  request finish_within(clock::duration limit) && { return std::move(finish_within(limit)); }
  request& finish_within(clock::duration limit) & { return finish_within_ = limit, *this; }

  /// Cache bytes that the generation may take at most, as the engine sets them aside: it ends with
  /// finish_reason::length where one more token would take more, and fails with error::does_not_fit where its prompt
  /// and one token do. At least 1; by default the engine's own limits are the only ones.
  request max_bytes(std::int64_t bytes) && { return std::move(max_bytes(bytes)); }
  request& max_bytes(std::int64_t bytes) & { return max_bytes_ = bytes, *this; }

  /// How each token is sampled; by default the most likely one is taken.
  request sampling(cogen::sampling how) && { return std::move(sampling(std::move(how))); }
  request& sampling(cogen::sampling how) & { return sampling_ = std::move(how), *this; }

  /// Ends the generation before this text appears. May be given several times.
  request stop(std::string text) && { return std::move(stop(std::move(text))); }
  request& stop(std::string text) & { return stop_strings_.push_back(std::move(text)), *this; }

  /// Ends the generation at this token, besides the model's own end tokens. May be given several times.
  request stop_token(token id) && { return std::move(stop_token(id)); }
  request& stop_token(token id) & { return stop_tokens_.push_back(id), *this; }

  /// Goes on past the model's end tokens.
  request ignore_end(bool ignore = true) && { return std::move(ignore_end(ignore)); }
  request& ignore_end(bool ignore = true) & { return ignore_end_ = ignore, *this; }

  /// How many tokens the engine may run ahead of the reader; a stream with that many unread ones leaves the batch until
  /// it is read. 0: each token is generated only when it is asked for. 16 by default.
  request max_buffered_tokens(int count) && { return std::move(max_buffered_tokens(count)); }
  request& max_buffered_tokens(int count) & { return max_buffered_tokens_ = count, *this; }

  /// How urgent it is, for an engine whose order goes by that: higher comes first. 0 by default.
  request priority(int level) && { return std::move(priority(level)); }
  request& priority(int level) & { return priority_ = level, *this; }

  /// Whom it is for, for an engine whose order divides between tenants. 0 by default.
  request tenant(std::uint64_t seq) && { return std::move(tenant(seq)); }
  request& tenant(std::uint64_t seq) & { return tenant_ = seq, *this; }

  /// Whether it begins with what the engine holds of its first tokens, and leaves its own for others, where the engine
  /// caches prefixes at all. By default it does.
  request prefix_caching(bool share) && { return std::move(prefix_caching(share)); }
  request& prefix_caching(bool share) & { return prefix_caching_ = share, *this; }

  /// It shares tokens with those of the same cache salt alone. By default that is its tenant: how fast an answer begins
  /// would tell a tenant what others have asked.
  request cache_salt(std::uint64_t which) && { return std::move(cache_salt(which)); }
  request& cache_salt(std::uint64_t which) & { return cache_salt_ = which, *this; }

  const prompt_type& prompt() const noexcept { return prompt_; }
  const source_type& encoder_input() const noexcept { return encoder_input_; }
  int max_tokens() const noexcept { return max_tokens_; }
  const std::optional<clock::duration>& start_within() const noexcept { return start_within_; }
  const std::optional<clock::duration>& finish_within() const noexcept { return finish_within_; }
  const std::optional<std::int64_t>& max_bytes() const noexcept { return max_bytes_; }
  const cogen::sampling& sampling() const noexcept { return sampling_; }
  const std::vector<std::string>& stop_strings() const noexcept { return stop_strings_; }
  const std::vector<token>& stop_tokens() const noexcept { return stop_tokens_; }
  bool ignores_end() const noexcept { return ignore_end_; }
  int max_buffered_tokens() const noexcept { return max_buffered_tokens_; }
  int priority() const noexcept { return priority_; }
  std::uint64_t tenant() const noexcept { return tenant_; }
  bool reuses() const noexcept { return prefix_caching_; }
  const std::optional<std::uint64_t>& cache_salt() const noexcept { return cache_salt_; }

  static constexpr int whole_context = -1;

 private:
  prompt_type prompt_;
  source_type encoder_input_;
  int max_tokens_ = whole_context;
  std::optional<clock::duration> start_within_;
  std::optional<clock::duration> finish_within_;
  std::optional<std::int64_t> max_bytes_;
  cogen::sampling sampling_;
  std::vector<std::string> stop_strings_;
  std::vector<token> stop_tokens_;
  bool ignore_end_ = false;
  int max_buffered_tokens_ = 16;
  int priority_ = 0;
  std::uint64_t tenant_ = 0;
  bool prefix_caching_ = true;
  std::optional<std::uint64_t> cache_salt_;
};

/// One user message, put through the model's chat template.
inline request chat(std::string user) {
  request::messages messages;
  messages.emplace_back("user", std::move(user));
  return request(std::move(messages));
}

/// A conversation, put through the model's chat template.
inline request chat(std::vector<chat_message> messages) { return request(std::move(messages)); }

/// Plain text to be continued; control tokens written in it stay plain text.
inline request continuation(std::string prompt) { return request(std::move(prompt)); }

/// Token ids to be continued, used as they are.
inline request token_ids(std::vector<token> ids) { return request(std::move(ids)); }

/// What a model with an encoder says to an encoder input: a summary, a translation, whatever it was trained for.
inline request seq2seq(std::string encoder_input) { return token_ids({}).encoder_input(std::move(encoder_input)); }
inline request seq2seq(std::vector<token> encoder_input) {
  return token_ids({}).encoder_input(std::move(encoder_input));
}

}  // namespace cogen
