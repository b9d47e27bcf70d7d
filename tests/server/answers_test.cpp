// What the server writes: errors, blocks, metrics; and small rules of its own.
#include "api/blocks.hpp"
#include "api/error.hpp"
#include "api/json_text.hpp"
#include "api/loosened_keywords.hpp"
#include "api_keys.hpp"
#include "http/router.hpp"
#include "metrics/exposition.hpp"
#include "metrics/meter.hpp"

#include <boost/asio/error.hpp>
#include <boost/json/parse.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace {

namespace api = server::api;

struct counted_blocks {
  int begun = 0, ended = 0, open = 0;
  std::string text;
};

counted_blocks count(const std::vector<api::block_change>& changes, counted_blocks so_far = {}) {
  for (const auto& change : changes) {
    const bool begins = change.type == api::block_change::kind::begin,
               ends = change.type == api::block_change::kind::end;
    so_far.begun += begins;
    so_far.ended += ends;
    so_far.open += begins - ends;
    so_far.text += change.added;
    BOOST_TEST(so_far.open <= 1);
  }
  return so_far;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(answers)

BOOST_AUTO_TEST_CASE(errors_are_written_for_their_clients) {
  const api::error why = api::invalid("top_p", "top_p is 2");
  const auto openai = boost::json::parse(api::body_of(why, api::dialect::openai)).at("error");
  BOOST_TEST(openai.at("param").as_string() == "top_p");
  BOOST_TEST(openai.at("type").as_string() == "invalid_request_error");
  BOOST_TEST(openai.at("code").is_null());
  const auto llama = boost::json::parse(api::body_of(why, api::dialect::llama)).at("error");
  BOOST_TEST(llama.at("code").as_int64() == 400);
  const auto anthropic = boost::json::parse(api::body_of(why, api::dialect::anthropic));
  BOOST_TEST(anthropic.at("type").as_string() == "error");
  BOOST_TEST(anthropic.at("error").at("message").as_string() == "top_p is 2");
}

BOOST_AUTO_TEST_CASE(a_connection_that_ends_is_no_failure_of_the_server) {
  namespace asio = boost::asio::error;
  const boost::system::error_code ends[] = {asio::connection_reset, asio::broken_pipe, asio::eof,
                                            asio::operation_aborted};
  for (const auto& code : ends) {
    BOOST_TEST(api::error_of(std::make_exception_ptr(boost::system::system_error(code))).status() == 499);
    BOOST_TEST(api::error_of(cogen::diagnostics(code, "why")).status() == 499);
  }
  const boost::system::error_code inner(ENOSPC, boost::system::system_category());
  BOOST_TEST(api::error_of(cogen::diagnostics(inner, "why")).status() == 500);
}

BOOST_AUTO_TEST_CASE(details_of_an_error_are_fields) {
  auto why = api::invalid("", "too long");
  why.details = {{"n_ctx", 8}};
  for (const auto clients : {api::dialect::openai, api::dialect::llama})
    BOOST_TEST(boost::json::parse(api::body_of(why, clients)).at("error").at("n_ctx") == 8);
}

BOOST_AUTO_TEST_CASE(numbers_are_written_without_exponents_and_read_back_as_they_are) {
  BOOST_TEST(
      api::json_text(boost::json::parse(R"({"a": [1, 0.5, 1e3, -2e-5, true, null, "e\"\u0007"], "b": {}, "c": []})")) ==
      R"({"a":[1,0.5,1000.0,-0.00002,true,null,"e\"\u0007"],"b":{},"c":[]})");
  for (const double number :
       {0.0, -0.0, 1.0, 0.1, -0.3, 1e-6, 123456.789, 1e15, 1e20, 3.0e-7, 1e21, 1.7e308, 5e-324, 1.0 / 3}) {
    const auto text = api::json_text(boost::json::value(number));
    BOOST_TEST(boost::json::parse(text).as_double() == number, text);
    const bool is_plain = number == 0 || (std::abs(number) >= 1e-6 && std::abs(number) < 1e21);
    BOOST_TEST((text.find('e') == std::string::npos) == is_plain, text);
  }
  BOOST_TEST(api::json_text(boost::json::value(std::uint64_t{18446744073709551615U})) == "18446744073709551615");
  BOOST_TEST(api::number_text(25) == "25");
  BOOST_TEST(api::json_text(boost::json::value(std::numeric_limits<double>::quiet_NaN())) == "null");
}

