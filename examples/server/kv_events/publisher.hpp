#pragma once

#include "kv_events/message.hpp"

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace server::kv_events {

/// Where and how events are published; see `--help`.
struct publisher_options {
  std::string endpoint;  ///< empty: nowhere
  std::string replay_endpoint;
  std::string topic;
  int block_size = 16;
  kv_events::encoding encoding = kv_events::encoding::map;
  std::size_t buffer_steps = 10'000;  ///< messages that are kept to be sent again
};

/// Publishes over ZeroMQ as vLLM's ZmqEventPublisher does. A PUB socket sends [topic, number, payload] for each batch,
/// with numbers from 0, in 8 bytes, the highest first. A ROUTER socket takes [empty, number] and sends [empty, number,
/// payload] for each batch from that number on that is still kept, and then the number -1 with an empty payload. The
/// PUB socket binds to an endpoint with a `*` or `::`, and of ipc:// and inproc://, and connects to others.
///
/// The sink is for one engine, and may be called on any one thread; its sockets live on the one that runs `context`,
/// which must outlive it, and on which it must end. Throws std::invalid_argument, naming the endpoint, for one that
/// cannot be used, and if the server was built without libzmq.
std::shared_ptr<cogen::kv_event_sink> publish(boost::asio::io_context& context, publisher_options options);

}  // namespace server::kv_events
