// Sequences that are saved by one engine and opened by another.
#include "../repetitions.hpp"
#include "kept_engines.hpp"
#include "sampled_tokens.hpp"
#include "session_files.hpp"
#include "toy_runner.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <optional>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

/// Where what is cached stands when its sequence is saved, and what becomes of it where that is opened.
enum class place { scheduled, swapped_out, on_a_file, no_budget };

std::ostream& operator<<(std::ostream& out, place state) {
  constexpr const char* names[] = {"scheduled", "swapped out", "on a file", "no budget"};
  return out << names[static_cast<int>(state)];
}

engine_options options_for(const kept_engine& kept, place state) {
  auto options = kept.options();
  if (state == place::no_budget || state == place::on_a_file) options.swap.bytes = 0;
  if (state == place::on_a_file) options.swap.directory = std::filesystem::temp_directory_path();
  return options;
}

std::vector<token> prompt_of(const model& model) { return some_tokens(model, 20, 3); }

struct one_engine {
  const std::shared_ptr<const cogen::model> model = golden_model("llama_default");
  engine running{model, tiny_engine(*model)};
  const session_path file;
};

}  // namespace

BOOST_DATA_TEST_CASE(what_is_opened_goes_on_as_what_was_saved_does,
                     data::make(thin(kept_engines_everywhere(), 2)) *
                         data::make({place::scheduled, place::swapped_out, place::on_a_file, place::no_budget}),
                     each, at) {
  const auto model = each.model();
  const auto options = options_for(each, at);
  const session_path file;
  std::vector<token> expected, forked;
  {
    engine first(model, options);
    drive(first, [&]() -> net::awaitable<void> {
      auto seq = open(first, *model);
      co_await sampled(seq, prompt_of(*model));
      if (at != place::scheduled) co_await seq.async_suspend();
      co_await seq.async_save(file.path);
      auto child = seq.fork();
      expected = co_await sampled(seq);
      forked = co_await sampled(child);
    });
  }
  engine second(model, options);
  drive(second, [&]() -> net::awaitable<void> {
    auto seq = co_await second.async_load_session(file.path);
    BOOST_TEST(seq.tokens().size() == 25u);
    BOOST_TEST((second.stats().swap_bytes > 0) == (at != place::no_budget));
    auto child = seq.fork();
    const auto found = co_await sampled(seq);
    BOOST_TEST(found == expected, boost::test_tools::per_element());
    const auto steps = second.stats().tokens;
    BOOST_TEST(steps == (at == place::no_budget ? 24u + 5u : 5u));
    const auto of_child = co_await sampled(child);
    BOOST_TEST(of_child == forked, boost::test_tools::per_element());
  });
}

BOOST_FIXTURE_TEST_CASE(what_is_saved_stays_where_it_is_and_goes_on, one_engine) {
  drive(running, [&]() -> net::awaitable<void> {
    auto seq = running.open();
    const auto first = co_await sampled(seq, prompt_of(*model));
    co_await seq.async_save(file.path);
    co_await seq.async_save(file.path);
    BOOST_TEST(running.stats().scheduled == 1);
    BOOST_TEST(running.stats().swap_bytes == 0);
    co_await sampled(seq);
    BOOST_TEST(running.stats().tokens == 29u);
  });
}

BOOST_FIXTURE_TEST_CASE(an_opened_one_can_be_saved_again_before_it_goes_on, one_engine) {
  const session_path second;
  drive(running, [&]() -> net::awaitable<void> {
    auto seq = running.open();
    co_await sampled(seq, prompt_of(*model));
    co_await seq.async_save(file.path);
    auto opened = co_await running.async_load_session(file.path);
    co_await opened.async_save(second.path);
  });
  BOOST_TEST(file.bytes() == second.bytes());
}

BOOST_FIXTURE_TEST_CASE(one_that_was_cut_is_saved_as_it_is, one_engine) {
  std::vector<token> expected;
  drive(running, [&]() -> net::awaitable<void> {
    auto seq = running.open();
    co_await sampled(seq, prompt_of(*model));
    seq.truncate(21);
    co_await seq.async_save(file.path);
    expected = co_await sampled(seq);
    auto opened = co_await running.async_load_session(file.path);
    const auto found = co_await sampled(opened);
    BOOST_TEST(found == expected, boost::test_tools::per_element());
  });
}

