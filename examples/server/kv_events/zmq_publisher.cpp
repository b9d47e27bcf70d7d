#include "kv_events/publisher.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <deque>
#include <initializer_list>
#include <stdexcept>
#include <utility>
#include <vector>
#include <zmq.hpp>

namespace server::kv_events {
namespace {

namespace net = boost::asio;

/// 8 bytes, the highest first.
using number_bytes = std::array<unsigned char, 8>;
constexpr auto last_number = ~std::uint64_t{0};  // says that no more follow

number_bytes bytes_of(std::uint64_t number) {
  number_bytes bytes;
  for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte, number >>= 8)
    *byte = static_cast<unsigned char>(number);
  return bytes;
}

std::uint64_t number_in(const zmq::message_t& bytes) {
  std::uint64_t number = 0;
  for (const auto each : bytes.to_string_view()) number = number << 8 | static_cast<unsigned char>(each);
  return number;
}

/// What `call` returns that no signal interrupts.
template <class Call>
auto uninterrupted(const Call& call) {
  while (true) try {
      return call();
    } catch (const zmq::error_t& e) {
      if (e.num() != EINTR) throw;
    }
}

void send_parts(zmq::socket_t& socket, std::initializer_list<zmq::const_buffer> parts) {
  for (const auto& part : parts) {
    const bool is_last = &part == parts.end() - 1;
    uninterrupted([&] { return socket.send(part, is_last ? zmq::send_flags::none : zmq::send_flags::sndmore); });
  }
}

std::vector<zmq::message_t> receive(zmq::socket_t& socket) {
  std::vector<zmq::message_t> parts;
  do uninterrupted([&] { return socket.recv(parts.emplace_back()); });
  while (parts.back().more());
  return parts;
}

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

bool is_bound(const std::string& endpoint) {
  return endpoint.find('*') != std::string::npos || endpoint.find("::") != std::string::npos ||
         endpoint.starts_with("ipc://") || endpoint.starts_with("inproc://");
}

class zmq_publisher final : public cogen::kv_event_sink, public std::enable_shared_from_this<zmq_publisher> {
 public:
  zmq_publisher(net::io_context& context, publisher_options options)
      : options_(std::move(options)), context_(context), replay_fd_(context) {
    publish_.set(zmq::sockopt::sndhwm, 100'000);
    replay_.set(zmq::sockopt::sndhwm, static_cast<int>(options_.buffer_steps) + 1);
    for (auto* each : {&publish_, &replay_}) each->set(zmq::sockopt::linger, 0);
    use("kv-events-endpoint", options_.endpoint, publish_, is_bound(options_.endpoint));
    if (!options_.replay_endpoint.empty()) use("kv-events-replay-endpoint", options_.replay_endpoint, replay_, true);
    replay_fd_.assign(replay_.get(zmq::sockopt::fd));
  }

  ~zmq_publisher() override { replay_fd_.release(); }  // libzmq closes it

  void on_kv_events(std::span<const cogen::kv_event> batch) override {
    auto payload = message_of(batch, unix_seconds(), options_.block_size, options_.encoding);
    net::post(context_, [weak = weak_from_this(), payload = std::move(payload)]() mutable {
      if (const auto self = weak.lock()) self->publish(std::move(payload));
    });
  }

  /// Answers those who ask for messages again. The socket's descriptor is readable when its state has changed.
  void serve() {
    const auto again = [weak = weak_from_this()](const boost::system::error_code& cancelled) {
      const auto self = weak.lock();
      if (self && !cancelled) self->serve();
    };
    if (answer_one())  // other clients of the context come between two
      net::post(context_, [again] { again({}); });
    else
      replay_fd_.async_wait(net::posix::stream_descriptor::wait_read, again);
  }

 private:
  struct message {
    std::uint64_t number;
    std::string payload;
  };

  static void use(std::string_view option, const std::string& endpoint, zmq::socket_t& socket, bool bound) try {
    bound ? socket.bind(endpoint) : socket.connect(endpoint);
  } catch (const zmq::error_t& e) {
    throw std::invalid_argument(fmt::format("--{} is {}, which cannot be used: {}", option, endpoint, e.what()));
  }

  void publish(std::string payload) {
    const auto number = next_++;
    const auto bytes = bytes_of(number);
    send_parts(publish_, {zmq::buffer(options_.topic), zmq::buffer(bytes), zmq::buffer(payload)});
    sent_.push_back({number, std::move(payload)});
    if (sent_.size() > options_.buffer_steps) sent_.pop_front();
  }

  /// False: nothing is asked for.
  bool answer_one() {
    if (!(uninterrupted([this] { return replay_.get(zmq::sockopt::events); }) & ZMQ_POLLIN)) return false;
    const auto asked = receive(replay_);
    if (asked.size() != 3 || asked[2].size() != sizeof(number_bytes)) return true;  // client, empty, number
    const auto first = number_in(asked[2]);
    for (const auto& each : sent_)
      if (each.number >= first) send_again(asked[0], each.number, each.payload);
    send_again(asked[0], last_number, {});
    return true;
  }

  void send_again(const zmq::message_t& client, std::uint64_t number, const std::string& payload) {
    const auto bytes = bytes_of(number);
    send_parts(replay_, {zmq::buffer(client.data(), client.size()), {}, zmq::buffer(bytes), zmq::buffer(payload)});
  }

  publisher_options options_;
  net::io_context& context_;
  zmq::context_t zmq_;
  zmq::socket_t publish_{zmq_, zmq::socket_type::pub};
  zmq::socket_t replay_{zmq_, zmq::socket_type::router};
  net::posix::stream_descriptor replay_fd_;
  std::uint64_t next_ = 0;
  std::deque<message> sent_;
};

}  // namespace

std::shared_ptr<cogen::kv_event_sink> publish(net::io_context& context, publisher_options options) {
  auto publisher = std::make_shared<zmq_publisher>(context, std::move(options));
  publisher->serve();
  return publisher;
}

}  // namespace server::kv_events
