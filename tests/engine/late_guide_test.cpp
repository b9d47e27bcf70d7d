// Guides that take longer than a step may wait, on another thread: nobody else waits for them.
#include "text_guide.hpp"
#include "toy_runner.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <thread>

namespace cogen::test {
namespace {

BOOST_AUTO_TEST_SUITE(late_guides)

/// What happens to guides while they take their time.
struct gate {
  std::latch begun{1}, released{1};
};

/// Says at its first token, beside the step, that it has begun, and then waits until it is released.
class waiting_guide final : public guide {
 public:
  explicit waiting_guide(std::shared_ptr<gate> barrier, std::vector<std::vector<token>> texts)
      : barrier_(std::move(barrier)), guide_(std::move(texts)) {}

  bool allow(std::span<std::uint64_t> tokens) override {
    if (grammar::brief_work::left()) throw guide_postponed();
    if (!barrier_->begun.try_wait()) barrier_->begun.count_down();
    barrier_->released.wait();
    return guide_.allow(tokens);
  }

  void accept(token next) override { guide_.accept(next); }
  void roll_back(int tokens) override { guide_.roll_back(tokens); }
  std::unique_ptr<guide> clone() const override { return std::make_unique<waiting_guide>(*this); }
  bool is_complete() const override { return guide_.is_complete(); }

 private:
  std::shared_ptr<gate> barrier_;
  text_guide guide_;
};

/// An engine on its own thread, and a stream that stands at its guide.
struct held_up {
  std::shared_ptr<gate> barrier = std::make_shared<gate>();
  toy_engine toy{{}, {}};
  token_stream stream = toy.running.generate({.prompt = token_ids{4, 4},
                                              .max_tokens = 20,
                                              .response_format = std::make_shared<const waiting_guide>(
                                                  barrier, std::vector<std::vector<token>>{{5, 60, 90}})});

  held_up() {
    said = stream.async_complete(net::use_future);
    barrier->begun.wait();
  }
  ~held_up() {
    if (!barrier->released.try_wait()) barrier->released.count_down();
  }
  held_up(const held_up&) = delete;
  held_up& operator=(const held_up&) = delete;

  void check_others() {
    auto other = toy.running.generate({.prompt = token_ids{1, 2}, .max_tokens = 12});
    BOOST_TEST(ids_of(other.async_complete(net::use_future).get().tokens) == toy_continuation({1, 2}, 12),
               boost::test_tools::per_element());
  }

  /// Statistics change at the end of a step, behind its completions.
  void await_free_slots(int slots) const {
    while (toy.running.stats().free_slots != slots) std::this_thread::yield();
  }

  std::future<completion> said;
};

/// Begins a decode that stands at its guide, and cancels it there.
void cancel_decode(sequence& seq, gate& barrier) {
  net::io_context context;
  const auto work = net::make_work_guard(context);
  net::cancellation_signal signal;
  error_code received;
  seq.async_decode({5}, sampling_params{},
                   net::bind_cancellation_slot(
                       signal.slot(), net::bind_executor(context, [&](error_code code, auto&&) { received = code; })));
  barrier.begun.wait();
  signal.emit(net::cancellation_type::terminal);
  context.run_one();
  BOOST_CHECK_EQUAL(received, make_error_code(net::error::operation_aborted));
}

BOOST_AUTO_TEST_CASE(others_go_on_meanwhile) {
  held_up it;
  it.check_others();
  it.await_free_slots(3);
  it.barrier->released.count_down();
  BOOST_TEST(ids_of(it.said.get().tokens) == (std::vector<token>{5, 60, 90}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_stream_that_is_dropped_leaves_at_once) {
  held_up it;
  it.stream = it.toy.running.generate({.prompt = token_ids{1}, .max_tokens = 1});
  it.stream.async_complete(net::use_future).get();
  it.check_others();
  it.await_free_slots(4);
  BOOST_CHECK_THROW(it.said.get(), boost::system::system_error);
}

BOOST_AUTO_TEST_CASE(an_engine_that_ends_does_not_wait) {
  held_up it;
  it.toy.running = engine(it.toy.parts({}), {});
  BOOST_CHECK_THROW(it.said.get(), boost::system::system_error);
}

BOOST_AUTO_TEST_CASE(a_sequence_that_is_cancelled_goes_on_from_before) {
  const auto barrier = std::make_shared<gate>();
  toy_engine toy({}, {});
  auto sequence = toy.running.open();
  sequence.constrain(
      std::make_unique<waiting_guide>(barrier, std::vector<std::vector<token>>{{5, 60, 90}, {7, 61, 91}}));
  cancel_decode(sequence, *barrier);
  auto child = sequence.fork();
  sequence.truncate(0);
  auto second = sequence.async_decode({7}, sampling_params{}, net::use_future);
  auto third = child.async_decode({5}, sampling_params{}, net::use_future);
  barrier->released.count_down();
  BOOST_TEST(second.get().id == 61);
  BOOST_TEST(third.get().id == 60);
  BOOST_TEST(sequence.async_decode({}, sampling_params{}, net::use_future).get().id == 91);
}

BOOST_AUTO_TEST_CASE(a_fork_that_waits_for_its_parent_ends_with_the_engine) {
  const auto barrier = std::make_shared<gate>();
  toy_engine toy({}, {});
  auto sequence = toy.running.open();
  sequence.constrain(std::make_unique<waiting_guide>(barrier, std::vector<std::vector<token>>{{5, 60, 90}}));
  cancel_decode(sequence, *barrier);
  auto child = sequence.fork();
  auto second = child.async_decode({5}, sampling_params{}, net::use_future);
  toy.running.open().async_decode({5}, sampling_params{}, net::use_future).get();  // what came before was processed
  toy.running = engine(toy.parts({}), {});
  BOOST_CHECK_THROW(second.get(), boost::system::system_error);
  barrier->released.count_down();
}

BOOST_AUTO_TEST_CASE(a_sequence_that_is_dropped_leaves) {
  const auto barrier = std::make_shared<gate>();
  toy_engine toy({.slots = 1}, {});
  std::optional<sequence> dropped = toy.running.open();
  dropped->constrain(std::make_unique<waiting_guide>(barrier, std::vector<std::vector<token>>{{5, 60, 90}}));
  auto first = dropped->async_decode({5}, sampling_params{}, net::use_future);
  barrier->begun.wait();
  dropped.reset();
  BOOST_CHECK_THROW(first.get(), boost::system::system_error);
  barrier->released.count_down();
  auto next = toy.running.generate({.prompt = token_ids{1, 2}, .max_tokens = 3});  // in its slot
  BOOST_TEST(ids_of(next.async_complete(net::use_future).get().tokens) == toy_continuation({1, 2}, 3),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_guide_that_is_late_beside_the_steps_fails_its_request) {
  class never final : public guide {
   public:
    bool allow(std::span<std::uint64_t>) override { throw guide_postponed(); }
    void accept(token) override {}
    void roll_back(int) override {}
    std::unique_ptr<guide> clone() const override { return std::make_unique<never>(); }
    bool is_complete() const override { return false; }
  };
  toy_engine toy({}, {});
  auto stream = toy.running.generate({.prompt = token_ids{4}, .response_format = std::make_shared<const never>()});
  BOOST_CHECK_THROW(stream.async_complete(net::use_future).get(), boost::system::system_error);
  BOOST_CHECK_EQUAL(stream.error().code(), make_error_code(error::callback_threw));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
