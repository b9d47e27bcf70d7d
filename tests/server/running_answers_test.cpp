// Answers over the default model, whose engine runs a step when the test says so.
#include "../test_data.hpp"
#include "draft_source.hpp"
#include "http/connection.hpp"
#include "memory_client.hpp"
#include "routes/table.hpp"

#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace {

using server::test::client_side;
namespace http = server::http;
namespace json = boost::json;
namespace net = boost::asio;

std::shared_ptr<const cogen::model> default_model() {
  static const auto loaded = cogen::load_model(cogen::test::default_model_file());
  return loaded;
}

cogen::engine_options stepped(int slots) {
  cogen::engine_options options{.batching = {.slots = slots, .max_batched_tokens = 32},
                                .kv = {.prefix_caching = false},
                                .external_stepping = true};
  options.batching.max_batch_delay = std::chrono::microseconds(0);
  options.policies.idle_timeout = std::chrono::milliseconds(0);
  options.limits.max_sequence_length = 1024;
  return options;
}

std::string words(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format(" word{}", i % 10);
  return text;
}

/// A completion that is not chosen at random.
json::object asked(std::string prompt, int tokens, bool stream) {
  return {{"prompt", std::move(prompt)},
          {"max_tokens", tokens},
          {"temperature", 0},
          {"ignore_eos", true},
          {"stream", stream}};
}

/// A server without sockets.
struct stepped_server {
  explicit stepped_server(int slots) {
    model->name = "default";
    model->slots = slots;
    model->model = default_model();
    model->meter = std::make_shared<server::metrics::meter>(slots, nullptr);
    auto options = stepped(slots);
    options.events = model->meter;
    model->engine = std::make_unique<cogen::engine>(model->model, std::move(options));
    model->max_length = 1024;
    app.models.add(model);
    app.models.set_ready();
  }

  ~stepped_server() {
    for (const auto& each : connections) each->close();
    handle();
  }

  /// A client that has sent a request, of which nothing is handled yet.
  std::shared_ptr<client_side> send(std::string_view request) {
    auto client = std::make_shared<client_side>(app.context);
    connections.push_back(std::make_shared<http::connection>(std::make_unique<server::test::memory_transport>(client),
                                                             app.context.get_executor(), service, "network"));
    net::co_spawn(app.context, connections.back()->run(), net::detached);
    client->send(request);
    return client;
  }

  std::shared_ptr<client_side> post(const json::object& body) {
    const auto text = json::serialize(body);
    return send(fmt::format("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}",
                            text.size(), text));
  }

  /// Handles what has come, and what workers make of it.
  void handle() {
    do {
      app.context.restart();
      app.context.poll();
      std::this_thread::yield();
    } while (app.turns->taken() + app.small_turns->taken() > 0);
  }

  /// Handles what has come, runs a step, and handles what it brought. Returns how many sequences it ran.
  std::uint64_t step() {
    handle();
    const auto previous = model->engine->stats().rows;
    model->engine->poll_one();
    handle();
    return model->engine->stats().rows - previous;
  }

  /// Steps until all that the client was sent ends so.
  void step_until(const client_side& client, std::string_view end) {
    for (int steps = 0; steps < 1000 && !client.received.ends_with(end); ++steps) step();
    BOOST_REQUIRE(client.received.ends_with(end));
  }

  /// The text of an answer that is streamed alone.
  std::string text_alone(const json::object& body) {
    const auto client = post(body);
    step_until(*client, http_end);
    return text_of(*client);
  }

  static std::vector<json::object> events_of(const client_side& client) {
    std::vector<json::object> events;
    const std::string_view received = client.received, begin = "data: {";
    for (auto position = received.find(begin); position != std::string_view::npos;
         position = received.find(begin, position + 1))
      events.push_back(
          json::parse(received.substr(position + 6, received.find('\n', position) - position - 6)).as_object());
    return events;
  }

  static std::string text_of(const client_side& client) {
    std::string text;
    for (const auto& event : events_of(client)) text += event.at("choices").at(0).at("text").as_string();
    return text;
  }

