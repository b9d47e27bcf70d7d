// The default completion token: what it throws, and what its handlers are associated with.
#include <cogen/detail/operation.hpp>

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

#include <concepts>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <type_traits>

namespace cogen::detail {
namespace {

using int_operation = operation<int>;

/// Records that its operation is cancelled.
struct recording_owner final : result_owner {
  explicit recording_owner(net::any_io_executor where) : executor(std::move(where)) {}
  net::any_io_executor default_executor() const override { return executor; }
  void cancel(const pending_operation&, net::cancellation_type) noexcept override { cancelled = true; }
  void settle(pending_operation&) noexcept override {}

  net::any_io_executor executor;
  bool cancelled = false;
};

/// An operation that a test completes.
struct waiting_client {
  template <net::completion_token_for<void(error_code, int)> Token = throwing_t>
  auto async_wait(Token&& token = throwing_t()) {
    return net::async_initiate<Token, void(error_code, int)>(
        [this](auto handler) { started = int_operation::make(std::move(handler), owner->default_executor(), owner); },
        token);
  }

  void complete(diagnostics why, int value) {
    started->set_result(std::move(why), value);
    BOOST_TEST(started->post_again());
    context.restart();
    context.run();
  }

  net::io_context context;
  const std::shared_ptr<recording_owner> owner = std::make_shared<recording_owner>(context.get_executor());
  std::shared_ptr<int_operation> started;
};

static_assert(std::same_as<net::completion_signature_of_t<decltype(std::declval<waiting_client>().async_wait())>,
                           void(std::exception_ptr, int)>);

struct outcome {
  std::optional<int> value;
  std::string message;
  error_code code;
};

void await(waiting_client& operation, outcome& result) {
  net::co_spawn(
      operation.context,
      [&]() -> net::awaitable<void> {
        try {
          result.value = co_await operation.async_wait();
        } catch (const generation_error& e) {
          result.message = e.what();
          result.code = e.code();
        }
      },
      [](std::exception_ptr error) { BOOST_TEST(!error); });
  operation.context.poll();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(throwing_token)

BOOST_AUTO_TEST_CASE(co_await_returns_the_result) {
  waiting_client operation;
  outcome awaited;
  await(operation, awaited);
  operation.complete({}, 7);
  BOOST_TEST(awaited.value.value() == 7);
}

BOOST_AUTO_TEST_CASE(co_await_throws_the_sentence) {
  waiting_client operation;
  outcome awaited;
  await(operation, awaited);
  operation.complete({error::does_not_fit, "9 tokens do not fit into 8"}, 0);
  BOOST_TEST(!awaited.value);
  BOOST_TEST(awaited.message == "9 tokens do not fit into 8");
  BOOST_TEST((awaited.code == error::does_not_fit));
}

BOOST_AUTO_TEST_CASE(without_a_sentence_it_is_the_message_of_the_code) {
  waiting_client operation;
  outcome awaited;
  await(operation, awaited);
  operation.complete(net::error::operation_aborted, 0);
  BOOST_TEST(awaited.message == error_code(net::error::operation_aborted).message());
  BOOST_TEST((awaited.code == net::error::operation_aborted));
}

BOOST_AUTO_TEST_CASE(other_handlers_get_the_code) {
  waiting_client operation;
  error_code seen;
  operation.async_wait([&](error_code code, int) { seen = code; });
  operation.complete({error::does_not_fit, "9 tokens do not fit into 8"}, 0);
  BOOST_TEST((seen == error::does_not_fit));
}

BOOST_AUTO_TEST_CASE(its_handlers_have_the_associations_of_those_they_wrap) {
  waiting_client operation;
  net::io_context other;
  net::cancellation_signal signal;
  bool called = false;
  auto handler = net::bind_executor(
      other, net::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr error, int) { called = !error; }));
  operation.async_wait()(std::move(handler));
  signal.emit(net::cancellation_type::terminal);
  BOOST_TEST(operation.owner->cancelled);
  operation.complete({}, 1);
  BOOST_TEST(!called);
  other.run();
  BOOST_TEST(called);
}

BOOST_AUTO_TEST_CASE(its_handlers_have_the_allocator_of_those_they_wrap) {
  auto bound = net::bind_allocator(std::pmr::polymorphic_allocator<>(), [](std::exception_ptr) {});
  adapted_handler<decltype(bound), as_exception> adapted(bound);
  static_assert(std::same_as<net::associated_allocator_t<decltype(adapted)>, std::pmr::polymorphic_allocator<>>);
  BOOST_CHECK(net::get_associated_allocator(adapted) == net::get_associated_allocator(bound));
}

BOOST_AUTO_TEST_CASE(operations_of_asio_take_it_too) {
  net::io_context context;
  net::steady_timer timer(context, std::chrono::hours(1));
  std::string message;
  net::co_spawn(
      context,
      [&]() -> net::awaitable<void> {
        co_await net::post(throwing);
        try {
          co_await timer.async_wait(throwing);
        } catch (const generation_error& e) {
          message = e.what();
        }
      },
      [](std::exception_ptr error) { BOOST_TEST(!error); });
  context.poll();
  timer.cancel();
  context.run();
  BOOST_TEST(message == error_code(net::error::operation_aborted).message());
}

BOOST_AUTO_TEST_CASE(the_exception_has_code_sentence_and_diagnostics) {
  const diagnostics why(error::invalid_request, "token 9 does not exist");
  const generation_error thrown(why);
  BOOST_TEST(std::string(thrown.what()) == "token 9 does not exist");
  BOOST_TEST((thrown.code() == error::invalid_request));
  BOOST_TEST((thrown.why().code() == error::invalid_request));
  BOOST_TEST(thrown.why().message() == "token 9 does not exist");
  static_assert(std::derived_from<generation_error, boost::system::system_error>);
  static_assert(std::is_nothrow_copy_constructible_v<diagnostics>);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::detail
