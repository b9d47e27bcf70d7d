#pragma once

#include "settings.hpp"

#include <cogen/engine.hpp>
#include <cogen/model.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace pressure {

namespace net = boost::asio;
using seconds = std::chrono::duration<double>;
using std::chrono::milliseconds;
using tokens = std::vector<cogen::token>;
using model_pointer = std::shared_ptr<const cogen::model>;

/// What one run came to.
struct measurement {
  double wall;  // seconds
  double cpu;   // seconds of all threads
  cogen::engine_stats stats;
  double in_a_turn = 0;  // seconds that conversations did not think, over all of them
  std::int64_t jobs = 0;
  std::int64_t moved = 0;       // bytes
  double transfer_seconds = 0;  // from begin to end, over all of them
};

measurement timed(const cogen::engine& engine, const std::function<void()>& run);

cogen::engine_options base(const settings& wanted, int slots, int max_sequence_length);
tokens some_tokens(int seed, int count, std::int64_t vocabulary);
void rethrow(std::exception_ptr error);
void check_same(const tokens& seen, const tokens& alone, std::string_view subject, std::size_t number);

/// Runs each kind, `wanted.rounds` times round by round, every other round backwards, so that neither what troubles the
/// machine for longer than a round nor a place in the order is one kind's alone. By kind.
std::vector<std::vector<measurement>> by_turns(const settings& wanted,
                                               const std::vector<std::function<measurement()>>& kinds);

/// Wall times, the shortest first.
std::vector<double> walls(const std::vector<measurement>& runs);
double median(const std::vector<double>& sorted);

/// The median of the ratios of each round.
void print_ratio(std::string_view name, const std::vector<measurement>& above, const std::vector<measurement>& below,
                 std::string_view aim);

}  // namespace pressure