  json::array slots() {
    const auto client = send("GET /slots HTTP/1.1\r\nHost: localhost\r\n\r\n");
    handle();
    return json::parse(client->received.substr(client->received.find("\r\n\r\n") + 4)).as_array();
  }

  std::string state_of_slot(std::size_t index) {
    const auto states = slots();
    const auto& slot = states.at(index);
    BOOST_TEST(slot.at("is_processing").as_bool() == (slot.at("state") != "idle"));
    return std::string(slot.at("state").as_string());
  }

  static constexpr std::string_view http_end = "data: [DONE]\n\n\r\n0\r\n\r\n";

  server::application app{server::options{}};
  std::shared_ptr<server::served_model> model = std::make_shared<server::served_model>();
  http::service service{.handler = [this](http::exchange& client) { return server::dispatch(app, client); },
                        .refuse = [](const http::parse_error& why) { return http::response{.status = why.status}; }};
  std::vector<std::shared_ptr<http::connection>> connections;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(running_answers)

BOOST_AUTO_TEST_CASE(a_client_that_leaves_while_its_prompt_is_read_is_in_no_further_step) {
  for (int steps = 0; steps < 4; ++steps) {
    stepped_server host(2);
    const auto staying = host.post(asked("The sea is", 40, true));
    BOOST_TEST(host.step() == 1U);
    const auto leaving = host.post(asked(words(300), 4, true));
    for (int i = 0; i < steps; ++i) BOOST_TEST(host.step() == 2U);
    if (steps > 0) BOOST_TEST(host.state_of_slot(1) == "prefill");
    leaving->leave();
    BOOST_TEST(host.step() == 1U);
    BOOST_TEST(host.model->engine->stats().sequences == 1);
    BOOST_TEST(host.state_of_slot(0) == "decode");
    BOOST_TEST(host.state_of_slot(1) == "idle");
    staying->leave();
    BOOST_TEST(host.step() == 0U);
    BOOST_TEST(host.model->engine->stats().sequences == 0);
    BOOST_TEST(host.state_of_slot(0) == "idle");
  }
}

BOOST_AUTO_TEST_CASE(a_client_that_leaves_with_more_requests_sent_than_are_read_is_in_no_further_step) {
  stepped_server host(1);
  const auto leaving = host.post(asked("The sea is", 40, false));
  leaving->send(std::string(2 * host.service.limits.read_ahead, 'x'));
  for (int steps = 0; steps < 3; ++steps) BOOST_TEST(host.step() == 1U);
  leaving->leave();
  BOOST_TEST(host.step() == 0U);
  BOOST_TEST(host.model->engine->stats().sequences == 0);
}

BOOST_AUTO_TEST_CASE(a_client_that_does_not_read_gives_its_slot_to_others_and_goes_on_later) {
  stepped_server host(1);
  const auto slow = asked("Once upon a time", 60, true), other = asked("The sea is", 24, true);
  const auto slow_alone = host.text_alone(slow), other_alone = host.text_alone(other);
  const auto stalled = host.post(slow);
  for (int steps = 0; steps < 5; ++steps) BOOST_TEST(host.step() == 1U);
  stalled->reads = false;
  while (host.step() > 0) {
  }
  const auto seen = stalled->received;
  const auto reading = host.post(other);
  host.step_until(*reading, host.http_end);
  BOOST_TEST(host.text_of(*reading) == other_alone);
  BOOST_TEST(stalled->received == seen);
  BOOST_TEST(host.model->engine->stats().preempted == 1U);
  stalled->read_again();
  host.step_until(*stalled, host.http_end);
  BOOST_TEST(host.text_of(*stalled) == slow_alone);
}

BOOST_AUTO_TEST_CASE(others_need_no_more_steps_beside_a_client_that_does_not_read) {
  const auto other = asked("The sea is", 24, true);
  const auto steps_of = [&](stepped_server& host) {
    const auto previous = host.model->engine->stats().steps;
    host.text_alone(other);
    return host.model->engine->stats().steps - previous;
  };
  stepped_server quiet(2), busy(2);
  const auto stalled = busy.post(asked("Once upon a time", 60, true));
  stalled->reads = false;
  while (busy.step() > 0) {
  }
  BOOST_TEST(steps_of(busy) == steps_of(quiet));
}

BOOST_AUTO_TEST_CASE(each_step_that_reads_a_prompt_is_an_event_for_who_asks) {
  stepped_server host(2);
  auto body = asked(words(40), 4, true);
  const auto other = host.post(asked("The sea is", 40, true));
  const auto text = host.text_alone(body);
  body["return_progress"] = true;
  const auto client = host.post(body);
  host.step_until(*client, host.http_end);
  std::vector<std::int64_t> processed;
  bool begun = false;
  for (const auto& event : host.events_of(*client)) {
    begun |= !event.at("choices").at(0).at("text").as_string().empty();
    const auto* progress = event.if_contains("prompt_progress");
    if (!progress) continue;
    BOOST_TEST(!begun);
    BOOST_TEST(progress->at("total").as_int64() == 80);
    BOOST_TEST(progress->at("cache").as_int64() == 0);
    processed.push_back(progress->at("processed").as_int64());
  }
  BOOST_TEST(processed == (std::vector<std::int64_t>{0, 31, 62, 80}), boost::test_tools::per_element());
  BOOST_TEST(host.text_of(*client) == text);
}

BOOST_AUTO_TEST_CASE(a_sequence_without_an_answer_is_in_no_slot) {
  stepped_server host(1);
  host.model->meter->on_sequence(
      {.type = cogen::sequence_event::kind::scheduled, .id = 1'000'000, .time = {}, .slot = 0});
  BOOST_TEST(host.state_of_slot(0) == "idle");
}

/// Counts how often it is asked for drafts, and has none.
class counting_drafter final : public cogen::drafter {
 public:
  std::vector<cogen::token> draft(std::span<const cogen::token> /*history*/, int most) override {
    ++asked;
    BOOST_TEST(most == 3);
    return {};
  }

