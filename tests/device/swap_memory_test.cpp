// The host memory of swaps is allocated while steps go on, and used again.
#include "../engine/model_engines.hpp"
#include "../engine/session_files.hpp"
#include "device_models.hpp"
#include "plain_backend.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <functional>
#include <future>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <string_view>
#include <thread>

namespace cogen::test {

namespace {

engine_options two_slots(const model& model, bool external_stepping) {
  auto options = tiny_engine(model);
  options.kv.dtype.reset();
  options.batching.slots = 2;
  options.external_stepping = external_stepping;
  return options;
}

/// Runs a coroutine to its end on an engine with a thread of its own.
template <class Body>
void complete(Body body) {
  net::io_context context;
  net::co_spawn(context, body, [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  });
  context.run();
}

/// Which threads step, and which allocate host memory, once the memory of steps is made.
class watched_device {
 public:
  watched_device() {
    place->hook = [this](std::string_view operation) {
      if (!watching_) return;
      if (operation == "run") add_to(stepping_);
      if (operation != "host memory") return;
      add_to(allocating_);
      if (allocating && !is_stepping()) allocating();
    };
  }

  std::unique_ptr<engine> start() {
    watching_ = false;
    auto running = std::make_unique<engine>(on_device, two_slots(*on_device, false));
    complete([&]() -> net::awaitable<void> {
      auto first = running->open();
      co_await first.async_decode(some_tokens(*on_device, 3, 1));
    });
    stepping_.clear(), allocating_.clear();  // a thread may have the name of one that has ended
    watching_ = true;
    return running;
  }

  /// What follows on the tokens.
  token after(const std::vector<token>& held) const { return loop_by_hand(*host, tiny_engine(*host), held, 1).front(); }

  /// Some were allocated, none of them by a thread that steps.
  void check() {
    const std::lock_guard lock(mutex_);
    BOOST_TEST(!stepping_.empty());
    BOOST_TEST(!allocating_.empty());
    for (const auto each : allocating_) BOOST_TEST(!stepping_.contains(each));
  }

  const std::shared_ptr<plain_backend> place = std::make_shared<plain_backend>();
  const std::shared_ptr<const model> on_device = golden_model_on(place, "llama_default");
  const std::shared_ptr<const model> host = golden_model("llama_default");

  std::function<void()> allocating;  ///< called where host memory is allocated, but on no thread that steps

 private:
  void add_to(std::set<std::thread::id>& threads) {
    const std::lock_guard lock(mutex_);
    threads.insert(std::this_thread::get_id());
  }

  bool is_stepping() {
    const std::lock_guard lock(mutex_);
    return stepping_.contains(std::this_thread::get_id());
  }

  std::atomic<bool> watching_ = false;
  std::mutex mutex_;
  std::set<std::thread::id> stepping_, allocating_;
};

BOOST_AUTO_TEST_SUITE(swap_memory)

BOOST_AUTO_TEST_CASE(no_swap_allocates_on_the_thread_that_steps) {
  watched_device device;
  const auto tokens = some_tokens(*device.host, 80, 2);
  const auto next = device.after(joined(tokens, {7}));
  const session_path file;
  auto running = device.start();
  complete([&]() -> net::awaitable<void> {
    auto seq = running->open();
    co_await seq.async_forward(tokens);
    co_await seq.async_save(file.path);
    co_await seq.async_suspend();
    BOOST_TEST((co_await seq.async_decode({7})).id == next);
  });
  device.check();
  running = device.start();
  complete([&]() -> net::awaitable<void> {
    auto opened = co_await running->async_load_session(file.path);
    BOOST_TEST((co_await opened.async_decode({7})).id == next);
  });
  device.check();
  BOOST_TEST(running->stats().tokens < 80u);
}

/// An allocation that lasts until it is told to end.
struct endless_allocation {
  explicit endless_allocation(watched_device& device) {
    device.allocating = [&] {
      if (has_begun.exchange(true)) return;
      begun.set_value();
      ending.get_future().wait();
      has_ended = true;
    };
  }

