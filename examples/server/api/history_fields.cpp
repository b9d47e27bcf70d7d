#include "api/history_fields.hpp"

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

bool says_nothing(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto begin = text.find_first_not_of(blanks);
  return begin == std::string_view::npos || text.substr(begin, text.find_last_not_of(blanks) + 1 - begin) == "null";
}

}  // namespace

std::string read_content(const field_reader& fields, std::string_view name) {
  const auto* content = fields.find(name);
  if (!content) return {};
  if (const auto* text = content->if_string()) return std::string(*text);
  if (!content->is_array()) fields.refuse(name, "a string or an array of parts");
  std::string result;
  fields.for_each(name, [&](const field_reader& part) {
    if (!result.empty()) result += '\n';
    result += text_of_part(part);
  });
  return result;
}

json::object read_arguments(const field_reader& call, std::string_view name) {
  const auto* given = call.find(name);
  if (!given || (given->is_string() && says_nothing(given->get_string()))) return {};
  auto arguments = call.parsed_object(name);
  if (!arguments) call.refuse(name, "a JSON object, or one in a string");
  return *std::move(arguments);
}

}  // namespace server::api
