#pragma once

#include <cogen/error.hpp>
#include <cogen/token.hpp>
#include <cogen/token_stream.hpp>

#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

namespace cogen::test {

/// What one handle's operations came to. Lives in storage that was there before anything could fail.
struct account {
  int begun = 0;
  int received = 0;
  std::array<token, 64> tokens{};
  int count = 0;

  void read(std::span<const sampled_token> next) {
    for (const auto& each : next) tokens[static_cast<std::size_t>(count++)] = each.id;
  }
  void read(const std::optional<piece>& next) {
    if (next) read(next->tokens);
  }
  std::vector<token> read_so_far() const { return {tokens.begin(), tokens.begin() + count}; }
};

/// Calls `begin`, which starts an operation: that may fail at once, and then no result comes later. Returns whether it
/// was started.
template <class Begin>
bool start(account& seq, Begin begin) {
  try {
    begin();
    ++seq.begun;
    return true;
  } catch (const std::bad_alloc&) {
  } catch (const boost::system::system_error&) {  // the operation before it is still under way
  } catch (const std::out_of_range&) {            // the one before it never was
  }
  return false;
}

inline void check_prefix(const account& received, std::vector<token> whole) {
  const auto read = received.read_so_far();
  BOOST_REQUIRE(read.size() <= whole.size());
  whole.resize(read.size());
  BOOST_TEST(read == whole, boost::test_tools::per_element());
}

}  // namespace cogen::test
