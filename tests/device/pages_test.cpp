// Engines whose caches get memory as tokens come.
#include "../engine/manual_clock.hpp"
#include "../engine/model_engines.hpp"
#include "../repetitions.hpp"
#include "device_models.hpp"
#include "engine/parts/make_parts.hpp"
#include "network/backend/reference/shared_pages.hpp"
#include "plain_backend.hpp"

#include <cogen/policy.hpp>

#include <ATen/TensorOperators.h>
#include <boost/asio/bind_executor.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace cogen::test {

namespace {

constexpr int planes = 6;                 // of three layers
constexpr std::int64_t row_size = 96;     // bytes of two heads of 12 numbers
constexpr std::int64_t page_size = 4096;  // 42 tokens, and a part of one

std::int64_t blocks_of(std::int64_t tokens) { return (tokens * row_size + page_size - 1) / page_size; }

/// A device with pages, some of which it may refuse.
struct paged_device {
  paged_device() {
    where->page = page_size;
    where->hook = [this](std::string_view operation) {
      if (operation == "page") ++pages;
      if (operation != "page" && operation != "map") return;
      if (const int call = ++calls; call >= first_refused && call <= last_refused) throw std::bad_alloc();
    };
  }

  void refuse(int first, int last) {
    calls = 0;
    first_refused = first;
    last_refused = last;
  }
  void refuse_nothing() { refuse(std::numeric_limits<int>::max(), 0); }

  engine_options options(int slots) const {
    auto options = tiny_engine(*model);
    options.kv.dtype.reset();
    options.batching.slots = slots;
    return options;
  }

  std::vector<token> after(const std::vector<token>& prompt, int count) const {
    return loop_by_hand(*host, tiny_engine(*host), prompt, count);
  }

  std::atomic<int> pages = 0, calls = 0, first_refused = std::numeric_limits<int>::max(), last_refused = 0;
  const std::shared_ptr<plain_backend> where = std::make_shared<plain_backend>();
  const std::shared_ptr<const cogen::model> model = golden_model_on(where, "llama_default");
  const std::shared_ptr<const cogen::model> host = golden_model("llama_default");
};

/// What requests get, or their errors.
struct answers {
  std::vector<std::vector<token>> tokens;
  std::vector<error_code> errors;
};

answers ask(engine& running, const std::vector<std::vector<token>>& prompts, int count) {
  net::io_context context;
  answers result{.tokens = std::vector<std::vector<token>>(prompts.size()),
                 .errors = std::vector<error_code>(prompts.size())};
  std::vector<token_stream> streams;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    streams.push_back(running.generate({.prompt = token_ids(prompts[i]), .max_tokens = count, .ignore_eos = true}));
    streams[i].async_complete(net::bind_executor(context, [&result, i](error_code code, const completion& whole) {
      result.errors[i] = code;
      for (const auto& each : whole.tokens) result.tokens[i].push_back(each.id);
    }));
  }
  settle(running, context);
  return result;
}

BOOST_AUTO_TEST_SUITE(device_pages)

BOOST_AUTO_TEST_CASE(several_addresses_read_one_page) {
  const auto memory = device::make_shared_pages(4 * page_size, page_size);
  const auto page = memory->allocate(), other = memory->allocate();
  const std::array both{page, other};
  memory->map(0, both);
  memory->map(3, {&page, 1});
  const auto bytes = memory->bytes();
  bytes.slice(0, 0, page_size).fill_(7);
  bytes.slice(0, page_size, 2 * page_size).fill_(9);
  BOOST_TEST(bytes[3 * page_size].item<int>() == 7);
  bytes[4 * page_size - 1].fill_(8);
  BOOST_TEST(bytes[page_size - 1].item<int>() == 8);
  memory->unmap(0, 2);
  memory->map(1, {&page, 1});
  BOOST_TEST(bytes[2 * page_size - 1].item<int>() == 8);
  memory->unmap(1, 1);
  memory->unmap(3, 1);
}

BOOST_AUTO_TEST_CASE(a_prompt_of_many_requests_takes_its_memory_once) {
  paged_device device;
  constexpr int requests = 16, common = 150;
  engine running(device.model, device.options(requests + 1));
  const auto prompt = some_tokens(*device.host, common, 3);
  ask(running, {prompt}, 1);
  BOOST_TEST(device.pages == planes * blocks_of(common));
  std::vector<std::vector<token>> prompts;
  for (int i = 0; i < requests; ++i) prompts.push_back(joined(prompt, {5 + i, 7}));
  const auto received = ask(running, prompts, 4);
  for (int i = 0; i < requests; ++i)
    BOOST_TEST(received.tokens[static_cast<std::size_t>(i)] == device.after(prompts[static_cast<std::size_t>(i)], 4),
               boost::test_tools::per_element());
  // The whole pages once, and in each slot the one in which they part.
  BOOST_TEST(device.pages <= planes * (common * row_size / page_size + requests + 1));
}

