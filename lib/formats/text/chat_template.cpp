#include "formats/text/jinja/conversions.hpp"
#include "formats/text/jinja/renderer.hpp"
#include "formats/text/jinja/statements.hpp"
#include "formats/text/jinja/walks.hpp"
#include "formats/text/utf8.hpp"

#include <cogen/text/chat_template.hpp>

#include <algorithm>
#include <cctype>

namespace cogen::text {
namespace {

using jinja::renderer;
using jinja::value;

constexpr std::size_t max_message_bytes = 2000;

/// A message that is cut where it is too long to be read.
std::string readable(const std::string& message) {
  if (message.size() <= max_message_bytes) return message;
  return message.substr(0, complete_length(std::string_view(message).substr(0, max_message_bytes))) + " ...";
}

std::string located(const std::string& message, std::size_t line) {
  return "chat template" + (line == 0 ? "" : ", line " + std::to_string(line)) + ": " + readable(message);
}

jinja::statement_list parsed(std::string_view source) {
  if (source.size() > chat_template::max_source_bytes) {
    throw std::length_error("a chat template of " + std::to_string(source.size()) + " bytes exceeds the limit of " +
                            std::to_string(chat_template::max_source_bytes));
  }
  return jinja::parse_template(is_utf8(source) ? std::string(source) : repaired_utf8(source));
}

/// A role that is a mere word can hold no control token, and some templates build one around it.
bool is_word(std::string_view role) {
  return std::all_of(role.begin(), role.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; });
}

value message_value(renderer& run, const chat_message& message) {
  jinja::dictionary members;
  insert(run, members, jinja::trusted_text("role"), run.make_text(repaired_utf8(message.role), is_word(message.role)));
  insert(run, members, jinja::trusted_text("content"), run.make_text(repaired_utf8(message.content), false));
  for (const auto& [key, value] : *message.extra) {
    insert(run, members, run.make_text(repaired_utf8(key), false), jinja::from_json(run, value));
  }
  return run.checked(std::move(members));
}

value message_list(renderer& run, std::span<const chat_message> messages) {
  std::vector<value> items;
  for (const auto& message : messages) items.push_back(message_value(run, message));
  return run.make_list(std::move(items));
}

void set_variables(renderer& run, std::span<const chat_message> messages, const template_options& options) {
  auto& variables = *run.variables();
  variables.set("tools", jinja::none{});
  variables.set("documents", jinja::none{});
  variables.set("messages", message_list(run, messages));
  variables.set("add_generation_prompt", options.add_generation_prompt && !options.continue_final_message);
  variables.set("bos_token", run.make_text(repaired_utf8(options.bos), true));
  variables.set("eos_token", run.make_text(repaired_utf8(options.eos), true));
  for (const auto& [name, value] : *options.extra) variables.set(std::string_view(name), jinja::from_json(run, value));
}

}  // namespace

struct chat_template::program {
  jinja::statement_list statements;

  jinja::traced_text run(const template_limits& limits, std::span<const chat_message> messages,
                         const template_options& options) const {
    renderer rendering(limits, options.now.value_or(std::chrono::system_clock::now()));
    set_variables(rendering, messages, options);
    renderer::capture written(rendering);
    jinja::execute_all(rendering, statements);
    return written.take();
  }

  std::vector<text_segment> segments(const template_limits& limits, std::span<const chat_message> messages,
                                     const template_options& options) const {
    auto segments = run(limits, messages, options).segments();
    if (!options.continue_final_message) return segments;
    while (!segments.empty() && segments.back().trusted) segments.pop_back();
    if (segments.empty()) throw template_error("the template writes nothing of the message that is to be continued", 0);
    return segments;
  }
};

template_error::template_error(const std::string& message, std::size_t line)
    : std::runtime_error(located(message, line)), line_(line) {}

chat_template::chat_template(std::string_view source, template_limits limits)
    : program_(std::make_unique<const program>(program{parsed(source)})), limits_(limits) {}

chat_template::chat_template(chat_template&&) noexcept = default;
chat_template& chat_template::operator=(chat_template&&) noexcept = default;
chat_template::~chat_template() = default;

std::string chat_template::render(std::span<const chat_message> messages, const template_options& options) const {
  if (!options.continue_final_message) return program_->run(limits_, messages, options).bytes();
  std::string text;
  for (const auto& segment : program_->segments(limits_, messages, options)) text += segment.text;
  return text;
}

std::vector<text_segment> chat_template::render_segments(std::span<const chat_message> messages,
                                                         const template_options& options) const {
  return program_->segments(limits_, messages, options);
}

}  // namespace cogen::text
