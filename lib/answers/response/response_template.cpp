#include "answers/response/response_template.hpp"

#include "answers/response/delimiter_pattern.hpp"
#include "answers/response/families.hpp"
#include "formats/json/field.hpp"
#include "formats/json/parse.hpp"
#include "formats/json/printable.hpp"

#include <algorithm>
#include <initializer_list>
#include <string>

namespace cogen::response {
namespace {

using json::field;
using form = call_syntax::form;

void check_members(const field& source, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : source.object())
    if (std::ranges::find(known, std::string_view(key)) == known.end())
      source.refuse("must not hold " + json::in_quotes(key));
}

delimiter literal(const field& source) {
  delimiter parts;
  append_text(parts, source.string());
  parts = trimmed(std::move(parts));
  if (parts.empty()) source.refuse("must hold more than white space");
  return parts;
}

/// A delimiter as a text, several texts, or a pattern; none if it is not there.
std::vector<delimiter> delimiters_at(const field& source, const std::string& key) {
  const auto literals = source.find(key), pattern = source.find(key + "_pattern");
  if (literals && pattern) source.refuse("must not have both " + key + " and " + key + "_pattern");
  if (pattern) return delimiters_of_pattern(pattern->string());
  std::vector<delimiter> delimiters;
  if (!literals) return delimiters;
  if (!literals->value().is_array()) return {literal(*literals)};
  for (std::size_t i = 0; i < literals->array().size(); ++i) delimiters.push_back(literal(literals->element(i)));
  if (delimiters.empty()) literals->refuse("must not be empty");
  return delimiters;
}

delimiter only_delimiter(const field& source, const std::string& key) {
  auto delimiters = delimiters_at(source, key);
  if (delimiters.size() != 1) source.refuse("must have one " + key);
  return delimiters.front();
}

/// The key that a placeholder of a transform names, `{content.name}` or, of list elements, `{name}`.
std::string placeholder(const field& source) {
  auto text = source.string();
  if (text.size() < 3 || text.front() != '{' || text.back() != '}')
    source.refuse("must be a placeholder such as {name}");
  text = text.substr(1, text.size() - 2);
  return text.starts_with("content.") ? text.substr(8) : text;
}

/// How the value between the delimiters is turned into a call.
void read_transform(const field& calls, call_syntax& syntax) {
  const auto transform = calls.find("transform");
  const auto function = transform ? transform->find("function") : std::nullopt;
  if (!function) calls.refuse("must have a transform with a function");
  if (function->value().is_string()) {
    if (function->string() != "{content}") function->refuse("must be {content}, or hold name and arguments");
    return;
  }
  const auto arguments = placeholder(function->at("arguments"));
  if (arguments == "content") {
    if (placeholder(function->at("name")) != "name") function->at("name").refuse("must be {name}");
    syntax.type = form::arguments;
  } else {
    syntax.name_key = placeholder(function->at("name"));
    syntax.arguments_key = arguments;
  }
}

call_syntax read_calls(const field& calls) {
  check_members(calls, {"open", "open_pattern", "close", "close_pattern", "content", "content_args", "repeats",
                        "optional", "transform", "transform_each"});
  call_syntax syntax{.open = delimiters_at(calls, "open"), .array = calls.flag("transform_each", false)};
  if (syntax.open.empty()) calls.refuse("must have an open or an open_pattern");
  if (auto close = delimiters_at(calls, "close"); close.size() > 1)
    calls.refuse("must have one close");
  else if (!close.empty())
    syntax.close = close.front();
  read_transform(calls, syntax);
  const auto content = calls.text("content", "text");
  const auto arguments = calls.find("content_args");
  if (content == "xml-inline" && syntax.type == form::arguments && arguments) {
    check_members(*arguments, {"tag_pattern"});
    syntax.type = form::parameters;
    const auto around = delimiters_around_value(arguments->at("tag_pattern").string());
    syntax.parameter = {around.first, around.second};
  } else if (content != "json") {
    calls.at("content").refuse("must be json or, with a tag_pattern, xml-inline");
  } else if (arguments && !arguments->object().empty()) {
    arguments->refuse("must be empty for json");
  }
  return syntax;
}

reasoning_syntax read_reasoning(const field& reasoning) {
  check_members(reasoning, {"open", "open_pattern", "close", "close_pattern", "content", "content_args", "repeats",
                            "join", "optional"});
  return {only_delimiter(reasoning, "open"), only_delimiter(reasoning, "close")};
}

}  // namespace

response_syntax syntax_of_response_template(const boost::json::value& response_template) {
  const field root(response_template, "response_template");
  check_members(root, {"version", "defaults", "fields", "start_anchor", "start_anchor_pattern"});
  if (const auto version = root.find("version"); version && version->integer() != 1) version->refuse("must be 1");
  const auto fields = root.at("fields");
  check_members(fields, {"content", "reasoning_content", "thinking", "tool_calls"});
  response_syntax syntax;
  for (const auto* name : {"reasoning_content", "thinking"})
    if (const auto reasoning = fields.find(name)) syntax.reasoning = read_reasoning(*reasoning);
  if (const auto calls = fields.find("tool_calls")) syntax.calls = read_calls(*calls);
  if (const auto content = fields.find("content"))
    for (const auto* key : {"open", "close"})
      for (auto& each : delimiters_at(*content, key)) syntax.around_text.push_back(std::move(each));
  return syntax;
}

response_syntax syntax_of(const text::tokenizer& tokens) {
  auto usual = syntax_of_template(tokens.chat_template());
  const auto own = tokens.response_template();
  if (own.empty()) return usual;
  auto syntax = syntax_of_response_template(json::parse(own, "response_template"));
  if (syntax.calls) syntax.calls->id = usual.calls->id;
  return syntax;
}

}  // namespace cogen::response