BOOST_AUTO_TEST_CASE(slots_are_as_long_as_one_sequence_may_be) {
  paged_device device;
  auto options = device.options(200);
  const std::int64_t all_slots = options.batching.slots * planes * 240 * row_size;
  options.kv.bytes = 2 * planes * (blocks_of(240) + 2) * page_size;
  BOOST_TEST(all_slots > 10 * *options.kv.bytes);
  engine running(device.model, options);
  const std::vector prompts{some_tokens(*device.host, 200, 1), some_tokens(*device.host, 200, 2)};
  const auto received = ask(running, prompts, 30);
  for (std::size_t i = 0; i < prompts.size(); ++i)
    BOOST_TEST(received.tokens[i] == device.after(prompts[i], 30), boost::test_tools::per_element());
  device.where->page = 0;
  BOOST_CHECK_THROW(engine(device.model, options), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(an_idle_engine_gives_memory_back) {
  paged_device device;
  auto options = device.options(2);
  options.kv.prefix_caching = false;
  auto parts = detail::make_parts(device.model, options);
  const auto time = std::make_shared<manual_clock>();
  parts.clock = time;
  engine running(std::move(parts), options);
  const std::vector<std::vector<token>> prompts{some_tokens(*device.host, 150, 3)};
  const auto pages_of_one = [&] {
    const int previous = device.pages;
    const auto received = ask(running, prompts, 4);
    BOOST_TEST(received.tokens.front() == device.after(prompts.front(), 4), boost::test_tools::per_element());
    return device.pages - previous;
  };
  pages_of_one();
  BOOST_TEST(pages_of_one() == 0);  // the slot has them still
  time->advance(std::chrono::seconds(10));
  running.poll_one();
  BOOST_TEST(pages_of_one() >= planes * blocks_of(150));
}

BOOST_AUTO_TEST_CASE(sequences_are_preempted_where_memory_is_short) {
  paged_device device;
  auto options = device.options(4);
  options.kv.bytes = planes * 14 * page_size;
  options.policies.allocation = [] { return scheduler::watermarks({.step = 8}); };
  engine running(device.model, options);
  std::vector<std::vector<token>> prompts;
  for (unsigned i = 0; i < 4; ++i) prompts.push_back(some_tokens(*device.host, 60, i));
  const auto received = ask(running, prompts, 120);
  for (std::size_t i = 0; i < prompts.size(); ++i)
    BOOST_TEST(received.tokens[i] == device.after(prompts[i], 120), boost::test_tools::per_element());
  BOOST_TEST(running.stats().swapped_out > 0u);
  BOOST_TEST(device.pages > 0);
}

struct refusals {
  bool any;    ///< so many calls were made
  int failed;  ///< operations
};

/// Requests, and a sequence that is swapped out and in, on a device that refuses some calls. Those that fail say why,
/// and the others are right. Then all go on.
refusals run_short_of_memory(paged_device& device, const std::vector<std::vector<token>>& prompts,
                             const std::vector<std::vector<token>>& expected, int first, int last) {
  device.refuse_nothing();
  engine running(device.model, device.options(3));
  running.poll_one();  // it has started
  device.refuse(first, last);
  int failed = 0;
  const auto received = ask(running, prompts, 8);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    if (received.errors[i]) {
      BOOST_TEST((received.errors[i] == error::out_of_memory));
      ++failed;
    } else {
      BOOST_TEST((received.tokens[i] == expected[i]));
    }
  }
  drive(running, [&]() -> net::awaitable<void> {
    auto sequence = running.open();
    try {
      co_await sequence.async_forward(prompts.front());
      co_await sequence.async_suspend();
      BOOST_TEST((co_await sequence.async_decode({})).id == expected.front().front());
    } catch (const generation_error& why) {
      BOOST_TEST((why.code() == error::out_of_memory));
      ++failed;
    }
  });
  BOOST_TEST(!running.error());
  const bool any = device.calls >= first;
  device.refuse_nothing();
  const auto again = ask(running, prompts, 8);
  BOOST_TEST((again.tokens == expected));
  BOOST_TEST(running.stats().free_slots == 3);
  return {any, failed};
}

BOOST_AUTO_TEST_CASE(memory_that_is_refused_fails_the_request_that_needs_it) {
  paged_device device;
  const auto common = some_tokens(*device.host, 75, 9);
  const std::vector prompts{joined(common, {1}), joined(common, {2, 3}), some_tokens(*device.host, 70, 4)};
  std::vector<std::vector<token>> expected;
  for (const auto& each : prompts) expected.push_back(device.after(each, 8));
  int failed = 0, lost = 0;
  bool any = true;
  for (int call = 1; any; call += failure_stride) {
    BOOST_TEST_CONTEXT("call " << call) {
      const auto once = run_short_of_memory(device, prompts, expected, call, call);
      BOOST_TEST(once.failed <= 1);
      failed += once.failed;
      any = once.any;
      if (call % 5 == 0)
        lost += run_short_of_memory(device, prompts, expected, call, std::numeric_limits<int>::max()).failed;
    }
  }
  BOOST_TEST(failed > 5);
  BOOST_TEST(lost > 5);
}

BOOST_AUTO_TEST_CASE(an_engine_that_gets_no_memory_is_refused) {
  paged_device device;
  const std::vector<std::vector<token>> prompts{some_tokens(*device.host, 20, 1)};
  for (int call = 1; call <= 2 * planes; ++call) {
    device.refuse(call, call);
    {
      engine refused(device.model, device.options(2));
      ask(refused, prompts, 3);
      BOOST_TEST(static_cast<bool>(refused.error()));
    }
    device.refuse_nothing();
    engine next(device.model, device.options(2));
    BOOST_TEST((ask(next, prompts, 3).tokens.front() == device.after(prompts.front(), 3)));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
