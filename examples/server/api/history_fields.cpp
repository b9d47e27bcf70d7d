#include "api/history_fields.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <utility>

namespace server::api {
namespace {

namespace json = boost::json;

std::string text_of_part(const field_reader& part) {
  const auto type = part.required_text("type");
  if (type == "refusal") return part.required_text("refusal");
  if (type != "text" && type != "input_text" && type != "output_text")
    part.refuse("type", "\"text\"; the model reads nothing else");
  return part.required_text("text");
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

}  // namespace

std::string read_content(const field_reader& fields, std::string_view name) {
  const auto* content = fields.find(name);
  if (!content) return {};
  if (const auto* text = content->if_string()) return std::string(*text);
  if (!content->is_array()) fields.refuse(name, "a string or an array of parts");
  std::string result;
  fields.each(name, [&](const field_reader& part) {
    if (!result.empty()) result += '\n';
    result += text_of_part(part);
  });
  return result;
}

json::object read_arguments(const field_reader& call, std::string_view name) {
  const auto* given = call.find(name);
  if (!given) return {};
  if (const auto* object = given->if_object()) return *object;
  if (const auto* text = given->if_string()) {
    if (is_blank(*text)) return {};
    json::error_code error;
    auto value = json::parse(*text, error, {}, {.max_depth = 64});
    if (!error && value.is_null()) return {};
    if (!error && value.is_object()) return std::move(value.as_object());
  }
  call.refuse(name, "a JSON object, or one in a string");
}

}  // namespace server::api
