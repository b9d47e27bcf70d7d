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
  counted one;
  for (int i = 0; i < 15; ++i) one.freed.add(freed_memory::enough / 16);
  one.settle();
  BOOST_TEST(one.times == 0);
  one.freed.add(freed_memory::enough / 16);
  BOOST_TEST(one.times == 0);
  one.settle();
  BOOST_TEST(one.times == 2);  // the engine frees its part later
}

BOOST_AUTO_TEST_CASE(those_that_end_soon_after_each_other_are_given_back_together) {
  counted one;
  for (int i = 0; i < 100; ++i) one.freed.add(freed_memory::enough);
  one.settle();
  BOOST_TEST(one.times == 2);
  one.freed.add(freed_memory::enough);
  one.settle();
  BOOST_TEST(one.times == 4);
}

BOOST_AUTO_TEST_CASE(what_ends_before_the_second_time_is_given_back_first) {
  counted one;
  one.freed.add(freed_memory::enough);
  while (one.times < 1) one.context.run_one();
  one.freed.add(freed_memory::enough);
  one.settle();
  BOOST_TEST(one.times == 3);
}

BOOST_AUTO_TEST_SUITE_END()
