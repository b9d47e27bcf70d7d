#pragma once

#include "api/field_reader.hpp"
#include "api/generation.hpp"
#include "api/held_bytes.hpp"
#include "application.hpp"
#include "worker_call.hpp"

#include <cogen/stream_group.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>

#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace server {

/// Bytes whose work others would notice.
inline constexpr std::size_t many_bytes = 32 << 10;

/// Calls `work`, which may take long however few the bytes are, on a thread of the workers, in the client's turn.
template <class Work>
net::awaitable<std::invoke_result_t<Work>> on_worker(call& client, std::size_t bytes, Work work) {
  client.touched += bytes;
  const bool is_small = bytes < many_bytes;
  http::budget_share turn(is_small ? client.app.small_turns : client.app.turns, client.client.owner());
  co_await turn.async_take(1);
  co_return co_await call_on(is_small ? client.app.small_workers : client.app.workers, std::move(work));
}

/// Calls `work`, whose time goes with the bytes, there if they are many.
template <class Work>
net::awaitable<std::invoke_result_t<Work>> off_loop(call& client, std::size_t bytes, Work work) {
  if (bytes >= many_bytes) co_return co_await on_worker(client, bytes, std::move(work));
  client.touched += bytes;
  co_return work();
}

/// The fields of a body, with the server's defaults for what it does not say. Sets the model that the
/// call is for. Throws api::error for what is not JSON object, and for an unknown model.
boost::json::object parse_fields(call& client, const std::string& text);

/// Waits until the client may hold so many bytes, at most 30 s. Throws api::error.
net::awaitable<void> hold(call& client, std::size_t bytes);

/// The same before a body is parsed, which then has many times as many bytes.
net::awaitable<void> hold_parsed_body(call& client);

/// What `read` makes of the body and the model that it is for. A worker parses, reads and frees the body.
/// The result's type is in no unnamed namespace: GCC 13 ends with an internal error there.
template <class Read>
auto read_fields(call& client, Read read)
    -> net::awaitable<std::invoke_result_t<Read, const call&, const api::field_reader&, const served_model&>> {
  client.app.models.require_ready();
  co_await hold_parsed_body(client);
  std::size_t held = 0;
  auto result = co_await on_worker(client, client.body.size(), [&client, &held, read] {
    const auto body = std::move(client.body);
    const auto fields = parse_fields(client, body);
    held = api::held_bytes(fields);
    return read(client, api::field_reader(fields), *client.model);
  });
  client.held.shrink_to(held);
  co_await hold(client, held);
  co_return result;
}

/// Begins the generations. Throws generation_error if they are refused at once. Renders and tokenizes the prompt, so it
/// is for a worker.
std::vector<cogen::token_stream> begin(const served_model& model, api::generation wanted);

/// Reads streams to their ends, and names in a header what their schemas do not keep.
net::awaitable<std::vector<cogen::completion>> collect(call& client, cogen::stream_group& streams);

/// About how many bytes the beginning of so many like requests copies.
std::size_t copied_bytes(const cogen::request& request, std::size_t times);

/// About how many bytes of JSON tokens or answers become.
std::size_t weight_of(std::span<const cogen::sampled_token> tokens);
std::size_t weight_of(const std::vector<cogen::completion>& answers);

/// A server-sent event.
struct event {
  std::string data;
  std::string name = {};
};

/// Writes what is generated as events, in the words of one API.
class event_writer {
 public:
  virtual ~event_writer() = default;
  /// About how much of the request the next event repeats: that of a piece, or another one.
  virtual std::size_t repeated_bytes(bool) const { return 0; }
  virtual std::vector<event> on_event(const cogen::stream_event& update) = 0;  ///< of a piece, or of a stream's end
  virtual std::vector<event> on_progress(const cogen::stream_event&) { return {}; }  ///< of its prompt
  virtual std::vector<event> last() = 0;                                             ///< when all streams have ended
  virtual std::vector<event> failed(const api::error& why) = 0;  ///< instead of what would have come
};

/// Sends streams as events, with `progress` that of their prompts, too. Until the first one is sent, failures are
/// thrown.
net::awaitable<void> send_events(call& client, cogen::stream_group& streams, event_writer& writer, bool progress);

}  // namespace server
