#include "says.hpp"

#include <cogen/detail/cache/transfer.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cogen::cache::test {
namespace {

/// Two buffers and the copies from one to the other, in pieces.
struct buffers {
  explicit buffers(std::size_t bytes, unsigned seed) : source(bytes), target(bytes) {
    for (std::size_t i = 0; i < bytes; ++i) source[i] = std::byte(i * 7 + seed);
  }

  std::vector<byte_copy> pieces(std::size_t count) {
    std::vector<byte_copy> copies;
    const std::size_t size = source.size() / count;
    for (std::size_t i = 0; i < count; ++i)
      copies.push_back({std::span(source).subspan(i * size, size), std::span(target).subspan(i * size, size)});
    return copies;
  }

  std::vector<std::byte> source;
  std::vector<std::byte> target;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(transfers)

BOOST_AUTO_TEST_CASE(a_worker_copies_elsewhere_and_says_so_once) {
  buffers data(1 << 20, 1);
  std::promise<std::pair<std::thread::id, bool>> ended;
  worker_transfer worker;
  worker.start(data.pieces(4), [&](std::exception_ptr error) {
    ended.set_value({std::this_thread::get_id(), error != nullptr});
  });
  const auto [thread, failed] = ended.get_future().get();
  BOOST_TEST(!failed);
  BOOST_TEST((thread != std::this_thread::get_id()));
  BOOST_TEST((data.target == data.source));
}

BOOST_AUTO_TEST_CASE(an_immediate_one_has_copied_when_it_says_so) {
  buffers data(1000, 3);
  immediate_transfer at_once;
  bool received = false;
  at_once.start(data.pieces(2), [&](std::exception_ptr error) {
    BOOST_TEST(!error);
    BOOST_TEST((data.target == data.source));
    received = true;
  });
  BOOST_TEST(received);
  data.target.pop_back();
  std::vector<byte_copy> uneven{{data.source, data.target}};
  BOOST_CHECK_THROW(at_once.start(uneven, [](std::exception_ptr) { BOOST_TEST(false); }), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_worker_ends_jobs_in_order_and_all_before_it_goes) {
  std::vector<int> order;
  std::vector<buffers> data;
  for (unsigned i = 0; i < 50; ++i) data.emplace_back(64 * (1 + i % 7), i);
  {
    worker_transfer worker;
    for (int i = 0; i < 50; ++i)
      worker.start(data[static_cast<std::size_t>(i)].pieces(1),
                   [&order, i](std::exception_ptr) { order.push_back(i); });
  }
  BOOST_TEST_REQUIRE(order.size() == 50);
  for (int i = 0; i < 50; ++i) BOOST_TEST(order[static_cast<std::size_t>(i)] == i);
  for (const buffers& pair : data) BOOST_TEST((pair.target == pair.source));
}

BOOST_AUTO_TEST_CASE(many_threads_may_start_jobs) {
  std::vector<buffers> data(8, buffers(4096, 3));
  int ended = 0;
  {
    worker_transfer worker;
    std::vector<std::thread> threads;
    for (buffers& pair : data)
      threads.emplace_back([&] { worker.start(pair.pieces(2), [&](std::exception_ptr) { ++ended; }); });
    for (std::thread& thread : threads) thread.join();
  }
  BOOST_TEST(ended == 8);
  for (const buffers& pair : data) BOOST_TEST((pair.target == pair.source));
}

BOOST_AUTO_TEST_CASE(a_callback_may_start_the_next_job) {
  buffers first(128, 1);
  buffers second(128, 2);
  std::promise<void> ended;
  worker_transfer worker;
  worker.start(first.pieces(1), [&](std::exception_ptr) {
    worker.start(second.pieces(1), [&](std::exception_ptr) { ended.set_value(); });
  });
  ended.get_future().get();
  BOOST_TEST((second.target == second.source));
}

BOOST_AUTO_TEST_CASE(a_manual_transfer_copies_on_request) {
  buffers data(64, 5);
  manual_transfer manual;
  int ended = 0;
  manual.start(data.pieces(2), [&](std::exception_ptr error) { ended += !error; });
  BOOST_TEST(manual.waiting() == 1);
  BOOST_TEST(ended == 0);
  BOOST_TEST((data.target == std::vector<std::byte>(64)));
  manual.finish_one();
  BOOST_TEST(manual.waiting() == 0);
  BOOST_TEST(ended == 1);
  BOOST_TEST((data.target == data.source));
  BOOST_CHECK_THROW(manual.finish_one(), std::logic_error);
}

BOOST_AUTO_TEST_CASE(a_manual_transfer_fails_half_way) {
  buffers data(64, 5);
  manual_transfer manual;
  std::string said;
  manual.start(data.pieces(2), [&](std::exception_ptr error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::runtime_error& reason) {
      said = reason.what();
    }
  });
  manual.fail_one(std::make_exception_ptr(std::runtime_error("unplugged")));
  BOOST_TEST(said == "unplugged");
  BOOST_TEST(std::equal(data.target.begin(), data.target.begin() + 32, data.source.begin()));
  BOOST_TEST((std::vector<std::byte>(data.target.begin() + 32, data.target.end()) == std::vector<std::byte>(32)));
}

BOOST_AUTO_TEST_CASE(sides_of_different_size_are_refused) {
  buffers data(64, 5);
  const std::vector<byte_copy> uneven{{std::span(data.source), std::span(data.target).first(63)}};
  const auto never = [](std::exception_ptr) { BOOST_ERROR("a refused job ended"); };
  worker_transfer worker;
  manual_transfer manual;
  BOOST_CHECK_EXCEPTION(worker.start(uneven, never), std::invalid_argument, says({"64 bytes", "63"}));
  BOOST_CHECK_EXCEPTION(manual.start(uneven, never), std::invalid_argument, says({"64 bytes", "63"}));
  BOOST_TEST(manual.waiting() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::cache::test
