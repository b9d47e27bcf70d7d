// Sequences that are written to a stream by one engine and opened from it by another.
#include "kept_engines.hpp"
#include "sampled_tokens.hpp"
#include "session_files.hpp"
#include "session_streams.hpp"
#include "toy_runner.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <chrono>
#include <optional>
#include <thread>
#include <tuple>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

using local = net::local::stream_protocol;

/// Two engines, and a sequence of the first one.
struct two_engines {
  two_engines() {
    drive(first, [&]() -> net::awaitable<void> {
      co_await seq.async_forward(some_tokens(*model, 20, 3));
      memory_stream sink(co_await net::this_coro::executor);
      co_await seq.async_save(sink);
      whole = sink.bytes;
    });
  }

  /// That the sequence has not changed, and nothing is left in the second engine.
  void check_nothing_changed() {
    drive(first, [&]() -> net::awaitable<void> {
      memory_stream sink(co_await net::this_coro::executor);
      co_await seq.async_save(sink);
      BOOST_TEST((sink.bytes == whole));
    });
    BOOST_TEST(second.stats().sequences == 0);
    BOOST_TEST(second.stats().swap_bytes == 0);
  }

  const std::shared_ptr<const cogen::model> model = golden_model("llama_default");
  engine first{model, tiny_engine(*model)}, second{model, tiny_engine(*model)};
  sequence seq = first.open();
  std::string whole;
};

/// A sink that counts what it is given at a time.
struct counting_sink final : byte_sink {
  explicit counting_sink(net::any_io_executor io_executor) : executor(std::move(io_executor)) {}
  net::any_io_executor get_executor() override { return executor; }
  net::awaitable<void> write(std::span<const std::byte> bytes) override {
    most = std::max(most, bytes.size());
    sum += bytes.size();
    co_return;
  }

  net::any_io_executor executor;
  std::size_t most = 0, sum = 0;
};

}  // namespace

BOOST_DATA_TEST_CASE(what_is_opened_from_a_stream_goes_on_as_what_was_saved_does,
                     data::make(kept_engines_everywhere()) * data::make({false, true}), each, suspended) {
  const auto model = each.model();
  const session_path file;
  std::string bytes;
  std::vector<token> expected;
  {
    engine first(model, each.options());
    drive(first, [&]() -> net::awaitable<void> {
      auto seq = open(first, *model);
      co_await sampled(seq, some_tokens(*model, 20, 3));
      if (suspended) co_await seq.async_suspend();
      memory_stream sink(co_await net::this_coro::executor);
      sink.at_once = 700;
      co_await seq.async_save(sink);
      bytes = sink.bytes;
      co_await seq.async_save(file.path);
      expected = co_await sampled(seq);
    });
  }
  BOOST_TEST((bytes == file.bytes()));
  engine second(model, each.options());
  drive(second, [&]() -> net::awaitable<void> {
    memory_stream source(co_await net::this_coro::executor, bytes);
    source.at_once = 500;
    auto seq = co_await second.async_load_session(source);
    const auto found = co_await sampled(seq);
    BOOST_TEST(found == expected, boost::test_tools::per_element());
    BOOST_TEST(second.stats().tokens == 5u);
  });
}

BOOST_FIXTURE_TEST_CASE(a_stream_may_go_on_after_a_session, two_engines) {
  drive(second, [&]() -> net::awaitable<void> {
    memory_stream source(co_await net::this_coro::executor, whole + whole + "rest");
    const auto restored = co_await second.async_load_session(source);
    const auto other = co_await second.async_load_session(source);
    BOOST_TEST((restored.tokens() == other.tokens()));
    BOOST_TEST(source.bytes == "rest");
  });
}

BOOST_FIXTURE_TEST_CASE(a_stream_that_fails_at_any_byte_leaves_everything_as_it_was, two_engines) {
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += bytes < 300 ? 37 : whole.size() / 20) {
    drive(first, [&]() -> net::awaitable<void> {
      memory_stream sink(co_await net::this_coro::executor);
      sink.fails_after = bytes;
      const auto [code] = co_await seq.async_save(sink, net::as_tuple(net::deferred));
      BOOST_TEST((code == net::error::connection_reset));
      BOOST_TEST((seq.error().code() == code));
      BOOST_TEST(whole.starts_with(sink.bytes));
    });
    drive(second, [&]() -> net::awaitable<void> {
      memory_stream source(co_await net::this_coro::executor, whole);
      source.fails_after = bytes;
      auto result = co_await second.async_load_session(source, {}, net::as_tuple(net::use_awaitable));
      BOOST_TEST((std::get<0>(result) == net::error::connection_reset));
      BOOST_TEST((std::get<1>(result).error().code() == net::error::connection_reset));
    });
  }
  check_nothing_changed();
}