  std::promise<void> begun, ending;
  std::atomic<bool> has_begun = false, has_ended = false;
};

BOOST_AUTO_TEST_CASE(steps_go_on_while_memory_is_allocated) {
  watched_device device;
  endless_allocation slow(device);
  const auto tokens = some_tokens(*device.host, 80, 2);
  auto running = device.start();
  std::optional<sequence> first, other;
  complete([&]() -> net::awaitable<void> {
    first.emplace(running->open());
    co_await first->async_forward(tokens);
  });
  auto suspended = first->async_suspend(net::use_future);
  slow.begun.get_future().wait();
  complete([&]() -> net::awaitable<void> {
    other.emplace(running->open());
    BOOST_TEST((co_await other->async_decode({5, 6})).id == device.after({5, 6}));
  });
  BOOST_TEST(!slow.has_ended);
  slow.ending.set_value();
  suspended.get();
  complete([&]() -> net::awaitable<void> {
    BOOST_TEST((co_await first->async_decode({7})).id == device.after(joined(tokens, {7})));
  });
  device.check();
  BOOST_TEST(running->stats().swapped_out == 1u);
}

BOOST_AUTO_TEST_CASE(an_engine_ends_after_an_allocation_in_progress) {
  watched_device device;
  endless_allocation slow(device);
  auto running = device.start();
  net::io_context context;
  std::optional<sequence> seq;
  complete([&]() -> net::awaitable<void> {
    seq.emplace(running->open());
    co_await seq->async_forward(some_tokens(*device.host, 80, 2));
  });
  int ended = 0;
  seq->async_suspend(net::bind_executor(context, [&](error_code code) { ended += static_cast<bool>(code); }));
  slow.begun.get_future().wait();
  std::jthread other([&] { slow.ending.set_value(); });
  running.reset();
  BOOST_TEST(slow.has_ended);
  context.run();
  BOOST_TEST(ended == 1);
}

/// Suspends a sequence and goes on with it, several times. How many tokens were run.
std::uint64_t suspend_often(const watched_device& device, engine& running) {
  auto held = some_tokens(*device.host, 40, 2);
  drive(running, [&]() -> net::awaitable<void> {
    auto seq = running.open();
    co_await seq.async_forward(held);
    for (int i = 0; i < 5; ++i) {
      co_await seq.async_suspend();
      held.push_back(7);
      const auto next = (co_await seq.async_decode({7})).id;
      BOOST_TEST(next == device.after(held));
      held.push_back(next);
    }
  });
  BOOST_TEST(running.stats().swapped_out == 5u);
  return running.stats().tokens;
}

BOOST_AUTO_TEST_CASE(memory_is_allocated_once_for_swaps_of_the_same_size) {
  int allocations = 0;
  const watched_device device;
  engine running(device.on_device, two_slots(*device.on_device, true));
  suspend_often(device, running);
  device.place->hook = [&](std::string_view operation) { allocations += operation == "host memory"; };
  engine another(device.on_device, two_slots(*device.on_device, true));
  another.poll_one();
  const int of_steps = allocations;
  suspend_often(device, another);
  BOOST_TEST(allocations == of_steps + 2);  // one for the samples
}

/// They do not fail, since no token is run again.
BOOST_AUTO_TEST_CASE(swaps_go_through_other_memory_where_pinned_memory_is_refused) {
  const watched_device device;
  engine running(device.on_device, two_slots(*device.on_device, true));
  const auto tokens = suspend_often(device, running);
  bool refused = true;
  for (int failing = 1; refused; ++failing) {
    engine another(device.on_device, two_slots(*device.on_device, true));
    drive(another, [&]() -> net::awaitable<void> {
      auto first = another.open();
      co_await first.async_decode({5, 6});
    });
    const auto previous = another.stats().tokens;
    int calls = 0;
    refused = false;
    device.place->hook = [&](std::string_view operation) {
      if (operation != "host memory" || ++calls < failing) return;
      refused = true;
      throw std::bad_alloc();
    };
    BOOST_TEST(suspend_often(device, another) - previous == tokens);
    device.place->hook = {};
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
