#include "answers/grammar/call_grammar.hpp"

#include "answers/grammar/ebnf.hpp"
#include "answers/grammar/grammar_error.hpp"
#include "answers/grammar/schema_document.hpp"
#include "answers/grammar/schema_keywords.hpp"
#include "answers/grammar/schema_loosening.hpp"
#include "answers/grammar/unquoted_strings.hpp"
#include "answers/response/parameter_types.hpp"
#include "formats/json/printable.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace cogen::grammar {
namespace {

using response::delimiter;
using response::delimiter_part;
using delimiter_kind = delimiter_part::kind;
using form = response::call_syntax::form;

const std::string line_end = "[\\n]?";

/// The expression of a text in which some parts are control tokens.
std::string spelled(std::string_view text, const text_trigger::control_tokens& controls) {
  std::vector<std::string> parts;
  std::string plain;
  while (!text.empty()) {
    const std::pair<const std::string, token>* longest = nullptr;
    for (const auto& entry : controls)
      if (text.starts_with(entry.first) && (!longest || entry.first.size() > longest->first.size())) longest = &entry;
    if (!longest) {
      plain += text.front();
      text.remove_prefix(1);
      continue;
    }
    if (!plain.empty()) parts.push_back(literal(std::exchange(plain, {})));
    parts.push_back("Token(" + std::to_string(longest->second) + ")");
    text.remove_prefix(longest->first.size());
  }
  if (!plain.empty()) parts.push_back(literal(plain));
  return sequence(parts);
}

/// A function that may be called.
struct described_function {
  std::string name;
  boost::json::object schema;  // of its arguments, which are an object
  schema_mode mode;
};

described_function described(const boost::json::value& tool) {
  const auto& function = tool.at("function");
  const auto* schema = member(function, "parameters");
  const auto* strict = member(function, "strict");
  described_function result{.name = std::string(function.at("name").as_string()),
                            .schema = {},
                            .mode = strict && *strict == true ? schema_mode::strict : schema_mode::loosened};
  if (schema && !schema->is_null() && !schema->is_object()) throw grammar_error("they must be an object");
  if (schema && schema->is_object()) result.schema = schema->get_object();
  if (result.schema.empty()) result.schema["additionalProperties"] = false;
  if (!result.schema.contains("type")) result.schema["type"] = "object";
  return result;
}

std::vector<std::string> required_by(const described_function& function) {
  std::vector<std::string> names;
  const auto* required = function.schema.if_contains("required");
  if (required && required->is_array())
    for (const auto& each : required->get_array())
      if (each.is_string()) names.emplace_back(each.get_string());
  return names;
}

/// The schemas of arguments: those that are listed, and others that are required.
boost::json::object properties_of(const described_function& function) {
  boost::json::object result;
  const auto* properties = function.schema.if_contains("properties");
  if (properties && properties->is_object()) result = properties->get_object();
  for (const auto& each : required_by(function)) result.emplace(each, true);
  return result;
}

/// Writes the grammar of calls.
class grammar_writer {
 public:
  grammar_writer(const response::call_syntax& syntax, const boost::json::array& tools,
                 const text_trigger::control_tokens& controls, call_rules wanted)
      : syntax_(syntax), tools_(tools), controls_(controls), wanted_(wanted), types_(tools) {}

  schema_grammar run() {
    std::vector<std::string> ways;
    for (const auto& tool : tools_) ways.push_back(call_of(tool));
    rules_.add("call", alternatives(ways));
    rules_.add("root", root());
    rules_.add("blank", R"([ \t\n\r]{0,4})");
    rules_.add("gap", R"([ \t\n\r]{1,4})");
    const auto length = syntax_.id.length;
    rules_.add("call-id", length > 0 ? "[a-zA-Z0-9]{" + std::to_string(length) + "}" : "[a-zA-Z0-9]{1,9}");
    add_json_rules(rules_, R"([ ]?)");  // as chat templates write it; some models would go on with it for ever
    return {rules_.text(), std::move(loosened_), rules_.distinct()};
  }

 private:
  std::string root() const {
    std::string calls = "call";
    const bool in_sequence = wanted_.several && wanted_.required;
    if (syntax_.type == form::object) {
      if (syntax_.array)
        calls = sequence({literal("["), "blank", "call", several_of(R"(blank "," blank call)", wanted_.several),
                          "blank", literal("]")});
      calls = enclosed(syntax_.open.front(), calls, syntax_.close);
      return syntax_.array ? calls : sequence({calls, several_of("blank " + calls, in_sequence)});
    }
    const bool is_section = !syntax_.section_open.empty();
    calls = sequence({calls, several_of("blank call", is_section ? wanted_.several : in_sequence)});
    return is_section ? enclosed(syntax_.section_open, calls, syntax_.section_close) : calls;
  }

  static std::string several_of(const std::string& more, bool several) {
    return several ? "(" + more + ")*" : literal("");
  }

