#include "network/kernels/instruction_set.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace cogen::kernels {
namespace {

constexpr const char* variable = "COGEN_INSTRUCTION_SET";

// Sets the variable for one scope, and puts back what it was. No thread reads it meanwhile.
// NOLINTBEGIN(concurrency-mt-unsafe)
class forced_set {
 public:
  explicit forced_set(const char* value) {
    if (const char* previous = std::getenv(variable)) previous_ = previous;
    setenv(variable, value, 1);
  }
  ~forced_set() {
    if (previous_.empty())
      unsetenv(variable);
    else
      setenv(variable, previous_.c_str(), 1);
  }

 private:
  std::string previous_;
};
// NOLINTEND(concurrency-mt-unsafe)

bool names_the_value(const std::invalid_argument& error, const char* value) {
  return std::string(error.what()).find(value) != std::string::npos;
}

BOOST_AUTO_TEST_SUITE(instruction_set_test)

BOOST_AUTO_TEST_CASE(every_available_set_can_be_forced) {
  for (const instruction_set set : available_instruction_sets()) {
    const forced_set forced(std::string(name_of(set)).c_str());
    BOOST_CHECK(preferred_instruction_set() == set);
    BOOST_CHECK(instruction_set_named(name_of(set)) == set);
  }
}

BOOST_AUTO_TEST_CASE(the_fastest_one_is_preferred_and_portable_is_always_there) {
  const forced_set forced("");
  auto sets = available_instruction_sets();
  if (preferred_instruction_set() != sets.back()) {
    BOOST_CHECK(sets.back() == instruction_set::avx512_bf16);  // the only one that may be slower than the one before it
    sets.pop_back();
  }
  BOOST_CHECK(preferred_instruction_set() == sets.back());
  BOOST_CHECK(available_instruction_sets().front() == instruction_set::portable);
}

BOOST_AUTO_TEST_CASE(an_unknown_name_is_refused_with_its_source) {
  const forced_set forced("avx1024");
  BOOST_CHECK_EXCEPTION(preferred_instruction_set(), std::invalid_argument, [](const auto& error) {
    return names_the_value(error, "avx1024") && names_the_value(error, variable) && names_the_value(error, "portable");
  });
}

BOOST_AUTO_TEST_CASE(a_set_that_the_processor_lacks_is_emulated_or_refused) {
  const auto here = available_instruction_sets(), emulations = emulated_instruction_sets();
  for (const char* name : {"avx2", "avx512", "avx512_vnni", "avx512_bf16"}) {
    const std::string emulated = std::string("emulated_") + name;
    const bool native = std::ranges::any_of(here, [&](auto set) { return name_of(set) == name; });
    if (emulations.empty()) {
      BOOST_CHECK_THROW(instruction_set_named(emulated), std::invalid_argument);
      if (!native) BOOST_CHECK_THROW(instruction_set_named(name), std::invalid_argument);
    } else {
      BOOST_TEST(name_of(instruction_set_named(emulated)) == emulated);
      BOOST_TEST(name_of(instruction_set_named(name)) == (native ? std::string(name) : emulated));
    }
  }
}

BOOST_AUTO_TEST_CASE(no_set_is_emulated_unless_its_name_is_given) {
  const forced_set forced("");
  BOOST_TEST(!name_of(preferred_instruction_set()).starts_with("emulated_"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels
