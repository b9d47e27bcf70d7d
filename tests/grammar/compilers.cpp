#include "grammar_testing.hpp"

#include <boost/test/unit_test.hpp>

#include <thread>

using namespace cogen;
using namespace cogen::grammar;

BOOST_AUTO_TEST_SUITE(compilers)

BOOST_AUTO_TEST_CASE(a_format_is_compiled_once) {
  compiler all(shared_vocabulary());
  const auto first = all.compile(choice({"a", "b"}));
  BOOST_TEST(all.compile(choice({"a", "b"})) == first);
  BOOST_TEST(all.compile(choice({"ab"})) != first);
  BOOST_TEST(all.compile(regex("a|b")) != first);
}

BOOST_AUTO_TEST_CASE(the_least_recently_used_leaves_first) {
  compiler probe(shared_vocabulary());
  const auto one = probe.compile(choice({"a"}))->bytes();
  compiler all(shared_vocabulary(), {.cache_bytes = one * 5 / 2});
  const auto a = all.compile(choice({"a"}));
  const auto b = all.compile(choice({"b"}));
  all.compile(choice({"a"}));
  all.compile(choice({"c"}));
  BOOST_TEST(all.cached_bytes() <= one * 5 / 2);
  BOOST_TEST(all.compile(choice({"a"})) == a);
  BOOST_TEST(all.compile(choice({"b"})) != b);
  BOOST_TEST(accepts(*b, "b"));
}

BOOST_AUTO_TEST_CASE(threads_compile_beside_each_other) {
  compiler all(shared_vocabulary());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int j = 0; j < 10; ++j) {
        const auto limit = std::to_string((i + j) % 5);
        const auto grammar = all.compile(json_schema(R"({"type": "array", "maxItems": )" + limit + "}"));
        if (!accepts(*grammar, "[]")) std::abort();
      }
    });
  for (auto& each : threads) each.join();
  BOOST_TEST(accepts(*all.compile(json_schema(R"({"type": "array", "maxItems": 1})")), "[1]"));
}

BOOST_AUTO_TEST_CASE(guides_outlive_their_grammar_and_the_cache) {
  std::unique_ptr<guide> place;
  {
    compiler all(shared_vocabulary(), {.cache_bytes = 0});
    place = all.compile(choice({"ab"}))->start();
  }
  accept_bytes(*place, "ab");
  BOOST_TEST(place->is_complete());
}

BOOST_AUTO_TEST_CASE(limits_are_kept) {
  BOOST_TEST(refusal(choice({"abc"}), {.limits = {.text_bytes = 2}}).find("exceeds the limit of 2") !=
             std::string::npos);
  BOOST_TEST(refusal(choice({"abc"}), {.limits = {.states = 2}}).find("more than 2 states") != std::string::npos);
  BOOST_TEST(refusal(choice({"abc"}), {.limits = {.bytes = 1}}).find("the limit is 1") != std::string::npos);
  BOOST_TEST(refusal(regex("[a-z]{1,100}x[^y]{1,100}"), {.limits = {.time = std::chrono::milliseconds(-1)}}) ==
             "compiling the response format takes more than -1 ms");
}

BOOST_AUTO_TEST_SUITE_END()
