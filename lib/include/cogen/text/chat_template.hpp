#pragma once

#include <cogen/detail/indirect.hpp>
#include <cogen/text/tokenizer.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::text {

/// One message of a chat.
struct chat_message {
  std::string role;
  std::string content;
  /// Further fields that the template may read, such as `tool_calls`. A `content` here replaces the one above, for
  /// templates that expect null or a list of parts.
  detail::indirect<boost::json::object> extra = {};
};

/// What a template is rendered with.
struct template_options {
  bool add_generation_prompt = true;  ///< ends the text with the beginning of the assistant's answer
  /// Ends the text with the content of the last message, so that the model continues it. add_generation_prompt does
  /// not count then, and rendering throws template_error if the template writes nothing of a message.
  bool continue_final_message = false;
  std::string bos = {};                              ///< the text of a control token, as the variable `bos_token`
  std::string eos = {};                              ///< the same, as `eos_token`
  detail::indirect<boost::json::object> extra = {};  ///< further variables, such as `tools` and `documents`
  std::optional<std::chrono::system_clock::time_point> now = {};  ///< of `strftime_now`, in UTC; empty: current time
};

/// What rendering a template may consume, so that it always ends.
struct template_limits {
  std::size_t max_steps = 10'000'000;                 ///< evaluated expressions and statements
  std::size_t max_bytes = std::size_t{256} << 20;     ///< of the text and of all intermediate strings
  std::size_t max_bytes_read = std::size_t{1} << 30;  ///< by operations on texts and values, again each time
  std::size_t max_depth = 200;                        ///< of nested expressions, statements and macro calls
};

/// A template that cannot be parsed or rendered. The message names the construct and its line.
class template_error : public std::runtime_error {
 public:
  template_error(const std::string& message, std::size_t line);  ///< `line`: see line()
  std::size_t line() const noexcept { return line_; }            ///< from 1 in the template; 0 if no line is at fault

 private:
  std::size_t line_;
};

/// A model's chat template: the part of Jinja that chat templates use, with the white-space rules and functions that
/// Hugging Face Transformers provides (trim_blocks, lstrip_blocks, `tojson`, `raise_exception`, `strftime_now`, loop
/// controls, `generation` blocks). Source: the Jinja 3.1 template designer documentation. Immutable and thread-safe.
/// Templates are sandboxed: they cannot access anything but their variables.
class chat_template {
 public:
  static constexpr std::size_t max_source_bytes = std::size_t{1} << 20;

  /// Throws template_error for an unknown statement or malformed syntax, std::length_error for an oversized source.
  explicit chat_template(std::string_view source, template_limits limits = {});
  chat_template(chat_template&&) noexcept;
  chat_template& operator=(chat_template&&) noexcept;
  ~chat_template();

  /// The chat as text. Throws template_error if the template raises, misuses a name or value, or exceeds a limit.
  std::string render(std::span<const chat_message> messages, const template_options& options = {}) const;

  /// The same, divided by author, so that a message cannot inject control tokens: see `tokenizer::encode`.
  std::vector<text_segment> render_segments(std::span<const chat_message> messages,
                                            const template_options& options = {}) const;

 private:
  struct program;
  std::unique_ptr<const program> program_;
  template_limits limits_;
};

}  // namespace cogen::text
