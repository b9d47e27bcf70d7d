#pragma once

#include "subject.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <array>
#include <atomic>
#include <cstdint>

namespace cogen::soak {

/// What a client does with a request.
enum class deed { read, dawdle, cancel, stop, drop, fork, idle, ask_for_nonsense };
constexpr std::array deed_names{"read", "dawdle", "cancel", "stop", "drop", "fork", "idle", "ask for nonsense"};

/// What all clients have done. Operations are asked for and answered.
struct tally {
  std::atomic<bool> over = false;                                    // no client begins another deed
  std::array<std::atomic<std::uint64_t>, deed_names.size()> done{};  // without being refused
  std::atomic<std::uint64_t> asked = 0;
  std::atomic<std::uint64_t> answered = 0;
  std::atomic<std::uint64_t> cancelled = 0;
  std::atomic<std::uint64_t> held_up = 0;  // pauses of readers at whose end the engine was as far ahead as it may
  std::atomic<std::uint64_t> forked = 0;   // sequences that went on by themselves to the end
  std::atomic<std::uint64_t> refused = 0;  // queue_full
  std::atomic<std::uint64_t> tokens = 0;   // read and found right
  std::atomic<std::uint64_t> wrong = 0;
  std::atomic<int> clients = 0;  // that have not ended

  std::uint64_t deeds() const;
};

/// One deed after the other, as its own random numbers say, until it is over; after a refusal it waits a little.
net::awaitable<void> live(subject& setup, tally& counts, unsigned seed);

}  // namespace cogen::soak
