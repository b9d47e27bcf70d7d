// Sequences that leave their slots because their owners say so.
#include "kept_engines.hpp"
#include "recorder.hpp"
#include "toy_runner.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <optional>
#include <stdexcept>
#include <tuple>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

engine_options one_slot(const kept_engine& base, bool kept) {
  auto options = base.options();
  options.batching.slots = 1;
  if (!kept) options.swap.bytes = 0;
  return options;
}

/// Five tokens of an answer to ten, with a preemption before each.
net::awaitable<void> answer_by_parts(engine& running, const model& model, std::vector<token>& answer) {
  auto asked = some_tokens(model, 10, 7);
  auto seq = open(running, model);
  co_await seq.async_suspend();
  for (int i = 0; i < 5; ++i) {
    const auto next = co_await seq.async_decode(asked);
    answer.push_back(next.id);
    asked.clear();
    co_await seq.async_suspend();
    BOOST_TEST(running.stats().scheduled == 0);
    BOOST_TEST(running.stats().free_slots == 1);
  }
}

/// One sequence of ten tokens on an engine whose transfers end on request.
struct suspended_by_caller {
  suspended_by_caller() {
    options.batching.slots = 1;
    options.swap.transfer = transfer;
    options.events = sink;
    running.emplace(model, options);
    seq.emplace(running->open());
    feed(some_tokens(*model, 10, 1));
  }

  void feed(const std::vector<token>& tokens) {
    seq->async_forward(tokens, logits_of::last, [this](error_code code, const logits&) { fed = code; });
    go();
  }
  void suspend() {
    seq->async_suspend(net::bind_cancellation_slot(cancel.slot(), [this](error_code code) { preempted = code; }));
    go();
  }
  void finish() {
    transfer->finish_one();
    go();
  }
  void go() { settle(*running, context); }

  std::shared_ptr<const cogen::model> model = golden_model("llama_default");
  std::shared_ptr<cache::manual_transfer> transfer = std::make_shared<cache::manual_transfer>();
  std::shared_ptr<recorder> sink = std::make_shared<recorder>();
  engine_options options = tiny_engine(*model);
  net::io_context context;
  net::cancellation_signal cancel;
  std::optional<engine> running;
  std::optional<sequence> seq;
  std::optional<error_code> fed, preempted;
};

const error_code well;

}  // namespace

BOOST_DATA_TEST_CASE(one_that_preempts_after_every_token_goes_on_to_the_same_bits,
                     data::make(kept_engines_everywhere()) * data::make({true, false}), each, kept) {
  const auto model = golden_model(each.golden);
  const auto options = one_slot(each, kept);
  engine running(each.model(), options);
  std::vector<token> answer;
  drive(running, [&] { return answer_by_parts(running, *model, answer); });
  BOOST_TEST(answer == loop_by_hand(*model, options, some_tokens(*model, 10, 7), 5), boost::test_tools::per_element());
  const auto stats = running.stats();
  BOOST_TEST(stats.preempted == 5u);
  BOOST_TEST(stats.swapped_out == (kept ? 5u : 0u));
  if (kept) BOOST_TEST(stats.tokens == 14u);
}

BOOST_AUTO_TEST_CASE(preemption_completes_when_what_was_cached_is_away) {
  suspended_by_caller p;
  p.suspend();
  BOOST_TEST(!p.preempted);
  BOOST_TEST(p.running->stats().scheduled == 0);
  BOOST_TEST(p.transfer->waiting() == 1u);
  p.finish();
  BOOST_REQUIRE(p.preempted);
  BOOST_TEST(*p.preempted == well);
  BOOST_TEST(p.running->stats().free_slots == 1);
}

BOOST_AUTO_TEST_CASE(preemption_what_is_preempted_completes_at_once) {
  suspended_by_caller p;
  p.suspend();
  p.finish();
  p.preempted.reset();
  p.suspend();
  BOOST_TEST((p.preempted == well));
  BOOST_TEST(p.running->stats().preempted == 1u);
}

BOOST_AUTO_TEST_CASE(a_transfer_that_fails_ends_the_wait_and_the_tokens_are_run_again) {
  suspended_by_caller p;
  p.suspend();
  p.transfer->fail_one(std::make_exception_ptr(std::runtime_error("lost")));
  p.go();
  BOOST_TEST((p.preempted == well));
  p.fed.reset();
  p.feed({1});
  BOOST_TEST((p.fed == well));
  BOOST_TEST(p.running->stats().tokens == 10u + 11u);
}

BOOST_AUTO_TEST_CASE(a_cancelled_wait_preempts_all_the_same_and_the_next_operation_restores) {
  suspended_by_caller p;
  p.suspend();
  p.cancel.emit(net::cancellation_type::partial);
  p.go();
  BOOST_TEST((p.preempted == error_code(net::error::operation_aborted)));
  p.fed.reset();
  p.feed({1});
  p.finish();
  BOOST_TEST(!p.fed);
  p.finish();
  BOOST_TEST((p.fed == well));
  BOOST_TEST(p.running->stats().tokens == 11u);
  BOOST_TEST(p.seq->tokens().size() == 11u);
}

