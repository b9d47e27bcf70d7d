#include "network/parallel/rank_group.hpp"

#include "thread_transport.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <mutex>
#include <random>
#include <source_location>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace cogen;
using parallel::rank_group;
using transport = std::shared_ptr<parallel::transport>;

/// What a rank of a test adds: numbers of very different sizes, so that another order gives other bits.
std::vector<float> part_of(int rank, std::size_t count) {
  std::mt19937 random(static_cast<unsigned>(rank + 1));
  std::vector<float> part(count);
  std::ranges::generate(
      part, [&] { return std::ldexp(static_cast<float>(random()) - 2e9F, static_cast<int>(random() % 40)); });
  return part;
}

std::vector<float> sum_of(int first, int ranks, std::size_t count) {
  auto sum = part_of(first, count);
  for (int rank = first + 1; rank < first + ranks; ++rank) {
    const auto part = part_of(rank, count);
    for (std::size_t i = 0; i < count; ++i) sum[i] += part[i];
  }
  return sum;
}

/// For ranks, of which only one may use Boost.Test at a time: what one throws ends its test.
void require(bool holds, std::source_location where = std::source_location::current()) {
  if (!holds) throw std::runtime_error(fmt::format("line {}: it does not hold", where.line()));
}

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

BOOST_AUTO_TEST_SUITE(rank_groups)

