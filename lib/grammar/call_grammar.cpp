#include "grammar/call_grammar.hpp"

#include "grammar/ebnf.hpp"
#include "grammar/grammar_error.hpp"
#include "grammar/json_schema.hpp"
#include "grammar/regex_ebnf.hpp"
#include "grammar/schema_document.hpp"
#include "json/printable.hpp"
#include "response/parameter_types.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

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
    for (const auto& each : controls)
      if (text.starts_with(each.first) && (!longest || each.first.size() > longest->first.size())) longest = &each;
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

/// What follows another text up to a closing one, that included: for each number of its bytes that came last, a rule.
std::string add_text_until(std::string_view closing, rule_list& rules) {
  const auto name_of = [&, first = rules.new_name("until")](std::size_t matched) {
    return first + "-" + std::to_string(matched);
  };
  std::string all(closing);
  std::ranges::sort(all);
  const std::set<char> bytes(all.begin(), all.end());
  for (std::size_t matched = 0; matched < closing.size(); ++matched) {
    std::vector<std::string> ways;
    std::string leading;  // characters that lead somewhere
    for (const char byte : bytes) {
      auto next = std::string(closing.substr(0, matched)) + byte;
      while (!closing.starts_with(next)) next.erase(0, 1);
      if (next.empty()) continue;
      leading += byte;
      ways.push_back(next == closing ? literal({&byte, 1}) : sequence({literal({&byte, 1}), name_of(next.size())}));
    }
    character_set others = character_set::all();
    for (const char byte : leading)
      others.remove(character_set{{static_cast<char32_t>(byte), static_cast<char32_t>(byte)}});
    ways.push_back(sequence({ebnf_of(of_set(others), rules), name_of(0)}));
    rules.add(name_of(matched), alternatives(ways));
  }
  return name_of(0);
}

/// Writes the grammar of calls.
class grammar_writer {
 public:
  grammar_writer(const response::call_syntax& syntax, const boost::json::array& tools,
                 const text_trigger::control_tokens& controls)
      : syntax_(syntax), tools_(tools), controls_(controls), types_(tools) {}

  std::string run(bool several) {
    std::vector<std::string> ways;
    for (const auto& tool : tools_) {
      const auto& function = tool.at("function");
      const std::string name(function.at("name").as_string());
      try {
        ways.push_back(syntax_.type == form::object ? object(name, arguments(function)) : call(name, function));
      } catch (const std::invalid_argument& error) {
        throw grammar_error("the parameters of the tool " + cogen::json::in_quotes(name) + ": " + error.what());
      }
    }
    rules_.add("call", alternatives(ways));
    rules_.add("root", root(several));
    rules_.add("blank", R"([ \t\n\r]{0,4})");
    rules_.add("gap", R"([ \t\n\r]{1,4})");
    rules_.add("call-id", "[a-zA-Z0-9]{1,9}");
    add_json_rules(rules_, R"([ ]?)");  // as chat templates write it; some models would go on with it for ever
    return rules_.text();
  }

 private:
  std::string root(bool several) const {
    std::string calls = "call";
    if (syntax_.type == form::object) {
      if (syntax_.array)
        calls = sequence(
            {literal("["), "blank", "call", several_of(R"(blank "," blank call)", several), "blank", literal("]")});
      calls = enclosed(syntax_.open.front(), calls, syntax_.close);
      return syntax_.array ? calls : sequence({calls, several_of("blank " + calls, several)});
    }
    const bool is_section = !syntax_.section_open.empty();
    calls = sequence({calls, several_of("blank call", several || is_section)});
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
    std::vector<std::string> all;
    bool after_name = false;  // which only white space can part from a word
    for (const auto& part : parts) {
      all.push_back(written(part, name, after_name));
      after_name = part.type == delimiter_kind::name || part.type == delimiter_kind::id;
    }
    return sequence(all);
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
    const auto id = sequence({key(syntax_.id_key), "string"});
    return sequence({literal("{"), "ws", "(" + id + R"( ws "," ws)?)", key(syntax_.name_key),
                     literal(json_spelling(name)), R"(ws "," ws)", key(syntax_.arguments_key), arguments_rule,
                     "(" + sequence({R"(ws "," ws)", id}) + ")?", "ws", literal("}")});
  }

  std::string call(const std::string& name, const boost::json::value& function) {
    std::vector<std::string> openings;
    for (const auto& open : syntax_.open) openings.push_back(written(open, name));
    std::vector<std::string> parts = {alternatives(openings), "blank",
                                      syntax_.type == form::arguments ? arguments(function) : parameters(function)};
    if (!syntax_.close.empty()) parts.insert(parts.end(), {"blank", written(syntax_.close, "")});
    return sequence(parts);
  }

