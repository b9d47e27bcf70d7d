#include "api/format_fields.hpp"

#include "api/error.hpp"
#include "api/json_text.hpp"

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

/// Formats under the names that vLLM gives them, after a prefix.
void read_named(const field_reader& fields, const std::string& prefix, one_format& into) {
  const auto path = [&](const char* name) { return fields.path_of(prefix + name); };
  if (fields.has(prefix + "json")) into.set(path("json"), cogen::json_schema(schema_of(fields, prefix + "json")));
  if (const auto text = fields.text(prefix + "regex")) into.set(path("regex"), cogen::regex(*text));
  if (const auto text = fields.text(prefix + "grammar")) into.set(path("grammar"), cogen::ebnf(*text));
  if (fields.has(prefix + "choice")) into.set(path("choice"), cogen::choice(texts_of(fields, prefix + "choice")));
  if (fields.flag(prefix + "json_object").value_or(false)) into.set(path("json_object"), cogen::json_object());
}

void read_response_format(const field_reader& format, one_format& into) {
  const auto type = format.required_text("type");
  if (type == "text") return;
  if (type == "json_object") {
    into.set(format.path_of("type"),
             format.has("schema") ? cogen::json_schema(schema_of(format, "schema")) : cogen::json_object());
  } else if (type == "json_schema") {
    const auto inner = format.fields("json_schema");
    const auto& described = inner ? *inner : format;
    into.set(format.path_of("type"),
             cogen::json_schema(schema_of(described, "schema"), described.flag("strict").value_or(true)));
  } else if (type == "grammar") {
    into.set(format.path_of("type"), cogen::ebnf(format.required_text("grammar")));
  } else if (type == "regex") {
    into.set(format.path_of("type"), cogen::regex(format.required_text("pattern")));
  } else {
    format.refuse("type", "text, json_object, json_schema, grammar or regex");
  }
}

}  // namespace

std::optional<cogen::response_format> read_format(const field_reader& body) {
  one_format found;
  if (const auto format = body.fields("response_format")) read_response_format(*format, found);
  if (const auto formats = body.fields("structured_outputs")) read_named(*formats, "", found);
  read_named(body, "guided_", found);
  if (body.has("json_schema"))
    found.set(body.path_of("json_schema"), cogen::json_schema(schema_of(body, "json_schema")));
  if (const auto grammar = body.text("grammar"); grammar && !grammar->empty())
    found.set(body.path_of("grammar"), cogen::ebnf(*grammar));
  return found.release();
}

}  // namespace server::api
