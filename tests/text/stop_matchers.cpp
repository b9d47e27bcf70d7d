#include "formats/text/stop_matcher.hpp"

#include <boost/test/unit_test.hpp>

#include <random>
#include <stdexcept>
#include <vector>

namespace {

using cogen::text::stop_matcher;
using strings = std::vector<std::string>;

struct outcome {
  std::string text;
  std::optional<std::size_t> matched;
  bool operator==(const outcome&) const = default;
};

std::ostream& operator<<(std::ostream& out, const outcome& result) {
  return out << '"' << result.text << "\" " << (result.matched ? std::to_string(*result.matched) : "none");
}

outcome in_pieces(const strings& stops, std::string_view text, const std::vector<std::size_t>& sizes) {
  stop_matcher matcher(stops);
  outcome result;
  for (std::size_t i = 0; !text.empty() && !result.matched; ++i) {
    auto piece = text.substr(0, sizes[i % sizes.size()]);
    text.remove_prefix(piece.size());
    auto [safe, matched] = matcher.push(piece);
    result.text += safe;
    result.matched = matched;
  }
  result.text += matcher.flush();
  return result;
}

// The match that ends first, of several the longest.
outcome by_search(const strings& stops, const std::string& text) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < stops.size(); ++i) {
      bool ends_here = std::string_view(text).substr(0, end).ends_with(stops[i]);
      if (ends_here && (!best || stops[i].size() > stops[*best].size())) best = i;
    }
    if (best) return {text.substr(0, end - stops[*best].size()), best};
  }
  return {text, std::nullopt};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stop_matchers)

BOOST_AUTO_TEST_CASE(a_beginning_stop_string_is_held_back) {
  stop_matcher matcher(strings{"END"});
  BOOST_TEST(matcher.push("abE").text == "ab");
  BOOST_TEST(matcher.push("N").text == "");
  BOOST_TEST(matcher.push("x").text == "ENx");
  BOOST_TEST(matcher.push("yEN").text == "y");
  BOOST_TEST(matcher.flush() == "EN");
}

BOOST_AUTO_TEST_CASE(text_before_the_match_comes_out_and_nothing_after_it) {
  stop_matcher matcher(strings{"x", "END"});
  auto first = matcher.push("aENDb");
  BOOST_TEST(first.text == "a");
  BOOST_TEST(first.matched.value() == 1u);
  auto second = matcher.push("more x");
  BOOST_TEST(second.text == "");
  BOOST_TEST(!second.matched);
  BOOST_TEST(matcher.flush() == "");
}

BOOST_AUTO_TEST_CASE(without_stop_strings_everything_passes) {
  stop_matcher matcher;
  BOOST_TEST(matcher.push("abc").text == "abc");
  BOOST_TEST(matcher.flush() == "");
  BOOST_TEST(stop_matcher(strings{}).push("abc").text == "abc");
}

BOOST_AUTO_TEST_CASE(a_copy_continues_from_the_same_place) {
  stop_matcher matcher(strings{"ab"});
  matcher.push("xa");
  auto fork = matcher;
  BOOST_TEST(fork.push("b").matched.has_value());
  BOOST_TEST(matcher.push("c").text == "ac");
}

BOOST_AUTO_TEST_CASE(every_way_of_cutting_a_text_gives_the_match_that_ends_first) {
  std::mt19937 draw(3);
  auto random_text = [&](std::size_t length) {
    std::string text;
    for (std::size_t i = 0; i < length; ++i) text += "ab"[draw() % 2];
    return text;
  };
  for (int round = 0; round < 3000; ++round) {
    strings stops;
    for (std::size_t i = 0; i < 1 + draw() % 4; ++i) stops.push_back(random_text(2 + draw() % 5));
    auto text = random_text(draw() % 24);
    auto found = in_pieces(stops, text, {1 + draw() % 3, 1 + draw() % 5});
    BOOST_REQUIRE_EQUAL(found, by_search(stops, text));
  }
}

BOOST_AUTO_TEST_CASE(one_long_piece_and_many_overlapping_stop_strings) {
  strings stops;
  for (std::size_t i = 0; i < stop_matcher::max_strings; ++i) stops.push_back(std::string(i + 1, 'a') + "!");
  std::string text(1'000'000, 'a');
  stop_matcher matcher(stops);
  auto [safe, matched] = matcher.push(text);
  BOOST_TEST(!matched);
  BOOST_TEST(safe.size() == text.size() - stop_matcher::max_strings);
  BOOST_TEST(matcher.push("!").matched.value() == stop_matcher::max_strings - 1);
}

BOOST_AUTO_TEST_CASE(useless_and_oversized_stop_strings_are_refused) {
  BOOST_CHECK_THROW(stop_matcher(strings{"a", ""}), std::invalid_argument);
  BOOST_CHECK_THROW(stop_matcher(strings{"\xC3"}), std::invalid_argument);
  BOOST_CHECK_THROW(stop_matcher(strings(100'000, "a")), std::invalid_argument);
  BOOST_CHECK_THROW(stop_matcher(strings{std::string(stop_matcher::max_bytes + 1, 'a')}), std::invalid_argument);
  BOOST_CHECK_THROW(stop_matcher(strings(17, std::string(stop_matcher::max_bytes, 'a'))), std::invalid_argument);
  BOOST_CHECK_NO_THROW(stop_matcher(strings{std::string(stop_matcher::max_bytes, 'a')}));
}

BOOST_AUTO_TEST_SUITE_END()
