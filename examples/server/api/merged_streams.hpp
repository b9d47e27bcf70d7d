#pragma once

#include <cogen/token_stream.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

namespace server::api {

namespace net = boost::asio;

/// A piece of one of several streams, or how much of its prompt was read, or that stream's end.
struct stream_event {
  std::size_t stream = 0;
  std::optional<cogen::piece> piece = {};
  std::optional<cogen::prompt_progress> progress = {};
};

/// Reads several streams at once, whichever has something. A stream is asked for its next piece when its last one is
/// taken, so that a slow reader holds all of them. For one thread.
class merged_streams {
 public:
  /// With `progress`, a stream is asked for pieces once its prompt was read, and for its progress until then.
  merged_streams(std::vector<cogen::token_stream> streams, net::any_io_executor executor, bool progress = false);
  merged_streams(const merged_streams&) = delete;
  merged_streams& operator=(const merged_streams&) = delete;
  ~merged_streams();  ///< ends the generations

  /// What comes next; nothing if that takes longer than `limit`. Throws generation_error if a stream fails. Once for
  /// each stream, the event has neither a piece nor progress.
  net::awaitable<std::optional<stream_event>> next(std::chrono::milliseconds limit);

  bool ended() const noexcept;  ///< whether all streams have ended and were read
  const std::vector<cogen::token_stream>& streams() const noexcept { return streams_; }

 private:
  struct state;
  void ask(std::size_t stream);
  void ask_for_progress(std::size_t stream);

  std::vector<cogen::token_stream> streams_;
  std::shared_ptr<state> state_;
};

}  // namespace server::api
