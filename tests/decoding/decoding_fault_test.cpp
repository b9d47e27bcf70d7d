// Strategies in which each allocation fails in turn: every reader gets a result, none a wrong one, and nothing is held.
#include "engine/account.hpp"
#include "engine/failing_memory.hpp"
#include "engine/toy_runner.hpp"

#include <cogen/decoding/beam_search.hpp>
#include <cogen/decoding/best_of.hpp>
#include <cogen/decoding/guidance.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <array>

namespace cogen::test {
namespace {

BOOST_AUTO_TEST_SUITE(decoding_faults)

constexpr int length = 4;
const std::vector<token> prompt{3, 1, 4};

group_strategy searching() { return cogen::beam_search({.num_beams = 3, .num_return_sequences = 2}); }
strategy sampling() { return cogen::best_of({.n = 3}); }
strategy guiding() { return cogen::guidance({.negative_prompt_ids = {7, 8}}); }

struct named_strategy {
  const char* name;
  std::variant<strategy (*)(), group_strategy (*)()> make;
  double temperature;

  friend std::ostream& operator<<(std::ostream& out, const named_strategy& strategy) { return out << strategy.name; }
};

const named_strategy strategies[]{{"beams", searching, 0}, {"best of n", sampling, 1}, {"guidance", guiding, 0}};

struct reader {
  account books;
  std::optional<token_stream> stream;
};

struct trial {
  bool met = false;
  bool succeeded = false;
};

class history {
 public:
  trial run(const named_strategy& strategy, long n) {
    failing_memory::refuse(n);
    ask(strategy);
    for (int round = 0; round < 3 * length + 4; ++round) go();
    trial result{.met = failing_memory::relent()};
    for (int round = 0; round < 3; ++round) go();
    for (auto& reader : readers_) {
      BOOST_TEST(reader.books.received == reader.books.begun, strategy.name << ", allocation " << n);
      if (reader.stream && !reader.stream->error()) result.succeeded = reader.books.count == length;
      reader.stream.reset();
    }
    for (int round = 0; round < 3; ++round) go();
    if (!toy_.running.error()) {
      BOOST_TEST(toy_.running.stats().sequences == 0, strategy.name << ", allocation " << n);
      BOOST_TEST(toy_.running.stats().free_slots == 8, strategy.name << ", allocation " << n);
    }
    return result;
  }

 private:
  void ask(const named_strategy& strategy) {
    std::vector<token_stream> streams;
    const auto add = [&](auto make) {
      request wanted{.prompt = token_ids(prompt),
                     .max_tokens = length,
                     .sampling = {.temperature = strategy.temperature, .seed = 3}};
      auto begun = toy_.running.generate(std::move(wanted), make());
      if constexpr (std::same_as<decltype(begun), stream_group>)
        for (auto& each : begun) streams.push_back(std::move(each));
      else
        streams.push_back(std::move(begun));
    };
    try {
      streams.reserve(2);
      std::visit(add, strategy.make);
    } catch (const std::bad_alloc&) {
    }
    for (std::size_t i = 0; i < streams.size(); ++i) {
      auto& reader = readers_[i];
      reader.stream.emplace(std::move(streams[i]));
      start(reader.books, [&] {
        reader.stream->async_complete(net::bind_executor(context_, [&reader](error_code, const completion& whole) {
          ++reader.books.received;
          reader.books.read(whole.tokens);
        }));
      });
    }
  }

  void go() { poll_short_of_memory(toy_.running, context_); }

  toy_engine toy_{{.slots = 8, .max_batched_tokens = 64}};
  net::io_context context_;
  std::array<reader, 2> readers_;
};

BOOST_DATA_TEST_CASE(any_allocation_may_fail_and_nothing_hangs_leaks_or_lies, boost::unit_test::data::make(strategies),
                     each) {
  BOOST_TEST(history().run(each, 1'000'000).succeeded);  // and what is made once in a process has been made
  long n = 0;
  for (trial last{.met = true}; last.met; ++n) {
    const long blocks = failing_memory::blocks();
    last = history().run(each, n);
    BOOST_TEST(failing_memory::blocks() == blocks, each.name << ", allocation " << n);
  }
  BOOST_TEST(n > 100);
  BOOST_TEST_MESSAGE(n - 1 << " allocations of " << each.name << " failed in turn");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