BOOST_AUTO_TEST_CASE(sums_are_added_in_the_order_of_ranks) {
  for (const int ranks : {1, 2, 3, 4})
    for (const std::size_t count : {0, 1, 7, 1000, 20'001})
      test::run_ranks(ranks, [&](const transport& channel) {
        rank_group group(channel, ranks, 1);
        auto numbers = part_of(group.rank(), count);
        group.sum(numbers);
        require(numbers == sum_of(0, ranks, count));
      });
}

BOOST_AUTO_TEST_CASE(stages_add_their_own_ranks_and_pass_rows_on) {
  test::run_ranks(6, [](const transport& channel) {
    rank_group group(channel, 2, 3);
    require(group.stage().index == group.rank() / 2);
    auto numbers = part_of(group.rank(), 100);
    group.sum(numbers);
    require(numbers == sum_of(group.rank() / 2 * 2, 2, 100));
    std::vector<float> row(3, static_cast<float>(group.tensor().index));
    if (!group.stage().is_first()) group.receive_from_last_stage(row);
    for (auto& each : row) each += 10;
    if (!group.stage().is_last()) group.send_to_next_stage(row);
    require(row == std::vector<float>(3, static_cast<float>(group.tensor().index + 10 * (group.stage().index + 1))));
  });
}

BOOST_AUTO_TEST_CASE(parts_of_the_last_stage_are_gathered) {
  for (const bool everywhere : {true, false})
    test::run_ranks(4, [&](const transport& channel) {
      rank_group group(channel, 2, 2);
      if (!everywhere) group.gather_at_rank_0();
      require(group.gathers() == (everywhere || group.rank() == 0));
      std::vector<float> first(2), second(3);
      const std::span<float> parts[] = {first, second};
      const auto received = std::span(parts).first(group.gathers() ? 2 : 0);
      if (group.stage().is_last())
        group.gather(part_of(group.rank(), group.tensor().index == 0 ? 2 : 3), received);
      else
        group.collect(group.expect(received));
      group.flush();
      if (!group.gathers()) return;
      require(first == part_of(2, 2));
      require(second == part_of(3, 3));
    });
}

// Two batches at once: rank 0 sends the rows of the second one before it has what the last stage makes of the first.
BOOST_AUTO_TEST_CASE(stages_work_at_once) {
  for (const int stages : {2, 3, 4})
    test::run_ranks(2 * stages, [&](const transport& channel) {
      rank_group group(channel, 2, stages);
      group.gather_at_rank_0();
      const float own = static_cast<float>(group.stage().index + 1);
      const auto work = [&](float batch) {
        std::vector<float> row{batch};
        if (!group.stage().is_first()) group.receive_from_last_stage(row);
        row.front() += own;
        if (group.stage().is_last())
          group.gather(row, {});
        else
          group.send_to_next_stage(row);
      };
      const auto ranks = stages * (stages + 1) / 2;
      const auto total = static_cast<float>(ranks);
      if (!group.leads()) {
        for (;;) {
          const auto told = group.listen();
          if (told.empty()) return;
          work(static_cast<float>(told.front()));
          if (told.back() == std::byte{1}) group.answer(told);
        }
      }
      std::vector<std::vector<float>> received(16, std::vector<float>(1));
      for (std::size_t batch = 0; batch < 16; batch += 2) {
        const std::span<float> parts[] = {received[batch], received[batch + 1]};
        const std::vector told{static_cast<std::byte>(batch), std::byte{batch == 6}};
        group.tell(told);
        work(static_cast<float>(batch));
        if (batch > 0) require(received[batch - 2].front() == static_cast<float>(batch - 2) + total);
        group.expect(parts);
        if (batch == 6) require(group.answers() == std::vector(static_cast<std::size_t>(2 * stages - 1), told));
      }
      group.flush();
      for (std::size_t batch = 0; batch < 16; ++batch) {
        const auto even = batch / 2 * 2;
        require(received[batch].front() == static_cast<float>(even) + total);
      }
      group.tell(std::vector<std::byte>());
      group.flush();
    });
}

BOOST_AUTO_TEST_CASE(what_has_come_is_not_waited_for) {
  test::run_ranks(2, [](const transport& channel) {
    rank_group group(channel, 1, 2);
    group.gather_at_rank_0();
    std::vector<float> first{1}, second{2};
    if (group.leads()) {
      const std::span<float> first_part[] = {first}, second_part[] = {second};
      group.send_to_next_stage(first);
      const auto first_one = group.expect(first_part);
      group.send_to_next_stage(second);
      const auto second_one = group.expect(second_part);
      group.collect(first_one);  // while the other rank does not go on
      require(first.front() == 11);
      group.tell(bytes_of("go on"));
      group.collect(second_one);
      require(second.front() == 12);
    } else {
      for (auto* const row : {&first, &second}) {
        group.receive_from_last_stage(*row);
        if (row == &second) require(group.listen() == bytes_of("go on"));
        row->front() += 10;
        group.gather(*row, {});
      }
      group.listen();  // sends what was gathered
    }
    if (group.leads()) group.tell(bytes_of("the end")), group.flush();
  });
}

BOOST_AUTO_TEST_CASE(rank_0_tells_and_is_answered) {
  test::run_ranks(3, [](const transport& channel) {
    rank_group group(channel, 3, 1);
    for (const std::string message : {"", "a step", "another one"}) {
      if (group.leads()) {
        group.tell(bytes_of(message));
        const auto answers = group.answers();
        require(answers.size() == 2);
        require(answers[0] == bytes_of(message + "1"));
        require(answers[1] == bytes_of(message + "2"));
      } else {
        require(group.listen() == bytes_of(message));
        group.answer(bytes_of(message + std::to_string(group.rank())));
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(a_rank_that_fails_ends_the_others_waits) {
  std::mutex mutex;
  std::vector<std::string> heard;
  const auto run = [&] {
    test::run_ranks(3, [&](const transport& channel) {
      rank_group group(channel, 3, 1);
      if (group.rank() == 1) throw std::runtime_error("out of luck");
      try {
        std::vector<float> numbers(10);
        group.sum(numbers);
      } catch (const parallel::rank_error& error) {
        const std::lock_guard lock(mutex);
        heard.emplace_back(error.what());
      }
    });
  };
  BOOST_CHECK_THROW(run(), std::runtime_error);
  BOOST_TEST(heard == std::vector<std::string>(2, "rank 1 has failed: out of luck"), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(watchers_are_told_of_the_first_failure) {
  test::thread_ranks ranks(3);
  std::vector<std::string> told;
  const auto tell = [&](const std::string& why) { told.push_back(why); };
  rank_group group(ranks.transport(0), 3, 1);
  const auto watching = group.watch(tell);
  const auto too = group.watch(tell);
  group.watch(tell).reset();
  BOOST_TEST(told.empty());
  ranks.transport(2)->fail("out of luck");
  ranks.transport(1)->fail("out of luck, too");
  const auto late = group.watch(tell);
  BOOST_TEST(told == std::vector<std::string>(3, "rank 2 has failed: out of luck"), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(messages_of_another_length_are_refused) {
  BOOST_CHECK_EXCEPTION(test::run_ranks(2,
                                        [](const transport& channel) {
                                          rank_group group(channel, 2, 1);
                                          std::vector<float> numbers(group.leads() ? 4 : 5);
                                          group.sum(numbers);
                                        }),
                        parallel::rank_error, [](const auto& error) {
                          return std::string(error.what()).find("were expected") != std::string::npos;
                        });
}

BOOST_AUTO_TEST_CASE(another_number_of_processes_is_refused) {
  test::thread_ranks alone(1);
  BOOST_CHECK_EXCEPTION(rank_group(alone.transport(0), 2, 2), std::invalid_argument, [](const auto& error) {
    return error.what() ==
           std::string("load_options.parallel asks for 4 ranks (2 tensor, 2 pipeline); this program runs as 1");
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