  std::string enclosed(const delimiter& open, const std::string& content, const delimiter& close) const {
    std::vector<std::string> parts = {written(open, ""), "blank", content};
    if (!close.empty()) parts.insert(parts.end(), {"blank", written(close, "")});
    return sequence(parts);
  }

  std::string written(const delimiter& parts, const std::string& name) const {
    std::vector<std::string> pieces;
    bool after_name = false;  // which only white space can part from a word
    for (const auto& part : parts) {
      pieces.push_back(written(part, name, after_name));
      after_name = part.type == delimiter_kind::name || part.type == delimiter_kind::id;
    }
    return sequence(pieces);
  }

  std::string written(const delimiter_part& part, const std::string& name, bool after_name) const {
    switch (part.type) {
      case delimiter_kind::text:
        return spelled(part.text, controls_);
      case delimiter_kind::space:
        return after_name ? "gap" : "blank";
      case delimiter_kind::name:
        return literal(name);
      case delimiter_kind::id:
        return "call-id";
    }
    return literal("");
  }

  std::string object(const std::string& name, const std::string& arguments_rule) {
    const auto key = [](const std::string& text) { return sequence({literal(json_spelling(text)), R"(ws ":" ws)"}); };
    const auto id = sequence({key(syntax_.id_key), syntax_.id.length > 0 ? R"("\"" call-id "\"")" : "string"});
    return sequence({literal("{"), "ws", "(" + id + R"( ws "," ws)?)", key(syntax_.name_key),
                     literal(json_spelling(name)), R"(ws "," ws)", key(syntax_.arguments_key), arguments_rule,
                     "(" + sequence({R"(ws "," ws)", id}) + ")?", "ws", literal("}")});
  }

  std::string call_of(const boost::json::value& tool) {
    try {
      auto function = described(tool);
      check_type(function);
      return call(function);
    } catch (const std::invalid_argument& error) {
      throw grammar_error("the parameters of the tool " +
                          cogen::json::in_quotes(tool.at("function").at("name").as_string()) + ": " + error.what());
    }
  }

  /// Arguments are an object, whatever else a schema allows.
  void check_type(described_function& function) {
    auto& type = function.schema["type"];
    const auto* types = type.if_array();
    const bool allows = type == "object" || (types && std::ranges::find(*types, "object") != types->end());
    if (!allows && function.mode == schema_mode::strict) throw grammar_error("their type must be \"object\"");
    if (!allows) note(function, {{"type", "#"}});
    type = "object";
  }

  std::string call(const described_function& function) {
    if (syntax_.type == form::object) return object(function.name, arguments(function));
    std::vector<std::string> openings;
    for (const auto& open : syntax_.open) openings.push_back(written(open, function.name));
    std::vector<std::string> parts = {alternatives(openings), "blank",
                                      syntax_.type == form::arguments ? arguments(function) : parameters(function)};
    if (!syntax_.close.empty()) parts.insert(parts.end(), {"blank", written(syntax_.close, "")});
    return sequence(parts);
  }

  // What is not kept

  bool is_open(const described_function& function) const {
    return wanted_.any_arguments && function.mode == schema_mode::loosened;
  }

  void note(const described_function& function, const std::vector<loosened_keyword>& loosened,
            const std::string& path = "") {
    for (const auto& each : loosened) {
      const auto place = each.path.substr(each.path.find('#') + 1);
      const bool is_shared = place.starts_with("/$defs/") || place.starts_with("/definitions/");
      loosened_.push_back({each.name, function.name + "#" + (is_shared ? place : path + place)});
    }
  }

  /// Of a tool that is strict, a keyword is refused where the model's form of calls cannot keep it.
  void leave_out(const described_function& function, std::string_view keyword, const std::string& path) {
    if (function.mode == schema_mode::strict)
      throw grammar_error("the keyword " + cogen::json::in_quotes(keyword) + " at #" + path +
                          " is not supported for a model that writes each argument by itself");
    note(function, {{std::string(keyword), "#"}}, path);
  }

  // Arguments as JSON

  std::string json_rule(const described_function& function, boost::json::value schema, const std::string& path) {
    if (is_open(function)) note(function, loosen_all(schema), path);
    auto added = add_json_schema(boost::json::serialize(schema), rules_, {}, function.mode, unnamed_properties::none);
    note(function, added.loosened, path);
    return added.name;
  }

  std::string arguments(const described_function& function) { return json_rule(function, function.schema, ""); }

  // Each argument in delimiters of its own

  /// In the order of the schema, and behind them those that are required only.
  std::string parameters(const described_function& function) {
    check_object(function);
    const auto required = required_by(function);
    std::vector<std::string> parts;
    for (const auto& [name, property] : properties_of(function)) {
      if (property == false) continue;
      auto part = sequence({named_parameter(function, std::string(name), property), "blank"});
      const bool is_required = std::ranges::find(required, std::string_view(name)) != required.end();
      parts.push_back(is_required ? part : "(" + part + ")?");
    }
    return sequence(parts);
  }

  /// Refuses a schema that is malformed or allows nothing, and what is asked of the object as a whole.
  void check_object(const described_function& function) {
    rule_list unused;
    add_json_rules(unused);
    static_cast<void>(add_json_schema(boost::json::serialize(function.schema), unused, {}, schema_mode::loosened));
    static const std::set<std::string_view> kept = {
        "type", "properties", "required", "additionalProperties", "$defs", "definitions", "unevaluatedProperties"};
    for (const auto& each : function.schema)
      if (!kept.contains(each.key()) && kind_of_keyword(each.key()) != keyword_kind::annotation)
        leave_out(function, each.key(), "");
  }

  std::string named_parameter(const described_function& function, const std::string& name,
                              const boost::json::value& property) {
    try {
      return parameter(function, name, property);
    } catch (const std::invalid_argument& error) {
      throw grammar_error("the property " + cogen::json::in_quotes(name) + ": " + error.what());
    }
  }

  std::string parameter(const described_function& function, const std::string& name, boost::json::value property) {
    const auto path = "/properties/" + pointer_part(name);
    const auto open = written(syntax_.parameter.open, name);
    const auto close = written(syntax_.parameter.close, "");
    const text_end end{syntax_.parameter.close.front().text, close};
    if (auto* members = property.if_object())
      for (const auto* key : {"$defs", "definitions"})
        if (const auto* shared = function.schema.if_contains(key)) members->emplace(key, *shared);
    if (!types_.may_be_text(function.name, name))
      return sequence({open, line_end, json_rule(function, std::move(property), path), line_end, close});
    return sequence({open, text(function, name, std::move(property), path, end)});
  }

  std::string text(const described_function& function, const std::string& name, boost::json::value property,
                   const std::string& path, const text_end& end) {
    const bool is_text = types_.is_text(function.name, name);
    if (is_open(function)) note(function, loosen_all(property), path);
    if (is_text || types_.is_text_or_null(function.name, name)) {
      auto added = add_unquoted_strings(std::move(property), is_text ? unquoted::string : unquoted::string_or_null, end,
                                        rules_, function.mode);
      note(function, added.loosened, path);
      return added.name;
    }
    auto values = values_of(function, name, property);
    if (!values.empty()) property.as_object().erase("enum");
    check_text(function, property, path);
    auto texts = values.empty() ? repeat_of(of_set(character_set::full()), {}) : any_of(std::move(values));
    return add_unquoted_text(texts, end, rules_);
  }

  /// The texts of an enumeration that are read as the same values.
  std::vector<regex_node> values_of(const described_function& function, const std::string& name,
                                    const boost::json::value& property) const {
    std::vector<regex_node> nodes;
    const auto* values = member(property, "enum");
    if (!values || !values->is_array()) return nodes;
    for (const auto& each : values->get_array()) {
      const auto whole = boost::json::serialize(each);
      const auto written = each.is_string() ? std::string(each.get_string()) : whole;
      if (types_.json_of(function.name, name, written) == whole) nodes.push_back(of_text(written));
    }
    return nodes;
  }

  /// A text that can be of several types is valid only where nothing more is asked of it.
  void check_text(const described_function& function, const boost::json::value& schema, const std::string& path) {
    static const std::set<std::string_view> kept = {"type", "anyOf", "oneOf", "$defs", "definitions"};
    if (!schema.is_object()) return;
    for (const auto& [key, value] : schema.get_object()) {
      if (!kept.contains(key) && kind_of_keyword(key) != keyword_kind::annotation) leave_out(function, key, path);
      if ((key != "anyOf" && key != "oneOf") || !value.is_array()) continue;
      for (std::size_t i = 0; i < value.get_array().size(); ++i)
        check_text(function, value.get_array()[i], path + "/" + std::string(key) + "/" + std::to_string(i));
    }
  }

  const response::call_syntax& syntax_;
  const boost::json::array& tools_;
  const text_trigger::control_tokens& controls_;
  call_rules wanted_;
  response::parameter_types types_;
  rule_list rules_;
  std::vector<loosened_keyword> loosened_;
};

}  // namespace

std::vector<std::string> call_triggers(const response::call_syntax& syntax) {
  if (!syntax.triggers.empty()) return syntax.triggers;
  const auto& opening = syntax.section_open.empty() ? syntax.open.front() : syntax.section_open;
  return {opening.front().text};
}

schema_grammar grammar_of_calls(const response::call_syntax& syntax, const boost::json::array& tools,
                                const text_trigger::control_tokens& spelled, call_rules wanted) {
  if (tools.empty()) throw grammar_error("calls need at least one tool");
  return grammar_writer(syntax, tools, spelled, wanted).run();
}

}  // namespace cogen::grammar
