// A TCP server: each line that a client sends is answered by a stream of text; a client that goes away stops its
// generation. A signal lets every answer that has begun come to its end; a second one stops at once.
#include "model_path.hpp"
#include "rethrow.hpp"

#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <fmt/core.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::size_t max_line = 64 * 1024;

//[server
asio::awaitable<void> until_gone(tcp::socket& client) {
  boost::system::error_code ignored;
  co_await client.async_wait(tcp::socket::wait_read, asio::redirect_error(asio::use_awaitable, ignored));
}

asio::awaitable<void> stream_answer(cogen::engine& engine, tcp::socket& client, std::string line) {
  auto stream = engine.generate({.prompt = cogen::chat(std::move(line)), .max_tokens = 128});
  std::string end = "\n";
  try {
    while (auto piece = co_await stream.async_next())
      co_await asio::async_write(client, asio::buffer(piece->text), asio::use_awaitable);
  } catch (const cogen::generation_error& error) {
    end = fmt::format("error: {}\n", error.what());
  }
  co_await asio::async_write(client, asio::buffer(end), asio::use_awaitable);
}

asio::awaitable<void> serve(cogen::engine& engine, tcp::socket client) {
  using namespace asio::experimental::awaitable_operators;
  std::string received;
  for (;;) {
    const auto length =
        co_await asio::async_read_until(client, asio::dynamic_buffer(received, max_line), '\n', asio::use_awaitable);
    auto line = received.substr(0, length - 1);
    received.erase(0, length);
    // The first to succeed ends the other: a client that hangs up (or writes on) cancels the wait for the next piece,
    // and the stream, going out of scope, leaves the batch.
    const auto done = co_await (stream_answer(engine, client, std::move(line)) || until_gone(client));
    if (done.index() == 1) co_return;
  }
}
//]

/// Until the acceptor is closed. Without a free descriptor there may be one a moment later.
asio::awaitable<void> accept(cogen::engine& engine, tcp::acceptor& acceptor) {
  asio::steady_timer moment(acceptor.get_executor());
  for (;;) {
    boost::system::error_code code;
    auto client = co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, code));
    if (!acceptor.is_open()) co_return;
    if (!code) {
      asio::co_spawn(acceptor.get_executor(), serve(engine, std::move(client)), [](std::exception_ptr) {
        // The client is gone: there is nobody to tell.
      });
      continue;
    }
    fmt::print(stderr, "cannot accept a client: {}\n", code.message());
    moment.expires_after(std::chrono::milliseconds(100));
    co_await moment.async_wait(asio::use_awaitable);
  }
}

asio::awaitable<void> drain_at_a_signal(cogen::engine& engine, asio::io_context& context, tcp::acceptor& acceptor,
                                        bool& drained) {
  asio::signal_set signals(context, SIGINT, SIGTERM);
  co_await signals.async_wait(asio::use_awaitable);
  acceptor.close();
  fmt::print("draining\n");
  std::fflush(stdout);
  signals.async_wait([&context](auto cancelled, int) {
    if (!cancelled) context.stop();
  });
  co_await engine.async_drain();
  drained = true;
  context.stop();
}

tcp::acceptor listen(asio::io_context& context, const std::string& port) try {
  std::uint16_t number = 0;
  const auto* const end = port.data() + port.size();
  const auto [rest, wrong] = std::from_chars(port.data(), end, number);
  if (wrong != std::errc() || rest != end)
    throw std::invalid_argument(fmt::format("the port is {}; it must be a number from 0 to 65535", port));
  return {context, {asio::ip::address_v4::loopback(), number}};
} catch (const boost::system::system_error& e) {
  throw std::runtime_error(fmt::format("cannot listen on port {}: {}", port, e.code().message()));
}

int main(int argc, char** argv) try {
  cogen::engine engine(cogen::load_model(example::model_path(argc, argv)));
  asio::io_context context;
  auto acceptor = listen(context, argc > 2 ? argv[2] : "7171");
  fmt::print("listening on 127.0.0.1:{}\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  bool drained = false;
  asio::co_spawn(context, drain_at_a_signal(engine, context, acceptor, drained), example::rethrow);
  asio::co_spawn(context, accept(engine, acceptor), example::rethrow);
  context.run();
  if (!drained) return 0;
  context.restart();
  context.poll();  // what the engine has said is still to be sent
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
