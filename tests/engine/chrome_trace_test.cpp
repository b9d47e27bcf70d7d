// The trace read back: valid JSON, slices that nest and end, counters that say what the steps do.
#include "recorder.hpp"
#include "toy_runner.hpp"

#include <cogen/metrics.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace cogen::test {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;

/// To a trace, and kept.
class both final : public event_sink {
 public:
  explicit both(std::ostream& out) : trace_(out) {}
  void on_step(const step_event& step) override { kept.on_step(step), trace_.on_step(step); }
  void on_sequence(const sequence_event& event) override { kept.on_sequence(event), trace_.on_sequence(event); }
  void on_end(const diagnostics& why, clock::time_point time) override {
    kept.on_end(why, time), trace_.on_end(why, time);
  }
  recorder kept;

 private:
  chrome_trace trace_;
};

/// Steps of 1.5 ms; requests that wait, are preempted, cancelled and refused; then the engine ends in the middle of
/// some.
void run_a_day(toy_engine& toy) {
  toy.control->on_step = [&](const scheduler::step&) { toy.time->advance(1500us); };
  net::io_context context;
  std::vector<token_stream> streams;
  for (int i = 0; i < 5; ++i)
    streams.push_back(toy.running.generate(
        {.prompt = token_ids(static_cast<std::size_t>(3 + 5 * i), 5), .max_tokens = 6 + i, .max_buffered_tokens = 3}));
  const auto refused = toy.running.generate({.prompt = token_ids{97}});
  auto wait = [&](token_stream& stream) {
    stream.async_complete(net::bind_executor(context, [](error_code, completion) {}));
  };
  wait(streams[1]), wait(streams[2]), wait(streams[4]);
  for (int i = 0; i < 12; ++i) toy.running.poll_one(), toy.time->advance(100us);
  streams.erase(streams.begin() + 3);
  toy.time->advance(20ms);
  toy.settle(context);
  wait(streams[0]);
  toy.settle(context);
  streams.push_back(toy.running.generate({.prompt = token_ids{1, 2, 3}, .max_tokens = 40, .max_buffered_tokens = 5}));
  for (int i = 0; i < 4; ++i) toy.running.poll_one();
  toy.running.stop();
}

struct traced {
  traced() {
    sink = std::make_shared<both>(out);
    toy_engine toy({.slots = 2, .idle_timeout = 10ms}, {.external_stepping = true, .events = sink});
    run_a_day(toy);
  }
  json::array events() const { return json::parse(out.str()).as_array(); }

  std::ostringstream out;
  std::shared_ptr<both> sink;
};

std::string_view phase_of(const json::object& event) { return event.at("ph").as_string(); }
std::string_view name_of(const json::object& event) { return event.at("name").as_string(); }
std::int64_t track_of(const json::object& event) { return event.at("tid").as_int64(); }

/// Nanoseconds.
std::int64_t time_of(const json::object& event, const char* which = "ts") {
  return std::llround(event.at(which).to_number<double>() * 1000);
}

