#include "answers/grammar/exact_number.hpp"

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include <compare>
#include <cstddef>
#include <limits>
#include <vector>

namespace cogen::grammar {
namespace {

exact_number parsed(const char* text) { return exact_number::from_json(boost::json::parse(text)); }

BOOST_AUTO_TEST_SUITE(exact_numbers)

BOOST_AUTO_TEST_CASE(numbers_compare_as_they_are_written) {
  const std::vector<const char*> ascending = {
      "-1e300",
      "-18446744073709551617e0",
      "-9223372036854775808",
      "-9223372036854775807",
      "-9007199254740993",
      "-9007199254740992",
      "-1.5",
      "-1",
      "-0.5",
      "0",
      "5e-324",
      "0.5",
      "1",
      "9007199254740991.0",
      "9007199254740992",
      "9007199254740993",
      "9007199254740994.0",
      "9223372036854774784.0",
      "9223372036854775807",
      "9223372036854775808",
      "9223372036854775809",
      "18446744073709549568.0",
      "18446744073709551614",
      "18446744073709551615",
      "18446744073709551616.0",
      "1e300",
  };
  for (std::size_t i = 0; i < ascending.size(); ++i)
    for (std::size_t j = 0; j < ascending.size(); ++j)
      BOOST_TEST((parsed(ascending[i]) <=> parsed(ascending[j]) == (i <=> j)), ascending[i] << " and " << ascending[j]);
}

BOOST_AUTO_TEST_CASE(a_double_equals_the_integer_it_is) {
  for (const auto& [integer, number] :
       std::vector<std::pair<const char*, const char*>>{{"0", "-0.0"},
                                                        {"1", "1.0"},
                                                        {"-9007199254740992", "-9007199254740992.0"},
                                                        {"9223372036854775808", "9223372036854775808.0"},
                                                        {"-9223372036854775808", "-9223372036854775808.0"},
                                                        {"18446744073709549568", "18446744073709549568.0"}})
    BOOST_TEST((parsed(integer) == parsed(number)), integer);
}

static_assert(exact_number(std::numeric_limits<std::uint64_t>::max()) < 0x1p64);
static_assert(exact_number(std::numeric_limits<std::int64_t>::min()) == -0x1p63);
static_assert(exact_number((1LL << 53) + 1) > 0x1p53);

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::grammar
