#include "kv_events/publisher.hpp"

#include <stdexcept>

namespace server::kv_events {

std::shared_ptr<cogen::kv_event_sink> publish(boost::asio::io_context&, publisher_options) {
  throw std::invalid_argument("--kv-events-endpoint is given, and this server was built without libzmq and cppzmq");
}

}  // namespace server::kv_events