std::int64_t nanoseconds(clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

BOOST_AUTO_TEST_SUITE(chrome_traces)

BOOST_AUTO_TEST_CASE(every_slice_lies_within_one_request_and_every_request_ends) {
  std::map<std::int64_t, std::optional<std::int64_t>> open;  // by track: when the request there began
  std::map<std::int64_t, std::int64_t> free_since;
  int requests = 0, prefills = 0;
  for (const auto& value : traced().events()) {
    const auto& event = value.as_object();
    if (phase_of(event) == "M" || phase_of(event) == "C" || track_of(event) == 0) continue;
    const auto track = track_of(event), time = time_of(event);
    auto& begun = open[track];
    if (phase_of(event) == "B") {
      BOOST_TEST(!begun);
      BOOST_TEST(name_of(event).starts_with("request "));
      BOOST_TEST(time >= free_since[track]);
      begun = time;
      ++requests;
      continue;
    }
    BOOST_REQUIRE(begun);
    BOOST_TEST(time >= *begun);
    if (phase_of(event) == "X") {
      BOOST_TEST(name_of(event) == "prefill");
      BOOST_TEST(time_of(event, "dur") == 1'500'000);
      ++prefills;
    }
    if (phase_of(event) != "E") continue;
    free_since[track] = time;
    begun.reset();
  }
  BOOST_TEST(open.size() == 2u);
  for (const auto& [track, begun] : open) BOOST_TEST(!begun);
  BOOST_TEST(requests > 6);  // one was preempted
  BOOST_TEST(prefills > 9);
}

BOOST_AUTO_TEST_CASE(a_slice_of_a_request_is_as_long_as_it_has_had_the_slot) {
  const traced run;
  std::map<std::uint64_t, std::int64_t> running, expected;
  for (const auto& each : run.sink->kept.events)
    if (each.type == sequence_event::kind::finished || each.type == sequence_event::kind::cancelled)
      if (each.request_metrics.scheduled)
        expected[each.id] = std::chrono::duration_cast<std::chrono::nanoseconds>(each.request_metrics.running).count();
  std::map<std::int64_t, std::pair<std::uint64_t, std::int64_t>> open;
  for (const auto& value : run.events()) {
    const auto& event = value.as_object();
    if (phase_of(event) == "B")
      open[track_of(event)] = {std::stoull(std::string(name_of(event).substr(8))), time_of(event)};
    if (phase_of(event) == "E") running[open[track_of(event)].first] += time_of(event) - open[track_of(event)].second;
  }
  BOOST_TEST(expected.size() == 6u);
  BOOST_CHECK(running == expected);
}

BOOST_AUTO_TEST_CASE(steps_and_counters_say_what_the_engine_did) {
  const traced run;
  const auto& steps = run.sink->kept.steps;
  std::map<std::string, std::map<std::int64_t, std::int64_t>, std::less<>> counters;
  std::vector<json::object> slices;
  for (const auto& value : run.events()) {
    const auto& event = value.as_object();
    if (phase_of(event) == "C")
      counters[std::string(name_of(event))][time_of(event)] = event.at("args").as_object().begin()->value().as_int64();
    if (phase_of(event) == "X" && track_of(event) == 0) slices.push_back(event);
  }
  const auto counted = [&](const char* name, std::int64_t time) {
    return std::prev(counters[name].upper_bound(time))->second;
  };
  BOOST_REQUIRE(slices.size() == steps.size());
  std::int64_t end = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& args = slices[i].at("args").as_object();
    const auto time = time_of(slices[i]);
    BOOST_TEST(time == nanoseconds(steps[i].begin));
    BOOST_TEST(time + time_of(slices[i], "dur") == nanoseconds(steps[i].end));
    BOOST_TEST(time >= end);
    BOOST_TEST(args.at("number").as_int64() == static_cast<std::int64_t>(steps[i].number));
    BOOST_TEST(args.at("rows").as_int64() == steps[i].rows);
    BOOST_TEST(args.at("tokens").as_int64() == steps[i].tokens);
    BOOST_TEST(counted("batch size", time) == steps[i].rows);
    BOOST_TEST(counted("slots in use", time) == steps[i].slots_in_use);
    BOOST_TEST(counted("waiting", time) == steps[i].waiting);
    BOOST_TEST(counted("preempted", time) == steps[i].preempted);
    BOOST_TEST(counted("cache", time) == steps[i].cache_bytes);
    const auto pause = i == 0 ? 0 : time - end;
    if (pause > 1'000'000) BOOST_TEST(counted("batch size", time - 1) == 0);
    end = nanoseconds(steps[i].end);
  }
  BOOST_TEST(counters["batch size"].rbegin()->second == 0);
}