BOOST_FIXTURE_TEST_CASE(a_cancelled_operation_ends_with_that_of_the_stream, two_engines) {
  const auto part = whole.size() / 6;
  for (std::size_t operations = 0; operations < 7; ++operations) {
    net::io_context context;
    net::cancellation_signal cancel;
    std::optional<error_code> saved, opened;
    memory_stream sink(context.get_executor()), source(context.get_executor(), whole);
    sink.at_once = source.at_once = part;
    sink.stalls_after = source.stalls_after = operations;
    seq.async_save(sink, net::bind_cancellation_slot(cancel.slot(), [&](error_code code) { saved = code; }));
    settle(first, context);
    BOOST_TEST((!saved && sink.stalled));
    cancel.emit(net::cancellation_type::total);
    settle(first, context);
    BOOST_TEST((saved == error_code(net::error::operation_aborted)));
    second.async_load_session(
        source, {}, net::bind_cancellation_slot(cancel.slot(), [&](error_code code, auto) { opened = code; }));
    settle(second, context);
    BOOST_TEST((!opened && source.stalled));
    BOOST_TEST(second.stats().sequences == 1);
    cancel.emit(net::cancellation_type::total);
    settle(second, context);
    BOOST_TEST((opened == error_code(net::error::operation_aborted)));
    BOOST_TEST((!sink.stalled && !source.stalled));
  }
  check_nothing_changed();
}

BOOST_FIXTURE_TEST_CASE(an_operation_that_is_cancelled_at_once_does_not_use_the_stream, two_engines) {
  net::io_context context;
  net::cancellation_signal cancel;
  memory_stream sink(context.get_executor()), source(context.get_executor(), whole);
  std::optional<error_code> saved, opened;
  seq.async_save(sink, net::bind_cancellation_slot(cancel.slot(), [&](error_code code) { saved = code; }));
  cancel.emit(net::cancellation_type::total);
  settle(first, context);
  second.async_load_session(source, {},
                            net::bind_cancellation_slot(cancel.slot(), [&](error_code code, auto) { opened = code; }));
  cancel.emit(net::cancellation_type::total);
  settle(second, context);
  BOOST_TEST((saved == error_code(net::error::operation_aborted)));
  BOOST_TEST((opened == error_code(net::error::operation_aborted)));
  BOOST_TEST(sink.operations + source.operations == 0u);
  check_nothing_changed();
}

BOOST_FIXTURE_TEST_CASE(a_slow_peer_keeps_nobody_waiting, two_engines) {
  net::io_context context;
  net::cancellation_signal cancel;
  memory_stream sink(context.get_executor());
  sink.at_once = 1000;
  sink.stalls_after = 3;
  std::optional<error_code> saved, fed;
  seq.async_save(sink, net::bind_cancellation_slot(cancel.slot(), [&](error_code code) { saved = code; }));
  settle(first, context);
  auto other = first.open();
  other.async_forward({1, 2}, logits_of::last, [&](error_code code, auto) { fed = code; });
  settle(first, context);
  BOOST_TEST((fed == error_code()));
  fed.reset();
  seq.async_forward({1}, logits_of::last, [&](error_code code, auto) { fed = code; });
  settle(first, context);
  BOOST_TEST((fed == error_code()));
  BOOST_TEST(!saved);
  BOOST_TEST((whole.starts_with(sink.bytes) && sink.operations == 4u));
  cancel.emit(net::cancellation_type::terminal);
  settle(first, context);
  BOOST_TEST((saved == error_code(net::error::operation_aborted)));
}

BOOST_AUTO_TEST_CASE(a_session_is_written_in_pieces) {
  const auto model = golden_model("llama_default");
  auto options = tiny_engine(*model);
  engine running(model, options);
  drive(running, [&]() -> net::awaitable<void> {
    auto seq = running.open();
    co_await seq.async_forward(some_tokens(*model, *options.limits.max_sequence_length - 1, 3));
    counting_sink sink(co_await net::this_coro::executor);
    memory_stream whole(sink.executor);
    co_await seq.async_save(sink);
    co_await seq.async_save(whole);
    BOOST_TEST(sink.sum == whole.bytes.size());
    BOOST_TEST(sink.most <= std::size_t{1} << 20);
  });
}