BOOST_AUTO_TEST_CASE(texts_that_are_embedded_are_counted) {
  server::metrics::meter meter(1, nullptr);
  meter.begin_texts(5);
  meter.end_texts(3, 20, std::chrono::milliseconds(5));
  const auto text = [&](server::metrics_names names) {
    return server::metrics::exposition(std::vector<server::metrics::snapshot>{{"m", {}, meter.now()}}, names);
  };
  const auto has = [&](server::metrics_names names, std::string_view line) {
    return text(names).find(std::string(line) + "\n") != std::string::npos;
  };
  using server::metrics_names;
  BOOST_TEST(has(metrics_names::cogen, "cogen:texts_total{model=\"m\"} 3"));
  BOOST_TEST(has(metrics_names::cogen, "cogen:text_tokens_total{model=\"m\"} 20"));
  BOOST_TEST(has(metrics_names::cogen, "cogen:texts_running{model=\"m\"} 2"));
  BOOST_TEST(has(metrics_names::cogen, "cogen:request_seconds_sum{model=\"m\"} 0.005"));
  BOOST_TEST(has(metrics_names::vllm, "vllm:prompt_tokens_total{model_name=\"m\"} 20"));
  BOOST_TEST(has(metrics_names::vllm, "vllm:request_success_total{finished_reason=\"stop\",model_name=\"m\"} 3"));
  BOOST_TEST(has(metrics_names::vllm, "vllm:num_requests_running{model_name=\"m\"} 2"));
  BOOST_TEST(has(metrics_names::llamacpp, "llamacpp:prompt_tokens_total 20"));
  meter.fail_texts(2);
  BOOST_TEST(meter.now().running_texts == 0U);
  BOOST_TEST(meter.now().texts == 3U);
}

