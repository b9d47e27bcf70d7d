#include "api/format_fields.hpp"

#include "api/error.hpp"
#include "api/json_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace server::api {
namespace {

namespace json = boost::json;

/// Collects at most one format.
class one_format {
 public:
  void set(const std::string& path, cogen::response_format format) {
    if (format_) throw invalid(path, path + " is given besides " + path_ + "; a request has one format at most");
    format_ = std::move(format);
    path_ = path;
  }

  std::optional<cogen::response_format> release() { return std::move(format_); }

 private:
  std::optional<cogen::response_format> format_;
  std::string path_;
};

/// A schema as text: an object or boolean as it is written, or a string that holds one.
std::string schema_of(const field_reader& fields, std::string_view name) {
  const auto* value = fields.find(name);
  if (!value || !(value->is_object() || value->is_string() || value->is_bool())) fields.refuse(name, "a JSON schema");
  return value->is_string() ? std::string(value->get_string()) : json_text(*value);
}

std::vector<std::string> texts_of(const field_reader& fields, std::string_view name) {
  std::vector<std::string> result;
  for (const auto& each : fields.required_array(name)) {
    if (!each.is_string()) fields.refuse(name, "an array of strings");
    result.emplace_back(each.get_string());
  }
  return result;
}

/// Refuses members of an object that are none of these. What is null or false asks for nothing.
void check_members(const field_reader& fields, std::initializer_list<std::string_view> known,
                   std::string_view prefix = "") {
  for (const auto& [key, value] : fields.source()) {
    const std::string_view name(key.data(), key.size());
    if (!name.starts_with(prefix) || value.is_null() || value == false) continue;
    if (std::ranges::find(known, name.substr(prefix.size())) == known.end())
      fields.refuse(name, fmt::format("missing; known are {}", fmt::join(known, ", ")));
  }
}

/// Formats under the names that vLLM gives them, after a prefix.
void read_named(const field_reader& fields, const std::string& prefix, one_format& result) {
  const auto path = [&](const char* name) { return fields.path_of(prefix + name); };
  if (fields.has(prefix + "json")) result.set(path("json"), cogen::json_schema(schema_of(fields, prefix + "json")));
  if (const auto text = fields.text(prefix + "regex")) result.set(path("regex"), cogen::regex(*text));
  if (const auto text = fields.text(prefix + "grammar")) result.set(path("grammar"), cogen::ebnf(*text));
  if (fields.has(prefix + "choice")) result.set(path("choice"), cogen::choice(texts_of(fields, prefix + "choice")));
  if (fields.flag(prefix + "json_object").value_or(false)) result.set(path("json_object"), cogen::json_object());
}

/// A schema, with its name or alone, where a client leaves the object around both out.
cogen::response_format schema_format(const field_reader& format) {
  const auto inner = format.fields("json_schema");
  if (inner) check_members(format, {"type", "json_schema", "name", "description", "strict"});
  const auto& described = inner ? *inner : format;
  check_members(described, {"type", "schema", "name", "description", "strict"});
  return cogen::json_schema(schema_of(described, "schema"), described.flag("strict").value_or(true));
}

cogen::response_format format_of(const field_reader& format, std::string_view type) {
  if (type == "json_schema") return schema_format(format);
  if (type == "json_object") {
    check_members(format, {"type", "schema", "name", "description", "strict"});
    return format.has("schema") ? cogen::json_schema(schema_of(format, "schema")) : cogen::json_object();
  }
  if (type == "grammar") {
    check_members(format, {"type", "grammar"});
    return cogen::ebnf(format.required_text("grammar"));
  }
  if (type == "regex") {
    check_members(format, {"type", "pattern"});
    return cogen::regex(format.required_text("pattern"));
  }
  format.refuse("type", "text, json_object, json_schema, grammar or regex");
}

void read_typed(const field_reader& fields, std::string_view name, one_format& result) {
  const auto format = fields.fields(name);
  if (!format) return;
  const auto type = format->required_text("type");
  if (type == "text")
    check_members(*format, {"type"});
  else
    result.set(fields.path_of(name), format_of(*format, type));
}

/// llama.cpp's fields, and SGLang's.
void read_bare(const field_reader& body, one_format& result) {
  if (body.has("json_schema")) result.set("json_schema", cogen::json_schema(schema_of(body, "json_schema")));
  if (const auto grammar = body.text("grammar"); grammar && !grammar->empty())
    result.set("grammar", cogen::ebnf(*grammar));
  if (body.flag("grammar_lazy").value_or(false))
    body.refuse("grammar_lazy", "false: a grammar holds from the first token");
  if (const auto grammar = body.text("ebnf")) result.set("ebnf", cogen::ebnf(*grammar));
  if (const auto pattern = body.text("regex")) result.set("regex", cogen::regex(*pattern));
}

}  // namespace

std::optional<cogen::response_format> read_format(const field_reader& body) {
  one_format found;
  read_typed(body, "response_format", found);
  read_typed(body, "output_format", found);
  for (const auto* name : {"text", "output_config"})
    if (const auto settings = body.fields(name)) read_typed(*settings, "format", found);
  if (const auto formats = body.fields("structured_outputs")) {
    check_members(*formats, {"json", "regex", "grammar", "choice", "json_object", "disable_fallback"});
    read_named(*formats, "", found);
  }
  check_members(body, {"json", "regex", "grammar", "choice", "json_object", "decoding_backend"}, "guided_");
  read_named(body, "guided_", found);
  read_bare(body, found);
  return found.release();
}

}  // namespace server::api
