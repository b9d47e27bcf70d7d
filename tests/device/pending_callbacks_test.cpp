// A stream waits until its callbacks have been called, whatever else has failed.
#include "network/backend/pending_callbacks.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace cogen::test {

namespace {

BOOST_AUTO_TEST_SUITE(pending_callbacks)

BOOST_AUTO_TEST_CASE(a_wait_ends_when_all_have_been_called) {
  device::pending_callbacks pending;
  pending.wait();
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 20; ++i)
    threads.emplace_back([call = pending.add([&](const std::exception_ptr& error) { failed += error != nullptr; })] {
      call(std::make_exception_ptr(std::runtime_error("the device is gone")));
    });
  pending.wait();
  BOOST_TEST(failed == 20);
  for (auto& each : threads) each.join();
}

BOOST_AUTO_TEST_CASE(one_that_is_never_called_is_no_longer_waited_for) {
  device::pending_callbacks pending;
  std::thread([lost = pending.add([](const std::exception_ptr&) {})] {}).join();
  pending.wait();
}

/// What it holds may be memory of the device, which a wait is the end of.
BOOST_AUTO_TEST_CASE(what_a_callback_holds_is_gone_after_the_wait) {
  device::pending_callbacks pending;
  const auto held = std::make_shared<int>();
  auto call = pending.add([held](const std::exception_ptr&) {});
  call(nullptr);
  pending.wait();
  BOOST_TEST(held.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(callbacks_may_come_after_what_counted_them) {
  device::pending_callbacks::callback call;
  bool called = false;
  {
    device::pending_callbacks pending;
    call = pending.add([&](const std::exception_ptr&) { called = true; });
  }
  call(nullptr);
  BOOST_TEST(called);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