BOOST_FIXTURE_TEST_CASE(the_end_of_an_engine_ends_opening_and_lets_saving_go_on, two_engines) {
  net::io_context context;
  memory_stream sink(context.get_executor()), source(context.get_executor(), whole);
  sink.at_once = source.at_once = 1000;
  std::optional<error_code> saved, opened;
  seq.async_save(sink, [&](error_code code) { saved = code; });
  second.async_load_session(source, {}, [&](error_code code, auto) { opened = code; });
  for (int i = 0; i < 20; ++i) {
    first.poll_one();
    context.poll_one();
  }
  BOOST_TEST((sink.operations > 0 && source.operations > 0));
  first.stop();
  second.stop();
  context.run();
  BOOST_TEST((saved == error_code()));
  BOOST_TEST((sink.bytes == whole));
  BOOST_TEST((opened == make_error_code(error::engine_stopped)));
  BOOST_TEST(!source.bytes.empty());
  context.restart();
  saved.reset();
  seq.async_save(sink, [&](error_code code) { saved = code; });
  context.run();
  BOOST_TEST((saved == make_error_code(error::engine_stopped)));
}

BOOST_FIXTURE_TEST_CASE(an_engine_that_drains_or_is_full_reads_nothing, two_engines) {
  auto options = tiny_engine(*model);
  options.limits.max_sequences = 1;
  engine full(model, options);
  net::io_context context;
  memory_stream source(context.get_executor(), whole + whole);
  std::optional<sequence> held;
  std::optional<error_code> opened;
  full.async_load_session(source, {}, [&](error_code, sequence restored) { held.emplace(std::move(restored)); });
  settle(full, context);
  BOOST_TEST_REQUIRE(held.has_value());
  full.async_load_session(source, {}, [&](error_code code, auto) { opened = code; });
  settle(full, context);
  BOOST_TEST((opened == make_error_code(error::queue_full)));
  second.async_drain([](error_code) {});
  second.async_load_session(source, {}, [&](error_code code, auto) { opened = code; });
  settle(second, context);
  BOOST_TEST((opened == make_error_code(error::draining)));
  BOOST_TEST((source.bytes == whole));
}

BOOST_FIXTURE_TEST_CASE(draining_waits_for_a_session_that_comes, two_engines) {
  net::io_context context;
  memory_stream source(context.get_executor(), whole);
  source.at_once = 1000;
  std::optional<error_code> opened, drained;
  second.async_load_session(source, {}, [&](error_code code, auto) { opened = code; });
  second.async_drain([&](error_code code) { drained = code; });
  second.poll_one();
  BOOST_TEST(!drained);
  settle(second, context);
  BOOST_TEST((opened == error_code()));
  BOOST_TEST((drained == error_code()));
}

BOOST_AUTO_TEST_CASE(what_has_changed_in_the_file_of_the_swapped_out_is_no_session) {
  const auto model = golden_model("llama_default");
  auto options = tiny_engine(*model);
  options.swap.bytes = 0;
  options.swap.directory = std::filesystem::temp_directory_path();
  engine running(model, options);
  drive(running, [&]() -> net::awaitable<void> {
    auto seq = running.open();
    co_await seq.async_forward(some_tokens(*model, 20, 3));
    co_await seq.async_suspend();
    const char other = 0x55;
    BOOST_TEST_REQUIRE(::pwrite(nameless_files().at(0), &other, 1, 17) == 1);
    memory_stream sink(co_await net::this_coro::executor);
    try {
      co_await seq.async_save(sink);
      BOOST_ERROR("it was saved");
    } catch (const generation_error& e) {
      BOOST_TEST(e.code() == boost::system::errc::io_error);
      BOOST_TEST(e.what() == seq.error().message());
      BOOST_TEST(seq.error().message() ==
                 "the session: what the sequence has cached cannot be read: what was swapped out to a file has changed "
                 "there");
    }
    memory_stream source(sink.get_executor(), sink.bytes);
    const auto result = co_await running.async_load_session(source, {}, net::as_tuple(net::use_awaitable));
    BOOST_TEST(std::get<0>(result) == make_error_code(error::bad_session));
  });
}

