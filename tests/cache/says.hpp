#pragma once

#include <boost/test/unit_test.hpp>

#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::cache::test {

/// A check of what an error says: each of the given words has to stand in its message.
inline auto says(std::vector<std::string> words) {
  return [words](const std::exception& error) {
    const std::string_view message = error.what();
    for (const std::string& word : words) {
      if (message.find(word) != std::string_view::npos) continue;
      BOOST_TEST_MESSAGE("\"" << message << "\" does not say \"" << word << "\"");
      return false;
    }
    return true;
  };
}

}  // namespace cogen::cache::test
