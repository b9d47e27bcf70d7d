#pragma once

#include "engine/sequence_state.hpp"

#include <cogen/byte_stream.hpp>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/strand.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <span>

namespace cogen::detail {

/// A coroutine between a session and a stream. It runs on the executor of the operation's handler, and the operation
/// completes when it has ended, so that the stream is not used afterwards. Cancellation reaches the stream there.
class stream_task : public std::enable_shared_from_this<stream_task> {
 public:
  virtual ~stream_task() = default;

 protected:
  void spawn(const net::any_io_executor& executor);
  void cancel_task() noexcept;
  void throw_if_cancelled() const;

  virtual net::awaitable<void> run() = 0;
  virtual void end(const diagnostics& why) = 0;  ///< run() has ended, if `why` is not empty with that exception
  virtual void cancel_after_end() noexcept {}

 private:
  struct ended;

  net::awaitable<void> run_marked();

  std::optional<net::strand<net::any_io_executor>> strand_;
  std::atomic<bool> cancelled_ = false;
  bool running_ = false;  // on the strand
  net::cancellation_signal signal_;
};

/// A pending async_save() to a stream: copies what the sequence holds, then writes it piece by piece. Each piece is
/// made on another thread, since what was swapped out may have to be read from a file or decompressed.
class stream_save final : public result_owner, public stream_task {
 public:
  stream_save(std::shared_ptr<sequence_state> state, std::shared_ptr<byte_sink> sink);

  net::any_io_executor default_executor() const override { return sink_->get_executor(); }
  void start(std::shared_ptr<operation<>> wait);
  void cancel(const pending_operation& wait, net::cancellation_type) noexcept override;
  void settle(pending_operation&) noexcept override {}  // bytes that are written stay written

 private:
  net::awaitable<void> run() override;
  void end(const diagnostics& why) override;
  net::awaitable<void> copy();
  net::awaitable<void> make_piece();
  void start_piece(std::shared_ptr<operation<>> wait);

  const std::shared_ptr<sequence_state> state_;
  const std::shared_ptr<byte_sink> sink_;
  std::shared_ptr<operation<>> wait_;
  const pending_operation* started_ = nullptr;  // the same, known also once it has ended
  std::optional<session_writer> writer_;
  std::span<const std::byte> piece_;
};

/// A pending async_load_session() of a stream: reads the session, which the engine then takes.
class stream_open final : public result_owner, public stream_task {
 public:
  stream_open(std::shared_ptr<sequence_state> state, std::shared_ptr<byte_source> source);

  net::any_io_executor default_executor() const override { return source_->get_executor(); }
  void start(std::shared_ptr<operation<sequence>> wait);
  void cancel(const pending_operation&, net::cancellation_type) noexcept override { cancel_task(); }
  void settle(pending_operation& called) noexcept override { state_->settle(called); }
  void drop(pending_operation& dropped) noexcept override { state_->drop(dropped); }

 private:
  net::awaitable<void> run() override;
  void end(const diagnostics& why) override;
  void cancel_after_end() noexcept override;

  const std::shared_ptr<sequence_state> state_;
  const std::shared_ptr<byte_source> source_;
  std::shared_ptr<operation<sequence>> wait_;
};

}  // namespace cogen::detail
