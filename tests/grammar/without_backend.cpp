// What a build with COGEN_XGRAMMAR=OFF says of formats.
#include "answers/grammar/backend.hpp"
#include "grammar_testing.hpp"

#include <boost/test/unit_test.hpp>

namespace cogen::grammar {

BOOST_AUTO_TEST_SUITE(without_backend)

BOOST_AUTO_TEST_CASE(every_format_is_refused_in_one_sentence) {
  BOOST_TEST(!has_backend());
  for (const auto& format : {json_object(), json_schema(R"({"type": "integer"})"), regex("a+"),
                             ebnf("root ::= \"a\" | \"b\""), choice({"yes", "no"})})
    BOOST_TEST(refusal(format) ==
               "structured output needs XGrammar, and this build of cogen is without it (COGEN_XGRAMMAR=OFF)");
}

BOOST_AUTO_TEST_CASE(a_format_that_is_wrong_is_refused_for_that) {
  BOOST_TEST(refusal(json_schema("[]")).find("must be an object or a boolean") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::grammar
