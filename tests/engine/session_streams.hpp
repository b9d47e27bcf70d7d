#pragma once

#include <cogen/byte_stream.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace cogen::test {

constexpr auto everything = std::numeric_limits<std::size_t>::max();

/// A stream of Asio in memory: writes append to its bytes, reads take them from the front.
class memory_stream {
 public:
  using executor_type = net::any_io_executor;

  explicit memory_stream(net::any_io_executor executor, std::string content = {})
      : bytes(std::move(content)), executor_(std::move(executor)) {}

  executor_type get_executor() const { return executor_; }

  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    const net::const_buffer source = *net::buffer_sequence_begin(buffers);
    return start(
        source.size(),
        [this, source](std::size_t count) { bytes.append(static_cast<const char*>(source.data()), count); },
        std::forward<Token>(token));
  }

  template <class Token>
  auto async_read_some(net::mutable_buffer target, Token&& token) {
    return start(
        std::min(target.size(), bytes.size()),
        [this, target](std::size_t count) {
          std::copy_n(bytes.begin(), count, static_cast<char*>(target.data()));
          bytes.erase(0, count);
        },
        std::forward<Token>(token));
  }

  std::string bytes;
  std::size_t at_once = everything;       ///< bytes of one operation
  std::size_t fails_after = everything;   ///< so many bytes
  std::size_t stalls_after = everything;  ///< so many operations; the next one ends by cancellation alone
  std::size_t operations = 0;             ///< that have begun
  bool stalled = false;

 private:
  template <class Move, class Token>
  auto start(std::size_t most, Move move, Token&& token) {
    return net::async_initiate<Token, void(error_code, std::size_t)>(
        [this, most, move](auto handler) {
          if (operations++ == stalls_after) return stall(std::move(handler));
          const auto count = std::min({most, at_once, fails_after - done_});
          if (count > 0) move(count);
          done_ += count;
          error_code failed = net::error::eof;
          if (done_ == fails_after) failed = net::error::connection_reset;
          complete(std::move(handler), count > 0 ? error_code() : failed, count);
        },
        token);
  }

  template <class Handler>
  void stall(Handler handler) {
    stalled = true;
    auto slot = net::get_associated_cancellation_slot(handler);
    const auto kept = std::make_shared<Handler>(std::move(handler));
    stalled_ = kept;
    slot.assign([this, weak = std::weak_ptr(kept)](net::cancellation_type) {
      if (std::exchange(stalled, false)) complete(std::move(*weak.lock()), net::error::operation_aborted, 0);
    });
  }

  template <class Handler>
  void complete(Handler handler, error_code code, std::size_t count) {
    const auto executor = net::get_associated_executor(handler, executor_);
    net::post(executor, [handler = std::move(handler), code, count]() mutable { std::move(handler)(code, count); });
  }

  net::any_io_executor executor_;
  std::size_t done_ = 0;
  std::shared_ptr<void> stalled_;  // the handler
};

}  // namespace cogen::test
