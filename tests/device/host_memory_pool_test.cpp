// Host memory of snapshots is used again, stays within its limit, and is freed where a device allows it.
#include "engine/snapshot/host_memory_pool.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <functional>
#include <future>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace cogen::test {

namespace {

/// An allocator that counts what it has allocated, and knows which threads have freed some.
struct counted_memory {
  detail::host_bytes allocate(std::size_t bytes) {
    ++calls;
    if (hook) hook();
    used += bytes;
    return {new std::byte[bytes], [this, bytes](std::byte* gone) {
              delete[] gone;
              used -= bytes;
              const std::lock_guard lock(mutex);
              freed_by.insert(std::this_thread::get_id());
            }};
  }

  detail::host_memory_pool::allocator allocator() {
    return [this](std::size_t bytes) { return allocate(bytes); };
  }

  detail::host_memory_pool pool(std::int64_t limit) { return {allocator(), limit}; }

  std::function<void()> hook;
  std::atomic<int> calls = 0;
  std::atomic<std::size_t> used = 0;
  std::mutex mutex;
  std::set<std::thread::id> freed_by;
};

constexpr std::size_t page = 4096;

BOOST_AUTO_TEST_SUITE(host_memory_pool)

BOOST_AUTO_TEST_CASE(what_is_returned_is_used_again) {
  counted_memory memory;
  const auto pool = memory.pool(1 << 20);
  BOOST_TEST(!pool.take(100));
  const auto* const first = pool.allocate(100).get();
  BOOST_TEST(pool.take(page).get() == first);
  BOOST_TEST(pool.allocate(page - 1).get() == first);
  BOOST_TEST(!pool.take(page + 1));
  const auto held = pool.take(0);
  BOOST_TEST(held.get() == first);
  BOOST_TEST(!pool.take(0));
  BOOST_TEST(memory.calls == 1);
}

BOOST_AUTO_TEST_CASE(similar_sizes_share_blocks_and_waste_less_than_an_eighth) {
  counted_memory memory;
  for (std::size_t bytes = 8 * page; bytes < 600 * page; bytes += 997) {
    const auto pool = memory.pool(0);
    const auto held = pool.allocate(bytes);
    BOOST_TEST(pool.size() == memory.used);
    BOOST_TEST(pool.size() >= bytes);
    BOOST_TEST(pool.size() - bytes < bytes / 8);
  }
}

/// Whatever the sizes are. What is unused for the longest time is freed first.
BOOST_AUTO_TEST_CASE(all_blocks_together_stay_within_the_limit) {
  counted_memory memory;
  const auto pool = memory.pool(10 * page);
  for (const std::size_t pages : {4, 3, 2, 1, 6, 5, 8, 2, 10}) {
    const auto held = pool.allocate(pages * page);
    BOOST_TEST(memory.used <= 10 * page);
    BOOST_TEST(memory.used == pool.size());
  }
  BOOST_TEST(pool.take(10 * page));
  pool.allocate(4 * page);
  pool.allocate(5 * page);
  pool.allocate(2 * page);
  BOOST_TEST(!pool.take(4 * page));
  BOOST_TEST(pool.take(5 * page));
}

BOOST_AUTO_TEST_CASE(what_is_in_use_may_exceed_the_limit_until_it_is_returned) {
  counted_memory memory;
  const auto pool = memory.pool(3 * page);
  std::vector<detail::host_bytes> held;
  for (int i = 0; i < 5; ++i) held.push_back(pool.allocate(page));
  BOOST_TEST(memory.used == 5 * page);
  held.clear();
  const auto other = pool.allocate(2 * page);
  BOOST_TEST(memory.used == 3 * page);
}

/// That may be in the callback of a stream.
BOOST_AUTO_TEST_CASE(returning_a_block_frees_nothing) {
  counted_memory memory;
  std::optional<detail::host_memory_pool> pool(std::in_place, memory.allocator(), 0);
  std::vector<detail::host_bytes> held{pool->allocate(page), pool->allocate(2 * page)};
  std::jthread([&] { held.clear(); }).join();
  BOOST_TEST(memory.used == 3 * page);
  BOOST_TEST(memory.freed_by.empty());
  pool.reset();
  BOOST_TEST(memory.used == 0u);
  BOOST_TEST((memory.freed_by == std::set{std::this_thread::get_id()}));
}

BOOST_AUTO_TEST_CASE(blocks_may_outlive_the_pool) {
  counted_memory memory;
  std::optional<detail::host_memory_pool> pool(std::in_place, memory.allocator(), 1 << 20);
  auto held = pool->allocate(page);
  pool->allocate(2 * page);
  pool.reset();
  BOOST_TEST(memory.used == page);
  held[page - 1] = std::byte(7);
  std::jthread([gone = std::move(held)] {}).join();
  BOOST_TEST(memory.used == 0u);
}

/// Takes and returns blocks of several sizes, and writes to all of them.
void use(const detail::host_memory_pool& pool) {
  std::vector<detail::host_bytes> held;
  for (const std::size_t pages : {1, 2, 3, 2, 5, 1, 8, 4}) {
    held.push_back(pool.allocate(pages * page));
    for (std::size_t offset = 0; offset < pages * page; offset += page) held.back()[offset] = std::byte(pages);
    if (held.size() == 3) held.erase(held.begin());
  }
}

BOOST_AUTO_TEST_CASE(where_memory_is_refused_another_kind_is_used) {
  bool refused = true;
  for (int failing = 1; refused; ++failing) {
    counted_memory memory;
    refused = false;
    memory.hook = [&] {
      if (memory.calls != failing) return;
      refused = true;
      throw std::bad_alloc();
    };
    {
      const auto pool = memory.pool(6 * page);
      use(pool);
      BOOST_TEST(pool.size() == memory.used);
    }
    BOOST_TEST(memory.used == 0u);
  }
}

BOOST_AUTO_TEST_CASE(where_all_memory_is_refused_another_kind_is_used) {
  counted_memory memory;
  memory.hook = [] { throw std::bad_alloc(); };
  const auto pool = memory.pool(6 * page);
  use(pool);
  BOOST_TEST(pool.size() == 0u);
  BOOST_TEST(!pool.take(page));
  memory.hook = {};
  pool.allocate(page);
  BOOST_TEST(pool.take(page));
}

BOOST_AUTO_TEST_CASE(what_is_unused_is_freed_where_memory_is_refused) {
  counted_memory memory;
  memory.hook = [&] {
    if (memory.used > page) throw std::bad_alloc();
  };
  const auto pool = memory.pool(1 << 20);
  pool.allocate(2 * page);
  const auto held = pool.allocate(3 * page);
  BOOST_TEST(memory.calls == 3);
  BOOST_TEST(memory.used == 3 * page);
  BOOST_TEST(pool.size() == 3 * page);
}

/// A device that has failed, for instance.
BOOST_AUTO_TEST_CASE(other_errors_are_thrown_and_change_nothing) {
  bool failed = true;
  for (int failing = 1; failed; ++failing) {
    counted_memory memory;
    failed = false;
    memory.hook = [&] {
      if (memory.calls == failing) throw std::runtime_error("the device is gone");
    };
    {
      const auto pool = memory.pool(6 * page);
      try {
        use(pool);
      } catch (const std::runtime_error&) {
        failed = true;
      }
      BOOST_TEST(pool.size() == memory.used);
      memory.hook = {};
      use(pool);
    }
    BOOST_TEST(memory.used == 0u);
  }
}

BOOST_AUTO_TEST_CASE(a_slow_allocation_keeps_nobody_waiting) {
  counted_memory memory;
  const auto pool = memory.pool(1 << 20);
  auto held = pool.allocate(page);
  std::promise<void> begun, ending;
  memory.hook = [&] {
    begun.set_value();
    ending.get_future().wait();
  };
  auto slow = std::async(std::launch::async, [&] { return pool.allocate(2 * page); });
  begun.get_future().wait();
  held.reset();
  BOOST_TEST(pool.take(page));
  BOOST_TEST(!pool.take(2 * page));
  ending.set_value();
  BOOST_TEST(slow.get());
  BOOST_TEST(pool.take(2 * page));
}

BOOST_AUTO_TEST_CASE(threads_share_a_pool) {
  counted_memory memory;
  {
    const auto pool = memory.pool(6 * page);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int round = 0; round < 50; ++round) use(pool);
      });
    threads.clear();
    BOOST_TEST(pool.size() == memory.used);
  }
  BOOST_TEST(memory.used == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
