#pragma once

#include <cogen/token_stream.hpp>

#include <boost/circular_buffer.hpp>

namespace cogen::detail {

/// The pieces between a generation and its reader, and the credits that bound how far the generation runs ahead. A
/// credit lets the scheduler sample one token. The generation begins with `capacity` credits.
///
/// Reading a piece returns its credit. With capacity 0, a credit is returned when a reader waits and no piece is ready.
/// Not thread-safe: its owner guards it.
class token_channel {
 public:
  explicit token_channel(int capacity) : capacity_(capacity) {}

  int capacity() const noexcept { return capacity_; }

  // The reader's side.

  bool empty() const noexcept { return pieces_.empty(); }
  auto begin() const noexcept { return pieces_.begin(); }
  auto end() const noexcept { return pieces_.end(); }

  /// The oldest piece, of which there must be one.
  piece pop();

  /// A reader waits for a piece, and none is ready.
  void request();

  /// A reader waits for all pieces up to the end: those that are ready return their credits now.
  void request_all();

  /// Whether enough credits have been returned that the scheduler should have them before the channel runs empty.
  bool is_low() const noexcept;

  // The generation's side.

  /// Throws std::bad_alloc.
  void push(piece&& delta);

  /// The piece pushed last returns its credit now, because a reader waits for all of them.
  void return_credit() noexcept { ++credited_; }

  /// Takes the credits to grant to the scheduler.
  int take_credits();

  /// Capacity 0: whether the reader has asked for a token that has not come yet.
  bool is_requested() const noexcept { return requested_; }

  /// Capacity 0: the reader has a piece, and may be about to ask for the next one.
  bool awaits_reader() const noexcept { return awaits_reader_; }
  void await_reader(bool waits) noexcept { awaits_reader_ = waits && capacity_ == 0; }

 private:
  void count_read();

  const int capacity_;
  boost::circular_buffer<piece> pieces_;
  int credited_ = 0;  // pieces at the front whose credits were returned already
  int owed_ = 0;      // credits returned, and not yet taken
  bool requested_ = false;
  bool awaits_reader_ = false;
};

}  // namespace cogen::detail