BOOST_AUTO_TEST_CASE(sequences_run_in_places_whatever_their_slots) {
  using kind = cogen::sequence_event::kind;
  server::metrics::meter meter(2, nullptr);
  const auto happens = [&](kind event, std::uint64_t id, int slot) {
    meter.on_sequence({.type = event, .id = id, .time = {}, .slot = slot});
  };
  const auto running = [&] {
    std::vector<std::uint64_t> ids;
    for (const auto& place : meter.now().slots) ids.push_back(place.busy ? place.sequence : 0);
    return ids;
  };
  happens(kind::scheduled, 1, 0);
  happens(kind::scheduled, 2, 7);
  BOOST_TEST(running() == (std::vector<std::uint64_t>{1, 2}), boost::test_tools::per_element());
  happens(kind::resumed, 2, 6);
  BOOST_TEST(running() == (std::vector<std::uint64_t>{1, 2}), boost::test_tools::per_element());
  happens(kind::preempted, 1, 0);
  happens(kind::scheduled, 3, 0);
  happens(kind::finished, 2, 7);
  BOOST_TEST(running() == (std::vector<std::uint64_t>{3, 0}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(failures_have_their_status) {
  const auto status = [](cogen::error code) { return api::error_of(cogen::diagnostics(code, "why")).status(); };
  BOOST_TEST(status(cogen::error::invalid_request) == 400);
  BOOST_TEST(status(cogen::error::does_not_fit) == 400);
  BOOST_TEST(status(cogen::error::queue_full) == 429);
  BOOST_TEST(status(cogen::error::draining) == 503);
  BOOST_TEST(status(cogen::error::deadline_exceeded) == 504);
  BOOST_TEST(status(cogen::error::bad_logits) == 500);
  const auto inner = api::error_of(std::make_exception_ptr(std::out_of_range("_Map_base::at")));
  BOOST_TEST(inner.status() == 500);
  BOOST_TEST(std::string_view(inner.what()).find("_Map_base") == std::string_view::npos);
  const auto full = api::response_of(api::error_of(cogen::diagnostics(cogen::error::queue_full)), api::dialect::openai);
  BOOST_TEST(full.headers.at(0).first == "Retry-After");
}

BOOST_AUTO_TEST_CASE(one_block_is_open_at_a_time) {
  api::block_splitter blocks;
  cogen::piece thought{.text = "", .tokens = {}, .reasoning = "hm"}, text{.text = "so", .tokens = {}};
  cogen::piece calls{.text = "",
                     .tokens = {},
                     .reasoning = {},
                     .tool_calls = {{.index = 0, .id = "a", .name = "f"},
                                    {.index = 0, .arguments = "{}"},
                                    {.index = 1, .name = "g", .arguments = "{}"}}};
  counted_blocks total;
  for (const auto& piece : {thought, thought, text, calls}) total = count(blocks.split(piece), total);
  total = count(blocks.end(), total);
  BOOST_TEST(total.begun == 4);
  BOOST_TEST(total.ended == 4);
  BOOST_TEST(total.text == "hmhmso{}{}");
  BOOST_TEST(blocks.blocks().at(3).name == "g");
  BOOST_TEST(blocks.blocks().at(2).id == "a");
}

BOOST_AUTO_TEST_CASE(a_header_names_what_schemas_do_not_keep) {
  using keywords = std::vector<cogen::loosened_keyword>;
  BOOST_TEST(api::header_of(keywords{{"$ref", "f#/properties/a"}, {"contains", "f#/properties/\xC3\xA9, %\n"}}) ==
             "$ref f#/properties/a, contains f#/properties/%C3%A9%2C%20%25%0A");
  const auto header = api::header_of(keywords(64, {"x", std::string(1000, 'y')}));
  BOOST_TEST(header.ends_with(", and 44 more"));
  BOOST_TEST(header.size() < 5000U);
  BOOST_TEST(api::texts_of(keywords{{"a", "\xFF"}}).at(0).as_string() == "a ?");
}

BOOST_AUTO_TEST_CASE(routes_match_whole_paths) {
  using server::http::matched;
  BOOST_TEST(matched("/slots/{id}", "/slots/3")->at(0).second == "3");
  BOOST_TEST(!matched("/slots/{id}", "/slots/"));
  BOOST_TEST(!matched("/slots/{id}", "/slots/3/x"));
  BOOST_TEST(matched("/m/{id...}", "/m/a/b")->at(0).second == "a/b");
  BOOST_TEST(!matched("/health", "/healthy"));
  BOOST_TEST(matched("/health", "/health")->empty());
}

BOOST_AUTO_TEST_CASE(keys_are_tenants) {
  std::vector<std::string> keys{"first", "second"};
  const auto tenant = [&](std::string name, std::string value) {
    server::http::request request;
    request.headers = {{std::move(name), std::move(value)}};
    return server::tenant_of(request, keys);
  };
  const auto first = tenant("x-api-key", "first"), second = tenant("authorization", "Bearer second");
  BOOST_TEST(first != 0U);
  BOOST_TEST(first != second);
  BOOST_TEST(tenant("authorization", "bearer first") == first);
  BOOST_TEST(server::key_of(second, keys) == "second");
  for (const auto* value : {"Bearer secon", "Bearer second ", "second", "Bearer", ""})
    BOOST_CHECK_THROW(tenant("authorization", value), api::error);
  BOOST_TEST(server::tenant_of({}, {}) == 0U);
  keys = {"another", "second", "first"};  // what the server has stored of them is still their own
  BOOST_TEST(tenant("x-api-key", "first") == first);
  BOOST_TEST(tenant("x-api-key", "second") == second);
}

BOOST_AUTO_TEST_CASE(histograms_add_up) {
  server::metrics::snapshot state{.model = "a\"b", .stats = {}, .counted = {}, .slots = 2, .cache_capacity = 100};
  state.stats.scheduled = 2;
  state.stats.cache_bytes = 50;
  state.counted.first_token.add(0.001);
  state.counted.first_token.add(0.003);
  state.counted.first_token.add(1000);
  const auto text = server::metrics::exposition(std::vector{state}, server::metrics_names::vllm);
  const auto has = [&](std::string_view line) { return text.find(line) != std::string::npos; };
  BOOST_TEST(has("vllm:num_requests_running{model_name=\"a\\\"b\"} 2\n"));
  BOOST_TEST(has("vllm:kv_cache_usage_perc{model_name=\"a\\\"b\"} 0.5\n"));
  BOOST_TEST(has("vllm:time_to_first_token_seconds_bucket{le=\"0.001\",model_name=\"a\\\"b\"} 1\n"));
  BOOST_TEST(has("vllm:time_to_first_token_seconds_bucket{le=\"0.005\",model_name=\"a\\\"b\"} 2\n"));
  BOOST_TEST(has("vllm:time_to_first_token_seconds_bucket{le=\"+Inf\",model_name=\"a\\\"b\"} 3\n"));
  BOOST_TEST(has("vllm:time_to_first_token_seconds_count{model_name=\"a\\\"b\"} 3\n"));
  const auto llama = server::metrics::exposition(std::vector{state}, server::metrics_names::llamacpp);
  BOOST_TEST(llama.find("llamacpp:requests_processing 2\n") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