BOOST_AUTO_TEST_CASE(what_a_dying_process_leaves_lacks_only_the_last_bracket) {
  std::ostringstream out;
  toy_engine toy({}, {.external_stepping = true, .events = std::make_shared<chrome_trace>(out)});
  toy.control->on_step = [&](const scheduler::step&) { toy.time->advance(40ms); };
  auto stream = toy.running.generate({.prompt = token_ids{1, 2}, .max_tokens = 30, .max_buffered_tokens = 30});
  std::size_t seen = 0;
  for (int i = 0; i < 12; ++i) {
    toy.running.poll_one();
    const auto events = json::parse(out.str() + (out.str().empty() ? "[]" : "]")).as_array();
    BOOST_TEST(events.size() >= seen);
    seen = events.size();
  }
  BOOST_TEST(seen > 10u);
  BOOST_TEST(out.str().find("]") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(texts_are_escaped_and_repaired) {
  std::ostringstream out;
  {
    chrome_trace trace(out);
    sequence_event refused{.type = sequence_event::kind::refused, .id = 7, .time = {}};
    refused.error = diagnostics(error::invalid_request, "a \"quote\", a \\, a\nline, \x01 and \xff\xc3");
    trace.on_sequence(refused);
  }
  const auto events = json::parse(out.str()).as_array();
  const auto& args = events.back().as_object().at("args").as_object();
  BOOST_TEST(std::string_view(args.at("error").as_string()) ==
             "a \"quote\", a \\, a\nline, \x01 and \xef\xbf\xbd\xef\xbf\xbd");
  BOOST_TEST(args.at("request").as_int64() == 7);
}

BOOST_AUTO_TEST_CASE(steps_that_overlap_are_shown_one_after_the_other) {
  std::ostringstream out;
  const auto time_at = [](int ms) { return clock::time_point(std::chrono::milliseconds(ms)); };
  {
    chrome_trace trace(out);
    trace.on_step({.number = 1, .begin = time_at(10), .end = time_at(20), .rows = 1});
    trace.on_step({.number = 2, .begin = time_at(12), .end = time_at(25), .rows = 1});
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;
  const auto events = json::parse(out.str()).as_array();
  for (const auto& value : events)
    if (const auto& event = value.as_object(); phase_of(event) == "X")
      steps.emplace_back(time_of(event), time_of(event, "dur"));
  BOOST_CHECK(
      (steps == std::vector<std::pair<std::int64_t, std::int64_t>>{{10'000'000, 10'000'000}, {20'000'000, 5'000'000}}));
}

BOOST_AUTO_TEST_CASE(a_file_is_written_whole_or_reported) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("cogen_trace_{}", ::getpid());
  std::filesystem::create_directory(folder);
  const auto file = folder / "trace.json";
  {
    toy_engine toy({.slots = 2, .idle_timeout = 10ms},
                   {.external_stepping = true, .events = std::make_shared<chrome_trace>(file)});
    run_a_day(toy);
  }
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  BOOST_TEST(json::parse(text.str()).as_array().size() > 50u);
  BOOST_CHECK_EXCEPTION(chrome_trace(folder / "nowhere" / "trace.json"), std::system_error, [](const auto& error) {
    return std::string_view(error.what()).find("nowhere") != std::string_view::npos;
  });
  std::filesystem::remove_all(folder);
}

BOOST_AUTO_TEST_CASE(a_stream_that_takes_no_more_is_given_up) {
  std::string logged;
  std::ostringstream out;
  toy_engine toy({}, {.external_stepping = true,
                      .log = [&](std::string_view line) { logged = line; },
                      .events = std::make_shared<chrome_trace>(out)});
  out.setstate(std::ios::badbit);
  auto stream = toy.running.generate({.prompt = token_ids{1, 2}, .max_tokens = 3});
  net::io_context context;
  toy.settle(context);
  BOOST_TEST(stream.ended());
  BOOST_CHECK(stream.finish() == finish_reason::length);
  BOOST_TEST(logged.find("the trace cannot be written") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