BOOST_FIXTURE_TEST_CASE(a_context_that_ends_takes_its_operations_along, two_engines) {
  for (const std::size_t operations : {std::size_t{0}, std::size_t{2}, everything}) {
    bool called = false;
    {
      net::io_context context;
      memory_stream sink(context.get_executor()), source(context.get_executor(), whole);
      sink.at_once = source.at_once = 1000;
      sink.stalls_after = source.stalls_after = operations;
      seq.async_save(sink, [&](error_code) { called = true; });
      second.async_load_session(source, {}, [&](error_code, auto) { called = true; });
      for (int i = 0; i < 12; ++i) {
        first.poll_one();
        second.poll_one();
        context.poll_one();
      }
    }
    net::io_context other;
    settle(first, other);
    settle(second, other);
    BOOST_TEST(!called);
  }
  check_nothing_changed();
}

BOOST_AUTO_TEST_CASE(a_session_goes_through_a_socket_between_engines_with_threads) {
  const auto model = golden_model("jamba_tiny");
  auto options = tiny_engine(*model);
  options.external_stepping = false;
  engine first(model, options), second(model, options);
  net::io_context context;
  local::socket out(context), in(context);
  net::local::connect_pair(out, in);
  std::vector<token> expected, found;
  auto seq = first.open();
  const auto rethrow = [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  };
  net::co_spawn(
      context,
      [&]() -> net::awaitable<void> {
        co_await sampled(seq, some_tokens(*model, 20, 3));
        co_await seq.async_save(out);
        out.close();
        expected = co_await sampled(seq);
      },
      rethrow);
  net::co_spawn(
      context,
      [&]() -> net::awaitable<void> {
        auto opened = co_await second.async_load_session(in);
        found = co_await sampled(opened);
      },
      rethrow);
  context.run();
  BOOST_TEST(found == expected, boost::test_tools::per_element());
  BOOST_TEST(found.size() == 5u);
}

BOOST_AUTO_TEST_CASE(operations_are_cancelled_whatever_the_threads_do) {
  const auto model = golden_model("llama_default");
  auto options = tiny_engine(*model);
  options.external_stepping = false;
  engine running(model, options);
  auto seq = running.open();
  for (int i = 0; i < 100; ++i) {
    net::io_context context;
    net::cancellation_signal cancel_saving, cancel_opening;
    local::socket out(context), in(context);
    net::local::connect_pair(out, in);
    int ended = 0;
    bool cancelled = false;
    net::steady_timer late(context, std::chrono::microseconds(i * 20));
    late.async_wait([&](error_code) {
      cancel_saving.emit(net::cancellation_type::terminal);
      cancel_opening.emit(net::cancellation_type::terminal);
      cancelled = true;
    });
    seq.async_forward({1, 2, 3}, logits_of::last, net::bind_executor(context, [&](error_code, auto) {
                        seq.async_save(out, net::bind_cancellation_slot(cancel_saving.slot(), [&](error_code code) {
                                         BOOST_TEST((!code || (cancelled && code == net::error::operation_aborted)));
                                         ++ended;
                                         out.close();
                                       }));
                      }));
    running.async_load_session(in, {},
                               net::bind_cancellation_slot(cancel_opening.slot(), [&](error_code, auto) { ++ended; }));
    context.run();
    BOOST_TEST(ended == 2);
    seq.truncate(0);
  }
  while (running.stats().sequences > 1) std::this_thread::yield();  // the last one opened ends on the engine's thread
}

BOOST_AUTO_TEST_CASE(a_socket_that_closes_in_the_middle_is_no_session) {
  two_engines engines;
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{60}, engines.whole.size() - 1})
    drive(engines.second, [&]() -> net::awaitable<void> {
      memory_stream source(co_await net::this_coro::executor, engines.whole.substr(0, size));
      auto result = co_await engines.second.async_load_session(source, {}, net::as_tuple(net::use_awaitable));
      BOOST_TEST(std::get<0>(result) == make_error_code(error::bad_session));
      BOOST_TEST(std::get<1>(result).error().message() ==
                 (size < 8 ? "the session: it is not a session of cogen"
                           : "the session: it is cut short: it ends after " + std::to_string(size) + " bytes"));
    });
  engines.check_nothing_changed();
}

}  // namespace cogen::test