BOOST_AUTO_TEST_CASE(one_that_is_on_its_way_back_preempts_when_it_is_there) {
  suspended_by_caller p;
  p.suspend();
  p.finish();
  p.seq->async_forward({1}, logits_of::last, net::bind_cancellation_slot(p.cancel.slot(), [](error_code, auto) {}));
  p.go();
  p.cancel.emit(net::cancellation_type::partial);
  p.go();
  p.preempted.reset();
  p.suspend();
  BOOST_TEST(p.running->stats().scheduled == 1);
  p.finish();
  BOOST_TEST(!p.preempted);
  p.finish();
  BOOST_TEST((p.preempted == well));
  BOOST_TEST(p.running->stats().scheduled == 0);
}

BOOST_AUTO_TEST_CASE(a_sink_gets_swap_outs_and_swap_ins) {
  suspended_by_caller p;
  p.suspend();
  p.finish();
  p.fed.reset();
  p.feed({1});
  p.finish();
  p.suspend();
  p.transfer->fail_one(std::make_exception_ptr(std::runtime_error("lost")));
  p.go();
  std::vector<std::string> moves;
  for (std::size_t i = 0; i < p.sink->events.size(); ++i) {
    const auto& event = p.sink->events[i];
    using kind = sequence_event::kind;
    const bool moved = event.type == kind::preempted || event.type == kind::resumed || event.tokens > 0;
    if (moved && event.type != kind::accepted && event.type != kind::prefilled)
      moves.push_back(std::string(to_string(event.type)) + " " + std::to_string(event.tokens) + event.error.message());
  }
  const std::vector<std::string> expected{"preempted 0", "swapping_out 10", "swapped_out 10",
                                          "resumed 0",   "swapping_in 10",  "swapped_in 10",
                                          "preempted 0", "swapping_out 11", "swapped_out 11lost"};
  BOOST_TEST(moves == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(one_operation_at_a_time) {
  suspended_by_caller p;
  p.suspend();
  p.feed({1});
  BOOST_TEST((p.fed == make_error_code(error::operation_in_progress)));
  BOOST_CHECK_THROW(std::ignore = p.seq->fork(), boost::system::system_error);
  BOOST_CHECK_THROW(p.seq->truncate(3), boost::system::system_error);
  error_code second;
  p.seq->async_suspend([&](error_code code) { second = code; });
  p.go();
  BOOST_TEST(second == make_error_code(error::operation_in_progress));
  p.finish();
  BOOST_TEST((p.preempted == well));
}

BOOST_AUTO_TEST_CASE(one_that_runs_does_not_preempt) {
  toy_engine toy;
  net::io_context context;
  auto seq = toy.running.open();
  error_code preempted;
  std::optional<error_code> fed;
  seq.async_forward({1, 2}, logits_of::last, [&](error_code code, auto) { fed = code; });
  seq.async_suspend([&](error_code code) { preempted = code; });
  toy.settle(context);
  BOOST_TEST(preempted == make_error_code(error::operation_in_progress));
  BOOST_TEST((fed == well));
}

BOOST_AUTO_TEST_CASE(preemption_works_while_the_engine_drains_and_not_after_its_end) {
  suspended_by_caller p;
  p.running->async_drain([](error_code) {});
  p.go();
  p.suspend();
  p.finish();
  BOOST_TEST((p.preempted == well));
  p.running->stop();
  p.preempted.reset();
  p.seq->async_suspend(net::bind_executor(p.context, [&](error_code code) { p.preempted = code; }));
  p.context.restart();
  p.context.run();
  BOOST_TEST((p.preempted == make_error_code(error::engine_stopped)));
}

BOOST_AUTO_TEST_CASE(the_end_of_the_engine_ends_the_wait) {
  suspended_by_caller p;
  p.suspend();
  p.transfer->finish_one();
  p.running.reset();
  p.context.restart();
  p.context.poll();
  BOOST_TEST((p.preempted == make_error_code(error::engine_stopped)));
}

BOOST_AUTO_TEST_CASE(what_forks_share_stays_in_its_slot) {
  const auto model = golden_model("llama_default");
  auto options = tiny_engine(*model);
  engine running(model, options);
  std::vector<token> answer, child_tokens;
  const auto asked = some_tokens(*model, 70, 3);
  drive(running, [&]() -> net::awaitable<void> {
    auto parent = running.open();
    co_await parent.async_forward(asked);
    auto child = parent.fork();
    co_await child.async_forward({1});
    co_await parent.async_suspend();
    co_await child.async_suspend();
    co_await child.async_forward({2});
    for (int i = 0; i < 3; ++i) answer.push_back((co_await parent.async_decode()).id);
    for (int i = 0; i < 3; ++i) child_tokens.push_back((co_await child.async_decode()).id);
  });
  BOOST_TEST(answer == loop_by_hand(*model, options, asked, 3), boost::test_tools::per_element());
  BOOST_TEST(child_tokens == loop_by_hand(*model, options, joined(asked, {1, 2}), 3), boost::test_tools::per_element());
}

}  // namespace cogen::test
