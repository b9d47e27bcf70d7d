#pragma once

#include "api/answer.hpp"
#include "api/error.hpp"
#include "freed_memory.hpp"
#include "http/exchange.hpp"
#include "http/fair_budget.hpp"
#include "models.hpp"
#include "options.hpp"
#include "session_transfers.hpp"

#include <cogen/metrics.hpp>
#include <cogen/response_format.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace server {

namespace net = boost::asio;

/// What all routes share. For the thread that runs the context.
struct application {
  explicit application(const options& chosen);

  options settings;
  net::io_context context{1};
  net::thread_pool workers{1};        ///< for large bodies and answers
  net::thread_pool small_workers{1};  ///< for small bodies, which may ask for much work
  /// Turns on the threads of the workers.
  std::shared_ptr<http::fair_budget> turns = std::make_shared<http::fair_budget>(1);
  std::shared_ptr<http::fair_budget> small_turns = std::make_shared<http::fair_budget>(1);
  std::shared_ptr<cogen::kv_event_sink> kv_events;  ///< of the one model; null: none are published
  /// Bytes of requests from their bodies to the beginnings of their answers, and of answers that clients have not read.
  std::shared_ptr<http::fair_budget> bodies = std::make_shared<http::fair_budget>(settings.max_pending_body_bytes);
  std::shared_ptr<http::fair_budget> answers = std::make_shared<http::fair_budget>(settings.max_unread_answer_bytes);
  /// Bytes that requests hold from the parsing of their bodies until they are answered.
  std::shared_ptr<http::fair_budget> requests = std::make_shared<http::fair_budget>(512 << 20);
  freed_memory freed;
  session_transfers transfers{context.get_executor()};
  session_transfers saves{context.get_executor(), 1};  ///< so that a key's files are counted exactly
  model_table models;
  bool draining = false;  ///< nothing more is begun
  std::int64_t started = api::unix_time();
};

/// One request on its way through a route.
struct call {
  application& app;
  http::exchange& client;
  std::string id;
  std::uint64_t tenant = 0;
  api::dialect errors = api::dialect::openai;
  http::fields matched = {};                           ///< what stands for the `{names}` of the route
  std::shared_ptr<served_model> model = {};            ///< that answers it, once the body is read
  std::string model_name = {};                         ///< as the client calls it
  api::usage_sum usage = {};                           ///< for the log
  std::vector<cogen::loosened_keyword> loosened = {};  ///< for the log

  std::string body = {};          ///< of a route that does not read it itself
  http::counted_bytes held = {};  ///< what it holds until it is answered
  std::size_t touched = 0;        ///< bytes of its body and its answer, about

  const http::request& request() const { return client.request(); }

  /// The model that the query names, or the first one, for routes without a body.
  std::shared_ptr<served_model> queried_model() const {
    const auto named = request().query.find("model");
    return app.models.named(named == request().query.end() ? std::nullopt : std::optional(named->second));
  }
};

}  // namespace server
