// An HTTP server for the clients of OpenAI's API and of llama-server: see README.md beside this file.
#include "application.hpp"
#include "http/listener.hpp"
#include "http/tcp_transport.hpp"
#include "http/tls.hpp"
#include "loading.hpp"
#include "options.hpp"
#include "routes/table.hpp"

#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/core.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <malloc.h>
#include <optional>

namespace {

using namespace server;

http::response refused(const http::parse_error& why) {
  return api::response_of(api::error_of(why), api::dialect::openai);
}

void say(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

std::string address(const options& settings, unsigned short port) {
  return fmt::format("{}://{}", settings.tls_key.empty() ? "http" : "https", http::address_text(settings.host, port));
}

http::transport_factory transport_of(const options& settings) {
  if (!settings.tls_key.empty()) return http::tls(settings.tls_certificate, settings.tls_key);
  return [](net::ip::tcp::socket socket, const std::string&) {
    return std::make_unique<http::tcp_transport>(std::move(socket));
  };
}

/// Ends the server by the first signal when what has begun is over, and by the second one at once.
net::awaitable<void> end_at_a_signal(application& app, http::listener& listener) {
  net::signal_set signals(app.context, SIGINT, SIGTERM);
  co_await signals.async_wait(net::use_awaitable);
  app.draining = true;
  listener.finish();
  say("draining");
  net::steady_timer late(app.context);
  if (app.settings.drain.count() > 0) {
    late.expires_after(app.settings.drain);
    late.async_wait([&app](const boost::system::error_code& cancelled) {
      if (!cancelled) app.context.stop();
    });
  }
  signals.async_wait([&app](const boost::system::error_code& cancelled, int) {
    if (!cancelled) app.context.stop();
  });
  net::steady_timer again(app.context);
  while (!listener.is_finished()) {
    again.expires_after(std::chrono::milliseconds(10));
    co_await again.async_wait(net::use_awaitable);
  }
  app.context.stop();
}

int serve(const options& settings) {
  application app(settings);
  if (!settings.kv_events.endpoint.empty()) app.kv_events = kv_events::publish(app.context, settings.kv_events);
  std::exception_ptr failed;
  http::listener listener(app.context, settings.host, settings.port, settings.listener, transport_of(settings),
                          {.limits = settings.connections,
                           .handler = [&app](http::exchange& client) { return dispatch(app, client); },
                           .refuse = refused,
                           .bodies = app.bodies,
                           .answers = app.answers});
  listener.start();
  say(fmt::format("loading; listening on {}", address(settings, listener.port())));
  loading models(app, [&](std::exception_ptr why) {
    failed = why;
    if (why)
      app.context.stop();
    else
      say(fmt::format("ready on {}", address(settings, listener.port())));
  });
  net::co_spawn(app.context, end_at_a_signal(app, listener), [&](std::exception_ptr why) {
    if (why) failed = why;
    app.context.stop();
  });
  app.context.run();
  if (failed) std::rethrow_exception(failed);
  return 0;
}

/// What the other processes of a split model do. Signals are rank 0's: its end is theirs.
int work(const options& settings) {
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  const auto model = cogen::load_model(settings.models.front().path, settings.loading);
  cogen::run_worker(model, settings.engine);
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that grows too large is an error of what writes it
  // Large bodies and prompts leave the process as they are freed.
  // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
  const auto settings = server::read_options(argc, argv);
  if (!settings) return 0;
  return cogen::process_rank(settings->loading.parallel) == 0 ? serve(*settings) : work(*settings);
} catch (const std::invalid_argument& e) {
  fmt::print(stderr, "cogen-server: {}\n", e.what());
  return 2;
} catch (const std::exception& e) {
  fmt::print(stderr, "cogen-server: {}\n", e.what());
  return 1;
}
