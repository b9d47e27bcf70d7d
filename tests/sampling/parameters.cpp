#include <cogen/sampling_params.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

using cogen::sampling_params;

namespace {

constexpr std::int64_t vocabulary = 1000;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double denormal = std::numeric_limits<double>::denorm_min();
constexpr double huge = 0x1p63;

using setter = std::function<void(sampling_params&, double)>;

/// The setter refuses each of `bad`, naming the parameter, and takes each of `good`.
void check(const std::string& name, const setter& set, const std::vector<double>& bad,
           const std::vector<double>& good) {
  for (const double value : bad) {
    sampling_params parameters;
    set(parameters, value);
    const auto problem = parameters.problem(vocabulary);
    BOOST_TEST_CONTEXT(name << " " << value) {
      BOOST_REQUIRE(problem);
      BOOST_TEST(problem->starts_with(name));
      BOOST_TEST(problem->find("must be") != std::string::npos);
      BOOST_CHECK_THROW(parameters.validate(vocabulary), std::invalid_argument);
    }
  }
  for (const double value : good) {
    sampling_params parameters;
    set(parameters, value);
    BOOST_TEST_CONTEXT(name << " " << value) { BOOST_CHECK_NO_THROW(parameters.validate(vocabulary)); }
  }
}

void check_integer(const std::string& name, const std::function<void(sampling_params&, std::int64_t)>& set,
                   std::int64_t most) {
  for (const std::int64_t value : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(), most + 1,
                                   std::numeric_limits<std::int64_t>::max()}) {
    sampling_params parameters;
    set(parameters, value);
    const auto problem = parameters.problem(vocabulary);
    BOOST_REQUIRE(problem);
    BOOST_TEST(*problem == name + " is " + std::to_string(value) + "; it must be from 0 to " + std::to_string(most));
  }
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{1}, most}) {
    sampling_params parameters;
    set(parameters, value);
    BOOST_TEST(!parameters.problem(vocabulary));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sampling_parameters)

BOOST_AUTO_TEST_CASE(nothing_set_is_greedy_and_valid) {
  const sampling_params parameters;
  BOOST_TEST(parameters.greedy());
  BOOST_TEST(!parameters.problem(1));
  BOOST_TEST(!sampling_params{.temperature = 0.5}.greedy());
}

BOOST_AUTO_TEST_CASE(each_number_is_held_to_its_limits) {
  check("temperature", [](sampling_params& s, double v) { s.temperature = v; },
        {-1, not_a_number, infinity, -infinity, denormal, -denormal, huge, 1001}, {0, -0.0, 1e-6, 1, 1000});
  check("top_p", [](sampling_params& s, double v) { s.top_p = v; },
        {-1, not_a_number, infinity, -infinity, -denormal, huge, 1.0001}, {0, denormal, 0.5, 1});
  check("min_p", [](sampling_params& s, double v) { s.min_p = v; },
        {-1, not_a_number, infinity, -infinity, -denormal, huge, 1.0001}, {0, denormal, 0.5, 1});
  check("repetition_penalty", [](sampling_params& s, double v) { s.repetition_penalty = v; },
        {0, -1, not_a_number, infinity, -infinity, denormal, huge, 1e30}, {0.01, 1, 100});
  check("presence_penalty", [](sampling_params& s, double v) { s.presence_penalty = v; },
        {not_a_number, infinity, -infinity, huge, -huge, 1e30}, {0, -1, denormal, -100, 100});
  check("frequency_penalty", [](sampling_params& s, double v) { s.frequency_penalty = v; },
        {not_a_number, infinity, -infinity, huge, -huge, 1e30}, {0, -1, denormal, -100, 100});
  check("logit_bias", [](sampling_params& s, double v) { s.logit_bias[3] = v; },
        {not_a_number, infinity, huge, -huge, 1e300}, {0, -1, denormal, -infinity, 1e9, -1e9});
}

BOOST_AUTO_TEST_CASE(each_count_is_held_to_its_limits) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  check_integer(
      "top_k", [](sampling_params& s, std::int64_t v) { s.top_k = v; }, most);
  check_integer(
      "min_tokens", [](sampling_params& s, std::int64_t v) { s.min_tokens = v; }, most);
  check_integer(
      "logprobs", [](sampling_params& s, std::int64_t v) { s.logprobs = v; }, sampling_params::max_logprobs);
}

BOOST_AUTO_TEST_CASE(a_mode_that_there_is_not_is_refused) {
  sampling_params parameters;
  parameters.logprobs_mode = cogen::logprobs_mode::processed;
  BOOST_TEST(!parameters.problem(vocabulary));
  parameters.logprobs_mode = static_cast<cogen::logprobs_mode>(2);
  BOOST_TEST(parameters.problem(vocabulary).value() == "logprobs_mode is 2; it may be raw (0) or processed (1)");
}

BOOST_AUTO_TEST_CASE(a_bias_outside_the_vocabulary_names_the_token_and_the_limit) {
  const auto problem_of = [](cogen::token id) {
    sampling_params biased;
    biased.logit_bias[id] = 1;
    return biased.problem(vocabulary);
  };
  BOOST_TEST(problem_of(1000).value() == "logit_bias names token 1000; the vocabulary has tokens 0 to 999");
  BOOST_TEST(problem_of(-1).value() == "logit_bias names token -1; the vocabulary has tokens 0 to 999");
  BOOST_TEST(!problem_of(999));
}

BOOST_AUTO_TEST_CASE(biases_beyond_the_maximum_are_refused) {
  sampling_params parameters;
  for (cogen::token id = 0; id < static_cast<cogen::token>(sampling_params::max_logit_biases); ++id)
    parameters.logit_bias[id] = 1;
  BOOST_TEST(!parameters.problem(1 << 20));
  parameters.logit_bias[1 << 19] = 1;
  BOOST_TEST(parameters.problem(1 << 20).value() == "logit_bias names 65537 tokens; at most 65536 may have one");
}

BOOST_AUTO_TEST_SUITE_END()