  /// The rule of a function's arguments.
  std::string arguments(const boost::json::value& function) {
    const auto* schema = member(function, "parameters");
    boost::json::object object;
    if (schema) object = schema->as_object();
    if (!schema || object.empty()) object["additionalProperties"] = false;
    if (!object.contains("type")) object["type"] = "object";
    if (object["type"] != "object") throw grammar_error("their type must be \"object\"");
    return add_json_schema(boost::json::serialize(object), rules_).name;
  }

  /// Each parameter in its delimiters, in the order of the schema.
  std::string parameters(const boost::json::value& function) {
    const auto* schema = member(function, "parameters");
    const auto* properties = schema ? member(*schema, "properties") : nullptr;
    if (schema && !schema->as_object().empty())
      static_cast<void>(arguments(function));  // refuses what is not supported
    const std::string called(function.at("name").as_string());
    std::vector<std::string> parts;
    if (properties)
      for (const auto& [name, property] : properties->as_object()) {
        auto part = sequence({parameter(called, name, property, *schema), "blank"});
        parts.push_back(is_required(*schema, name) ? part : "(" + part + ")?");
      }
    return sequence(parts);
  }

  static bool is_required(const boost::json::value& schema, std::string_view name) {
    const auto* required = member(schema, "required");
    return required && std::ranges::find(required->as_array(), boost::json::value(name)) != required->as_array().end();
  }

  std::string parameter(const std::string& function, std::string_view name, const boost::json::value& property,
                        const boost::json::value& schema) {
    const auto open = written(syntax_.parameter.open, std::string(name));
    const auto close = sequence({line_end, written(syntax_.parameter.close, "")});
    if (types_.may_be_text(function, name)) {
      check_text(name, property);
      const auto* values = member(property, "enum");
      return sequence(values ? std::vector{open, line_end, any_of(name, *values), close}
                             : std::vector{open, text_until_close()});
    }
    auto value = property.as_object();
    for (const auto* key : {"$defs", "definitions"})
      if (const auto* shared = member(schema, key)) value[key] = *shared;
    return sequence({open, line_end, add_json_schema(boost::json::serialize(value), rules_).name, close});
  }

  static std::string any_of(std::string_view name, const boost::json::value& values) {
    std::vector<std::string> ways;
    for (const auto& each : values.as_array()) {
      if (!each.is_string()) throw grammar_error("the property " + cogen::json::in_quotes(name) + " must say its type");
      ways.push_back(literal(each.get_string()));
    }
    return alternatives(ways);
  }

  /// A text without quotes can be anything: it is valid only where nothing more is asked of it.
  static void check_text(std::string_view name, const boost::json::value& property) {
    static const std::set<std::string_view> known = {"type",  "enum",    "anyOf",    "oneOf",    "description",
                                                     "title", "default", "examples", "nullable", "$comment"};
    if (!property.is_object()) return;
    for (const auto& [key, value] : property.get_object()) {
      if (!known.contains(key))
        throw grammar_error("the keyword " + cogen::json::in_quotes(key) + " of the property " +
                            cogen::json::in_quotes(name) +
                            " is not supported for a model that writes strings without quotes");
      if ((key == "anyOf" || key == "oneOf") && value.is_array())
        for (const auto& each : value.get_array()) check_text(name, each);
    }
  }

  std::string text_until_close() {
    if (text_until_.empty()) text_until_ = add_text_until(syntax_.parameter.close.front().text, rules_);
    return text_until_;
  }

  const response::call_syntax& syntax_;
  const boost::json::array& tools_;
  const text_trigger::control_tokens& controls_;
  response::parameter_types types_;
  rule_list rules_;
  std::string text_until_;
};

}  // namespace

std::vector<std::string> call_triggers(const response::call_syntax& syntax) {
  if (!syntax.triggers.empty()) return syntax.triggers;
  const auto& opening = syntax.section_open.empty() ? syntax.open.front() : syntax.section_open;
  return {opening.front().text};
}

std::string ebnf_of_calls(const response::call_syntax& syntax, const boost::json::array& tools,
                          const text_trigger::control_tokens& spelled, bool several) {
  if (tools.empty()) throw grammar_error("calls need at least one tool");
  return grammar_writer(syntax, tools, spelled).run(several);
}

}  // namespace cogen::grammar
