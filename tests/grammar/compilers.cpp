#include "grammar_testing.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace cogen;
using namespace cogen::grammar;

namespace {

struct counting_watch : work_watch {
  void check() override { ++looks; }

  int looks = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(compilers)

BOOST_AUTO_TEST_CASE(a_format_is_compiled_once) {
  compiler grammars(shared_vocabulary());
  const auto first = grammars.compile(choice({"a", "b"}));
  BOOST_TEST(grammars.compile(choice({"a", "b"})) == first);
  BOOST_TEST(grammars.compile(choice({"ab"})) != first);
  BOOST_TEST(grammars.compile(regex("a|b")) != first);
}

BOOST_AUTO_TEST_CASE(the_least_recently_used_leaves_first) {
  compiler probe(shared_vocabulary());
  probe.compile(choice({"a"}));
  const auto size = probe.cached_bytes();
  compiler grammars(shared_vocabulary(), {.cache_bytes = size * 5 / 2});
  const auto a = grammars.compile(choice({"a"}));
  const auto b = grammars.compile(choice({"b"}));
  grammars.compile(choice({"a"}));
  grammars.compile(choice({"c"}));
  BOOST_TEST(grammars.cached_bytes() <= size * 5 / 2);
  BOOST_TEST(grammars.compile(choice({"a"})) == a);
  BOOST_TEST(grammars.compile(choice({"b"})) != b);
  BOOST_TEST(accepts(*b, "b"));
}

BOOST_AUTO_TEST_CASE(tenants_share_nothing_that_was_compiled) {
  compiler grammars(shared_vocabulary());
  const auto first = grammars.compile(choice({"a"}), {.tenant = 1});
  BOOST_TEST(!grammars.knows(choice({"a"}), 2));
  BOOST_TEST(grammars.compile(choice({"a"}), {.tenant = 2}) != first);
  BOOST_TEST(grammars.compile(choice({"a"}), {.tenant = 1}) == first);
}

/// The oracle: how much work a format is tells nothing of what another tenant has had compiled, only of its own.
BOOST_AUTO_TEST_CASE(how_much_work_a_format_is_tells_nothing_of_other_tenants) {
  const auto guess = json_schema(R"({"properties": {"secret": {"type": "string", "maxLength": 900}}})");
  const auto alike = json_schema(R"({"properties": {"other": {"type": "string", "maxLength": 900}}})");
  const auto work_after = [&](const std::vector<std::pair<std::uint64_t, response_format>>& asked) {
    compiler grammars(shared_vocabulary());
    for (const auto& [tenant, format] : asked) grammars.compile(format, {.tenant = tenant});
    counting_watch work;
    grammars.compile(guess, {.tenant = 2, .watch = &work});
    return work.looks;
  };
  const auto unknown = work_after({{1, regex("abc")}});
  BOOST_TEST(unknown > 10);
  BOOST_TEST(work_after({{1, guess}}) == unknown);
  BOOST_TEST(work_after({{1, alike}}) == unknown);
  BOOST_TEST(work_after({{1, guess}, {1, alike}, {1, guess}}) == unknown);
  BOOST_TEST(work_after({{2, guess}}) == 0);
  BOOST_TEST(work_after({{2, alike}}) < unknown);
}

BOOST_AUTO_TEST_CASE(what_others_have_compiled_leaves_a_tenants_formats_alone) {
  compiler probe(shared_vocabulary());
  probe.compile(choice({"a"}));
  const auto size = probe.cached_bytes();
  compiler grammars(shared_vocabulary(), {.cache_bytes = 2 * 3 * size});
  const auto kept = grammars.compile(choice({"a"}), {.tenant = 1});
  for (const char* text : {"b", "c", "d", "e", "f", "g", "h", "i"}) grammars.compile(choice({text}), {.tenant = 2});
  BOOST_TEST(grammars.compile(choice({"a"}), {.tenant = 1}) == kept);
  BOOST_TEST(grammars.cached_bytes() == 4 * size);
  for (std::uint64_t tenant = 3; tenant < 20; ++tenant) grammars.compile(choice({"x"}), {.tenant = tenant});
  BOOST_TEST(grammars.cached_bytes() <= 2 * 3 * size);
}

BOOST_AUTO_TEST_CASE(so_many_tenants_are_remembered) {
  compiler grammars(shared_vocabulary(), {.cache_bytes = std::size_t{1} << 30});
  for (std::uint64_t tenant = 0; tenant <= compiler::max_tenants; ++tenant) {
    grammars.compile(choice({"a"}), {.tenant = tenant});
    grammars.compile(choice({"a"}), {.tenant = 0});
  }
  BOOST_TEST(grammars.knows(choice({"a"}), 0));
  BOOST_TEST(!grammars.knows(choice({"a"}), 1));
  BOOST_TEST(grammars.knows(choice({"a"}), 2));
}

/// A long text that says little.
BOOST_AUTO_TEST_CASE(the_texts_of_formats_count) {
  compiler grammars(shared_vocabulary(), {.cache_bytes = 1 << 20});
  const auto format = [](char letter) {
    return json_schema(R"({"type": "null", "description": ")" + std::string(600'000, letter) + "\"}");
  };
  grammars.compile(format('a'));
  grammars.compile(format('b'));
  BOOST_TEST(!grammars.knows(format('a')));
  BOOST_TEST(grammars.knows(format('b')));
}

BOOST_AUTO_TEST_CASE(threads_compile_beside_each_other) {
  compiler grammars(shared_vocabulary());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int j = 0; j < 10; ++j) {
        const auto limit = std::to_string((i + j) % 5);
        const auto grammar = grammars.compile(json_schema(R"({"type": "array", "maxItems": )" + limit + "}"));
        if (!accepts(*grammar, "[]")) std::abort();
      }
    });
  for (auto& each : threads) each.join();
  BOOST_TEST(accepts(*grammars.compile(json_schema(R"({"type": "array", "maxItems": 1})")), "[1]"));
}

BOOST_AUTO_TEST_CASE(guides_outlive_their_grammar_and_the_cache) {
  std::unique_ptr<guide> place;
  {
    compiler grammars(shared_vocabulary(), {.cache_bytes = 0});
    place = grammars.compile(choice({"ab"}))->start();
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
