#pragma once

#include <cogen/detail/engine_executor.hpp>
#include <cogen/detail/operation.hpp>
#include <cogen/metrics.hpp>
#include <cogen/token_stream.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace cogen {

/// What came next in one of the streams of a group: a piece, or, from async_next_event(), progress or an end.
struct stream_event {
  std::size_t index = 0;  ///< of the stream in the group
  cogen::piece piece = {};
  std::optional<prompt_progress> progress = {};  ///< of its prompt, instead of a piece
  std::optional<finish_reason> finish = {};      ///< why it ended, instead of a piece
};

namespace detail {
class group_state;

/// The part of a stream_group that reads its streams.
class group_handle : public handle<group_state> {
 public:
  explicit group_handle(std::vector<std::shared_ptr<stream_state>> streams);  ///< throws std::invalid_argument for none
  initiation<std::optional<stream_event>(bool events)> next_initiation() const;  ///< of progress and ends, too
};

}  // namespace detail

/// Several generations, read as one: whichever has a piece first. Made by engine::generate_n(), by engine::generate()
/// for a strategy of several streams, or of any streams.
///
///     while (auto next = co_await group.async_next()) fmt::print("{}: {}\n", next->index, next->piece.text);
///
/// Destroying it ends the generations. Threads, lifetime and handlers: see `engine`; those without an executor of their
/// own run on that of the first stream's engine. A stream stays readable by itself, and may be moved out of the group,
/// which goes on to read it. While one of its own operations is pending, the group leaves its pieces to that. While one
/// of the group is pending, those of a stream fail with error::operation_in_progress; its async_prompt_progress() does
/// only beside async_next_event().
template <class Executor>
class [[nodiscard]] basic_stream_group {
 public:
  using executor_type = Executor;
  using default_completion_token = net::default_completion_token_t<executor_type>;
  using stream_type = basic_token_stream<executor_type>;

  /// The same group with another executor type.
  template <class Other>
  struct rebind_executor {
    using other = basic_stream_group<Other>;
  };

  /// Groups streams, of one engine or several; those that were in another group leave it. Throws std::invalid_argument
  /// for none.
  explicit basic_stream_group(std::vector<stream_type> streams)
      : streams_(std::move(streams)), group_(shared_states()) {}
  basic_stream_group(basic_stream_group&&) noexcept = default;
  /// Takes over a group with another executor type.
  template <class Other>
    requires(!std::same_as<Other, Executor>)
  basic_stream_group(basic_stream_group<Other>&& other)
      : streams_(std::make_move_iterator(other.begin()), std::make_move_iterator(other.end())),
        group_(std::move(other.group_)) {}

  basic_stream_group& operator=(basic_stream_group&& other) noexcept {
    if (this == &other) return *this;
    group_ = std::move(other.group_);
    streams_ = std::move(other.streams_);
    return *this;
  }

  ~basic_stream_group() = default;

  /// The next piece of any stream, which is the oldest one of its stream; none when all have ended. Signature:
  /// void(error_code, std::optional<stream_event>). Fails with the code of a stream's `error()` once its pieces are
  /// read, once for each that failed; the others can be read further. Every cancellation type ends the wait at once
  /// with operation_aborted; the piece is kept for the next call. With a max_buffered_tokens of 0, it asks each stream
  /// for a token when none has one.
  template <net::completion_token_for<void(error_code, std::optional<stream_event>)> Token = default_completion_token>
  [[nodiscard]] auto async_next(Token&& token = default_completion_token()) {
    return detail::initiate<Token>(token, group_.next_initiation(), false);
  }

  /// As async_next(), but gives also how much of each prompt has been read, before the pieces of its stream, and once
  /// the end of each stream that has not failed. Progress goes to async_prompt_progress() where that is pending.
  template <net::completion_token_for<void(error_code, std::optional<stream_event>)> Token = default_completion_token>
  [[nodiscard]] auto async_next_event(Token&& token = default_completion_token()) {
    return detail::initiate<Token>(token, group_.next_initiation(), true);
  }

  /// Ends all generations. What was produced can still be read.
  void stop() noexcept {
    for (auto& stream : streams_) stream.stop();
  }

  [[nodiscard]] std::size_t size() const noexcept { return streams_.size(); }  ///< streams, at least 1
  /// One of the streams.
  [[nodiscard]] stream_type& operator[](std::size_t index) noexcept { return streams_[index]; }
  [[nodiscard]] const stream_type& operator[](std::size_t index) const noexcept { return streams_[index]; }
  [[nodiscard]] auto begin() noexcept { return streams_.begin(); }
  [[nodiscard]] auto begin() const noexcept { return streams_.begin(); }
  [[nodiscard]] auto end() noexcept { return streams_.end(); }
  [[nodiscard]] auto end() const noexcept { return streams_.end(); }

 private:
  template <class>
  friend class basic_stream_group;

  std::vector<std::shared_ptr<detail::stream_state>> shared_states() const {
    std::vector<std::shared_ptr<detail::stream_state>> states;
    for (const auto& stream : streams_) states.push_back(stream.shared());
    return states;
  }

  std::vector<stream_type> streams_;
  detail::group_handle group_;  // goes first, so that what is pending is aborted
};

using stream_group = basic_stream_group<engine_executor>;

}  // namespace cogen
