#include "answers/grammar/json_schema.hpp"
#include "answers/grammar/schema_document.hpp"
#include "answers/grammar/schema_validity.hpp"
#include "grammar_testing.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/test/unit_test.hpp>

#include <random>

using namespace cogen::grammar;

namespace {

namespace values = boost::json;

/// Schemas and values of a few words, so that they often have something to do with each other.
class dice {
 public:
  explicit dice(unsigned seed) : random_(seed) {}

  values::value schema(int depth) {
    if (depth == 0 || chance(8)) return leaf();
    values::object keywords;
    for (auto count = 1 + below(3); count > 0; --count) add_keyword(keywords, depth);
    return keywords;
  }

  values::value value(int depth) {
    switch (below(depth > 0 ? 8 : 6)) {
      case 0:
        return nullptr;
      case 1:
        return chance(2);
      case 2:
      case 3:
        return static_cast<std::int64_t>(below(7)) - 2;
      case 4:
      case 5:
        return values::value(text());
      case 6: {
        values::array items;
        for (auto count = below(5); count > 0; --count) items.push_back(value(depth - 1));
        return items;
      }
      default: {
        values::object members;
        for (const auto* name : {"a", "b", "ab"})
          if (chance(2)) members[name] = value(depth - 1);
        return members;
      }
    }
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }
  bool chance(std::size_t sides) { return below(sides) == 0; }
  std::string text() { return pick({"", "a", "b", "ab", "ba", "aab", "1"}); }
  std::string pick(std::initializer_list<const char*> choices) { return choices.begin()[below(choices.size())]; }
  std::int64_t count() { return static_cast<std::int64_t>(below(4)); }

  values::value leaf() {
    static const char* const leaves[] = {"{}",
                                         "true",
                                         R"({"type": "integer"})",
                                         R"({"type": ["string", "null"]})",
                                         R"({"const": "a"})",
                                         R"({"enum": [1, "b", null]})",
                                         R"({"type": "string", "pattern": "^a"})",
                                         R"({"type": "boolean"})",
                                         R"({"minimum": 1})",
                                         R"({"type": "array"})",
                                         "false"};
    return values::parse(leaves[below(std::size(leaves))]);
  }

  values::array schemas(int depth) {
    values::array list;
    for (auto some = 1 + below(2); some > 0; --some) list.push_back(schema(depth - 1));
    return list;
  }

  void add_keyword(values::object& keywords, int depth) {
    switch (below(24)) {
      case 0:
        keywords["type"] = pick({"string", "array", "object", "number", "integer", "boolean"});
        break;
      case 1:
        keywords["properties"] = {{pick({"a", "b"}), schema(depth - 1)}, {"ab", schema(depth - 1)}};
        break;
      case 2:
        keywords["required"] = values::array{values::value(pick({"a", "b", "ab"}))};
        break;
      case 3:
        keywords["additionalProperties"] = schema(depth - 1);
        break;
      case 4:
        keywords["items"] = schema(depth - 1);
        break;
      case 5:
        keywords["prefixItems"] = schemas(depth);
        break;
      case 6:
        keywords["minItems"] = count();
        break;
      case 7:
        keywords["maxItems"] = count();
        break;
      case 8:
        keywords["contains"] = schema(depth - 1);
        if (chance(3)) keywords["minContains"] = count();
        if (chance(3)) keywords["maxContains"] = count();
        break;
      case 9:
        keywords["uniqueItems"] = true;
        keywords["items"] = values::parse(
            pick({R"({"enum": [1, "a", null, 2, 3, "b", "ab"]})", R"({"type": "boolean"})", R"({"type": "string"})"}));
        break;
      case 10:
        keywords["anyOf"] = schemas(depth);
        break;
      case 11:
        keywords["allOf"] = schemas(depth);
        break;
      case 12:
        keywords["oneOf"] = schemas(depth);
        break;
      case 13:
        keywords["not"] = schema(depth - 1);
        break;
      case 14:
        keywords["if"] = schema(depth - 1);
        keywords[pick({"then", "else"})] = schema(depth - 1);
        break;
      case 15:
        keywords["pattern"] = pick({"^a", "b$", "a.*b", "^(?!a)", "^[ab]+$"});
        break;
      case 16:
        keywords["minLength"] = count();
        break;
      case 17:
        keywords["maxLength"] = count();
        break;
      case 18:
        keywords["minimum"] = count();
        break;
      case 19:
        keywords["patternProperties"] = {{pick({"^a", "b"}), schema(depth - 1)}};
        break;
      case 20:
        keywords["propertyNames"] = {{"pattern", pick({"^a", "b"})}};
        break;
      case 21:
        keywords["minProperties"] = count();
        break;
      case 22:
        keywords["maxProperties"] = count();
        break;
      default:
        keywords["x-" + text()] = schema(depth - 1);
        break;
    }
  }

  std::mt19937 random_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(random_schemas)

/// What a schema says of a value, by itself: the writer of grammars has no part in it.
BOOST_AUTO_TEST_CASE(no_text_is_accepted_that_is_not_valid) {
  dice random(7);
  int compiled_schemas = 0, accepted = 0, valid_ones = 0;
  for (int round = 0; round < 600; ++round) {
    const auto schema = random.schema(3);
    const auto text = values::serialize(schema);
    std::shared_ptr<const compiled_grammar> strict, loosened;
    try {
      loosened = compiled(cogen::json_schema(text, false));
      strict = compiled(cogen::json_schema(text));
    } catch (const std::invalid_argument&) {
    }
    const schema_document document(schema);
    compiled_schemas += strict != nullptr;
    for (int tries = 0; tries < 40; ++tries) {
      const auto value = random.value(3);
      bool valid = false;
      try {
        valid = is_valid(document, document.root(), value);
      } catch (const std::invalid_argument&) {
        continue;
      }
      const auto written = values::serialize(value);
      const bool is_accepted = strict && accepts(*strict, written);
      BOOST_TEST((valid || !is_accepted), text << " accepts " << written);
      if (is_accepted) BOOST_TEST(accepts(*loosened, written), text << " loosened rejects " << written);
      accepted += is_accepted;
      valid_ones += valid && strict;
    }
  }
  BOOST_TEST(compiled_schemas > 300);
  BOOST_TEST(accepted * 10 > valid_ones * 7);
  BOOST_TEST_MESSAGE(compiled_schemas << " schemas, " << accepted << " of " << valid_ones << " valid values");
}

BOOST_AUTO_TEST_SUITE_END()
