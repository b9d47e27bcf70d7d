// Schemas that bytes put together from keywords: each becomes a grammar that is well-formed, or one sentence, also
// where keywords may be loosened.
#include "answers/grammar/bounded_work.hpp"
#include "answers/grammar/ebnf_check.hpp"
#include "answers/grammar/json_schema.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

using namespace cogen::grammar;

namespace {

namespace json = boost::json;

class schema_maker {
 public:
  explicit schema_maker(std::string_view bytes) : rest_(bytes) {}

  json::value document() {
    auto root = schema(0);
    if (!root.is_object()) return root;
    json::object definitions;
    for (const auto* name : {"a", "b", "c"}) definitions[name] = schema(1);
    root.get_object()["$defs"] = std::move(definitions);
    return root;
  }

 private:
  std::size_t number(std::size_t count) {
    if (rest_.empty()) return 0;
    const auto first = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    return first % count;
  }

  template <std::size_t Count>
  const char* one_of(const char* const (&names)[Count]) {
    return names[number(Count)];
  }

  json::value schema(int depth) {
    if (depth > 5 || rest_.empty()) return number(2) == 0;
    json::object keywords;
    for (auto count = number(4); count > 0; --count) add_keyword(keywords, depth + 1);
    return keywords;
  }

  json::value value(int depth) {
    switch (number(depth > 3 ? 6 : 8)) {
      case 0:
        return nullptr;
      case 1:
        return number(2) == 0;
      case 2:
        return static_cast<std::int64_t>(number(256)) - 100;
      case 3:
        return static_cast<double>(number(256)) / 8;
      case 4:
        return json::value(text());
      case 5:
        return json::value(1e300);
      case 6:
        return json::array{value(depth + 1), value(depth + 1)};
      default:
        return json::object{{name(), value(depth + 1)}};
    }
  }

  std::string name() { return one_of({"a", "b", "c", "", "a/b", "~", "\u00e9", "$ref"}); }
  std::string text() { return one_of({"", "a", "bc", "\u00e9\U0001F600", "2024-01-01", "\"\\"}); }
  std::string pattern() {
    return one_of({"^a", "b$", "^(a|b)*$", "\\d{2,3}", "[^a]", ".", "^$", "(?:a|bc)+", "\\p{L}", "(?=a)b", "a{1000}"});
  }

  json::array schemas(int depth) {
    json::array list;
    for (auto count = 1 + number(3); count > 0; --count) list.push_back(schema(depth));
    return list;
  }

  json::object members(int depth, bool are_patterns = false) {
    json::object result;
    for (auto count = number(4); count > 0; --count) result[are_patterns ? pattern() : name()] = schema(depth);
    return result;
  }

  json::array names() {
    json::array list;
    for (auto count = number(4); count > 0; --count) list.emplace_back(name());
    return list;
  }

  void add_keyword(json::object& keywords, int depth) {
    switch (number(14)) {
      case 0:
        keywords["type"] = one_of({"object", "array", "string", "integer", "number", "null", "boolean"});
        return;
      case 1:
        keywords[one_of({"allOf", "anyOf", "oneOf", "prefixItems"})] = schemas(depth);
        return;
      case 2:
        keywords[one_of({"not", "if", "then", "else", "items", "contains", "additionalProperties", "propertyNames",
                         "unevaluatedProperties", "unevaluatedItems", "additionalItems"})] = schema(depth);
        return;
      case 3:
        keywords[one_of({"properties", "dependentSchemas", "dependencies"})] = members(depth);
        return;
      case 4:
        keywords["patternProperties"] = members(depth, true);
        return;
      case 5:
        keywords["required"] = names();
        return;
      case 6:
        keywords["dependentRequired"] = json::object{{name(), names()}};
        return;
      case 7:
        keywords[one_of({"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
                         "minContains", "maxContains"})] = number(8);
        return;
      case 8:
        keywords[one_of({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})] = value(9);
        return;
      case 9:
        keywords["pattern"] = pattern();
        return;
      case 10:
        keywords["format"] = one_of({"date", "uuid", "email", "ipv4", "date-time", "x"});
        return;
      case 11:
        keywords["const"] = value(0);
        return;
      case 12:
        keywords["enum"] = json::array{value(0), value(0), value(0)};
        return;
      default:
        if (number(3) == 0) {
          keywords["uniqueItems"] = true;
        } else {
          keywords["$ref"] =
              one_of({"#", "#/$defs/a", "#/$defs/b", "#/$defs/c", "#/properties/a", "#x", "#/$defs/a/items"});
        }
    }
  }

  std::string_view rest_;
};

void write(const std::string& schema, schema_mode mode) {
  const bounded_work work({.work = "writing it", .steps = 500'000, .time = std::chrono::milliseconds(100)});
  try {
    check_ebnf(ebnf_of_json_schema(schema, {.schemas = 150}, mode).ebnf, {.patterns = true});
  } catch (const std::invalid_argument& error) {
    const std::string_view said = error.what();
    const bool is_malformed = said.find("the grammar") == 0 && said.find("more than") == std::string_view::npos &&
                              said.find("exceeds") == std::string_view::npos;
    if (is_malformed) std::abort();  // what we write is too large at worst
  } catch (const work_error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto schema = json::serialize(schema_maker({reinterpret_cast<const char*>(data), size}).document());
  write(schema, schema_mode::strict);
  write(schema, schema_mode::loosened);
  return 0;
}
