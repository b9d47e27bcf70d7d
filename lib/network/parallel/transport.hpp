#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cogen::parallel {

/// Another rank ended, stalled, failed or sent something else than was expected. what() names it.
class rank_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct outgoing {
  int receiver;
  std::span<const std::byte> bytes;
};

struct incoming {
  int sender;
  std::span<std::byte> bytes;
};

/// Carries bytes between the processes of one model, its ranks. Messages from one rank to another arrive in their
/// order. For one thread at a time.
class transport {
 public:
  virtual ~transport() = default;

  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;

  /// This rank's number among those of its machine.
  virtual int local_rank() const noexcept { return rank(); }

  /// Sends and receives all of these messages, and returns when the bytes can be used again. However long another rank
  /// computes, it waits. Throws rank_error if a message has another length than its bytes, or if one of these ranks has
  /// ended, has stalled or has called fail(). After that, so does every other call.
  virtual void exchange(std::span<const outgoing> out, std::span<const incoming> in) = 0;

  /// Makes what other ranks exchange throw rank_error, with this rank's `why`.
  virtual void fail(const std::string& why) noexcept = 0;

  /// The same from any thread, also from one that must neither wait nor use a device: others get to know it soon.
  virtual void fail_soon(std::string_view why) noexcept = 0;

  /// For what waits for other ranks outside of exchange(): calls `failed` once, on any thread, as soon as another rank
  /// is known to have ended, stalled or called fail(), or when this one does; with the message. Until the result is
  /// destroyed, which this transport outlives.
  virtual std::shared_ptr<void> watch(std::function<void(const std::string& why)> failed) = 0;
};

}  // namespace cogen::parallel