BOOST_FIXTURE_TEST_CASE(an_empty_sequence_is_saved_and_opened, one_engine) {
  drive(running, [&]() -> net::awaitable<void> {
    auto seq = running.open();
    co_await seq.async_save(file.path);
    auto opened = co_await running.async_load_session(file.path);
    BOOST_TEST(opened.tokens().empty());
    const auto expected = co_await sampled(seq, prompt_of(*model));
    const auto found = co_await sampled(opened, prompt_of(*model));
    BOOST_TEST(found == expected, boost::test_tools::per_element());
  });
}

BOOST_AUTO_TEST_CASE(a_runner_without_snapshots_saves_tokens_alone) {
  toy_engine first, second;
  const session_path file;
  drive(first.running, [&]() -> net::awaitable<void> {
    auto seq = first.running.open();
    co_await seq.async_forward({1, 2, 3});
    co_await seq.async_save(file.path);
  });
  drive(second.running, [&]() -> net::awaitable<void> {
    auto seq = co_await second.running.async_load_session(file.path);
    const auto chosen = co_await seq.async_decode({}, sampling_params{.temperature = 0});
    BOOST_TEST(chosen.id == toy_next(std::vector<token>{1, 2, 3}));
  });
}

BOOST_AUTO_TEST_CASE(a_copy_that_is_lost_leaves_the_tokens_and_the_sequence) {
  const auto model = golden_model("llama_default");
  auto options = tiny_engine(*model);
  const auto transfer = std::make_shared<cache::manual_transfer>();
  options.swap.transfer = transfer;
  engine running(model, options);
  net::io_context context;
  const session_path file;
  auto seq = running.open();
  std::optional<error_code> saved;
  seq.async_forward(prompt_of(*model), logits_of::last, [](error_code, auto) {});
  settle(running, context);
  seq.async_save(file.path, [&](error_code code) { saved = code; });
  settle(running, context);
  BOOST_TEST(!saved);
  transfer->fail_one(std::make_exception_ptr(std::runtime_error("lost")));
  settle(running, context);
  BOOST_TEST((saved == error_code()));
  seq.async_forward({1}, logits_of::last, [](error_code, auto) {});
  settle(running, context);
  BOOST_TEST(running.stats().tokens == 21u);
  std::optional<std::vector<token>> opened;
  running.async_load_session(file.path, {}, [&](error_code code, sequence found) {
    BOOST_TEST(!code, code.message());
    opened = found.tokens();
  });
  settle(running, context);
  BOOST_TEST_REQUIRE(opened.has_value());
  BOOST_TEST(*opened == prompt_of(*model), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_has_changed_in_the_file_of_the_swapped_out_is_not_saved) {
  const auto model = golden_model("llama_default");
  engine running(model, options_for({"llama_default", "plain", [](engine_options&) {}}, place::on_a_file));
  const session_path file;
  drive(running, [&]() -> net::awaitable<void> {
    auto seq = running.open();
    const auto first = co_await sampled(seq, prompt_of(*model));
    co_await seq.async_suspend();
    const char other = 0x55;
    BOOST_TEST_REQUIRE(::pwrite(nameless_files().at(0), &other, 1, 17) == 1);
    const auto result = co_await seq.async_save(file.path, net::as_tuple(net::use_awaitable));
    BOOST_TEST(std::get<0>(result) == boost::system::errc::io_error);
    BOOST_TEST(seq.error().message() == "session " + file.path.string() +
                                            ": what the sequence has cached cannot be read: what was swapped out to a "
                                            "file has changed there");
    BOOST_TEST(!std::filesystem::exists(file.path));
  });
}

BOOST_AUTO_TEST_CASE(a_cancelled_save_writes_nothing_and_the_sequence_goes_on) {
  const auto model = golden_model("llama_default");
  auto options = tiny_engine(*model);
  const auto transfer = std::make_shared<cache::manual_transfer>();
  options.swap.transfer = transfer;
  engine running(model, options);
  net::io_context context;
  net::cancellation_signal cancel;
  const session_path file;
  auto seq = running.open();
  std::optional<error_code> saved, fed;
  seq.async_forward(prompt_of(*model), logits_of::last, [](error_code, auto) {});
  settle(running, context);
  seq.async_save(file.path, net::bind_cancellation_slot(cancel.slot(), [&](error_code code) { saved = code; }));
  settle(running, context);
  cancel.emit(net::cancellation_type::total);
  seq.async_forward({1}, logits_of::last, [&](error_code code, auto) { fed = code; });
  settle(running, context);
  BOOST_TEST((saved == error_code(net::error::operation_aborted)));
  BOOST_TEST(!fed);
  transfer->finish_one();
  settle(running, context);
  BOOST_TEST((fed == error_code()));
  BOOST_TEST(!std::filesystem::exists(file.path));
  seq.async_save(file.path, [&](error_code code) { saved = code; });
  settle(running, context);
  transfer->finish_one();
  settle(running, context);
  BOOST_TEST((saved == error_code()));
  BOOST_TEST(std::filesystem::exists(file.path));
}

BOOST_AUTO_TEST_CASE(saving_works_while_the_engine_drains_and_opening_does_not) {
  toy_engine toy;
  net::io_context context;
  const session_path file;
  auto seq = toy.running.open();
  std::optional<error_code> saved, opened;
  seq.async_forward({1, 2}, logits_of::last, [](error_code, auto) {});
  toy.settle(context);
  toy.running.async_drain([](error_code) {});
  seq.async_save(file.path, [&](error_code code) { saved = code; });
  toy.settle(context);
  BOOST_TEST((saved == error_code()));
  toy.running.async_load_session(file.path, {}, [&](error_code code, auto) { opened = code; });
  toy.settle(context);
  BOOST_TEST((opened == make_error_code(error::draining)));
}

BOOST_AUTO_TEST_CASE(opened_sequences_count_among_those_that_the_engine_holds) {
  toy_engine first;
  const session_path file;
  toy_engine full({}, {.limits = {.max_sequences = 1}, .external_stepping = true});
  drive(first.running, [&]() -> net::awaitable<void> {
    auto seq = first.running.open();
    co_await seq.async_forward({1, 2, 3});
    co_await seq.async_save(file.path);
  });
  drive(full.running, [&]() -> net::awaitable<void> {
    auto seq = co_await full.running.async_load_session(file.path);
    auto second = co_await full.running.async_load_session(file.path, {}, net::as_tuple(net::use_awaitable));
    BOOST_TEST(std::get<0>(second) == make_error_code(error::queue_full));
    BOOST_TEST(full.running.stats().sequences == 1);
  });
  BOOST_TEST(full.running.stats().sequences == 0);
}

BOOST_AUTO_TEST_CASE(engines_with_threads_save_and_open) {
  const auto model = golden_model("jamba_tiny");
  auto options = tiny_engine(*model);
  options.external_stepping = false;
  options.swap.bytes = 0;
  options.swap.directory = std::filesystem::temp_directory_path();
  const session_path file;
  engine running(model, options);
  net::io_context context;
  std::vector<token> expected, found;
  net::co_spawn(
      context,
      [&]() -> net::awaitable<void> {
        auto seq = running.open();
        co_await sampled(seq, prompt_of(*model));
        co_await seq.async_suspend();
        co_await seq.async_save(file.path);
        expected = co_await sampled(seq);
        auto opened = co_await running.async_load_session(file.path);
        found = co_await sampled(opened);
      },
      [](std::exception_ptr error) {
        if (error) std::rethrow_exception(error);
      });
  context.run();
  BOOST_TEST(found == expected, boost::test_tools::per_element());
  BOOST_TEST(found.size() == 5u);
}

BOOST_AUTO_TEST_CASE(the_end_of_the_engine_ends_opening_and_saving) {
  toy_engine toy;
  net::io_context context;
  const session_path file;
  auto seq = toy.running.open();
  std::optional<error_code> saved, opened;
  seq.async_save(file.path, net::bind_executor(context, [&](error_code code) { saved = code; }));
  toy.running.stop();
  context.run();
  BOOST_TEST((saved == make_error_code(error::engine_stopped)));
  context.restart();
  toy.running.async_load_session(file.path, {},
                                 net::bind_executor(context, [&](error_code code, auto) { opened = code; }));
  context.run();
  BOOST_TEST(bool(opened && *opened));
}

}  // namespace cogen::test
