// When the memory of requests is given back to the system.
#include "freed_memory.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

namespace net = boost::asio;
using server::freed_memory;

namespace {

struct counted {
  net::io_context context;
  int times = 0;
  freed_memory freed{context.get_executor(), [this] { ++times; }, std::chrono::milliseconds(5),
                     std::chrono::milliseconds(10)};

  void settle() {
    context.run();
    context.restart();
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(freed_memories)

BOOST_AUTO_TEST_CASE(small_requests_add_up) {
  counted counter;
  for (int i = 0; i < 15; ++i) counter.freed.add(freed_memory::enough / 16);
  counter.settle();
  BOOST_TEST(counter.times == 0);
  counter.freed.add(freed_memory::enough / 16);
  BOOST_TEST(counter.times == 0);
  counter.settle();
  BOOST_TEST(counter.times == 2);  // the engine frees its part later
}

BOOST_AUTO_TEST_CASE(those_that_end_soon_after_each_other_are_given_back_together) {
  counted counter;
  for (int i = 0; i < 100; ++i) counter.freed.add(freed_memory::enough);
  counter.settle();
  BOOST_TEST(counter.times == 2);
  counter.freed.add(freed_memory::enough);
  counter.settle();
  BOOST_TEST(counter.times == 4);
}

BOOST_AUTO_TEST_CASE(what_ends_before_the_second_time_is_given_back_first) {
  counted counter;
  counter.freed.add(freed_memory::enough);
  while (counter.times < 1) counter.context.run_one();
  counter.freed.add(freed_memory::enough);
  counter.settle();
  BOOST_TEST(counter.times == 3);
}

BOOST_AUTO_TEST_SUITE_END()
