#include <cogen/detail/indirect.hpp>

#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include <utility>

namespace cogen::detail {
namespace {

namespace json = boost::json;

using held_object = indirect<json::object>;

bool has_default_storage(const held_object& held) { return *held->storage() == *json::storage_ptr(); }

BOOST_AUTO_TEST_SUITE(indirect_values)

BOOST_AUTO_TEST_CASE(one_without_a_value_reads_as_empty) {
  const held_object held;
  BOOST_TEST(held->empty());
  held_object moved(json::object{{"a", 1}});
  const held_object taken = std::move(moved);
  BOOST_TEST(taken->at("a").as_int64() == 1);
  moved = held_object();
  (*moved)["b"] = 2;
  BOOST_TEST(moved->size() == 1u);
}

BOOST_AUTO_TEST_CASE(copies_are_independent) {
  held_object first(json::object{{"a", json::array{1}}});
  held_object second = first;
  (*second)["a"].as_array().push_back(2);
  BOOST_TEST(first->at("a").as_array().size() == 1u);
  first = second;
  second->clear();
  BOOST_TEST(first->at("a").as_array().size() == 2u);
  first = std::move((*first)["a"].emplace_object());
  BOOST_TEST(first->empty());
}

BOOST_AUTO_TEST_CASE(values_outlive_the_memory_of_what_they_were_made_of) {
  held_object built, assigned, copied;
  {
    json::monotonic_resource memory;
    const auto read = json::parse(R"({"a": "a text that is longer than a small buffer"})", &memory);
    built = held_object(read.as_object());
    assigned = read.as_object();
    *copied = read.as_object();
    auto inside = json::parse(R"({"b": [1]})", &memory).as_object();
    const held_object moved(std::move(inside));
    BOOST_TEST(has_default_storage(moved));
    const held_object again = moved;  // NOLINT(performance-unnecessary-copy-initialization)
    BOOST_TEST(has_default_storage(again));
  }
  for (const auto* held : {&built, &assigned, &copied}) {
    BOOST_TEST(has_default_storage(*held));
    BOOST_TEST((*held)->at("a").as_string() == "a text that is longer than a small buffer");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::detail