  int asked = 0;
};

BOOST_AUTO_TEST_CASE(all_requests_have_the_servers_drafts_but_those_that_want_none) {
  stepped_server host(2);
  const auto drafter = std::make_shared<counting_drafter>();
  host.model->drafts = std::make_unique<server::draft_source>(drafter, 3);
  auto body = asked("The sea is", 4, false);
  host.step_until(*host.post(body), "}");
  BOOST_TEST(drafter->asked >= 3);
  const int previous = drafter->asked;
  body["speculative.n_max"] = 0;
  host.step_until(*host.post(body), "}");
  BOOST_TEST(drafter->asked == previous);
}

BOOST_AUTO_TEST_CASE(each_tenant_has_a_suffix_tree_of_its_own) {
  using server::drafter_kind;
  const stepped_server host(1);
  const auto source_of = [&](drafter_kind kind) {
    return server::draft_source({.kind = kind, .max_draft_tokens = 5}, {}, {}, *host.model->engine);
  };
  auto trees = source_of(drafter_kind::suffix_tree), lookup = source_of(drafter_kind::prompt_lookup);
  BOOST_TEST(trees.for_request({.tenant = 1}, {}).drafter == trees.for_request({.tenant = 1}, {}).drafter);
  BOOST_TEST(trees.for_request({.tenant = 1}, {}).drafter != trees.for_request({.tenant = 2}, {}).drafter);
  BOOST_TEST(trees.for_request({.tenant = 1, .cache_salt = "a"}, {}).drafter !=
             trees.for_request({.tenant = 1}, {}).drafter);
  BOOST_TEST(lookup.for_request({.tenant = 1}, {}).drafter == lookup.for_request({.tenant = 2}, {}).drafter);
  BOOST_TEST(lookup.for_request({.tenant = 1}, {}).max_draft_tokens == 5);
  BOOST_TEST(lookup.for_request({.tenant = 1}, 2).max_draft_tokens == 2);
  BOOST_TEST(!lookup.for_request({.tenant = 1}, 0).drafter);
}

BOOST_AUTO_TEST_SUITE_END()
