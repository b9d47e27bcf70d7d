#pragma once

#include <cogen/load/model_config.hpp>

#include <boost/test/test_tools.hpp>

#include <string>
#include <string_view>

/// What the load_error that `action` throws says; "nothing was refused" where it throws none.
template <class Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const cogen::load::load_error& error) {
    return error.what();
  }
  return "nothing was refused";
}

/// For BOOST_TEST: whether a message has `part` in it; shows the message where it has not.
inline boost::test_tools::predicate_result says(const std::string& message, std::string_view part) {
  boost::test_tools::predicate_result result(message.find(part) != message.npos);
  if (!result) result.message() << "said \"" << message << "\", not \"" << part << '"';
  return result;
}
