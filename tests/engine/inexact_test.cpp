// Swap-outs of 8 bits a number: a restored sequence is close and says so, and no other is affected.
#include "kept_engines.hpp"
#include "session_files.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <unistd.h>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

engine_options with_q8(engine_options options) {
  options.swap.format = swap_format::q8;
  return options;
}

net::awaitable<std::vector<float>> fed(sequence& seq, std::vector<token> tokens) {
  const auto found = co_await seq.async_forward(std::move(tokens));
  co_return std::vector<float>(found.last().begin(), found.last().end());
}

/// How far two rows of logits are apart at most, beside the largest of them.
float distance(const std::vector<float>& a, const std::vector<float>& b) {
  float most = 0, apart = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(a[i]));
    apart = std::max(apart, std::abs(a[i] - b[i]));
  }
  return apart / most;
}

/// Whether a swap-out of it loses anything: where all is quantized already, or is a state, there is nothing to lose.
bool loses(const kept_engine& kept) {
  return kept.golden != "mamba_tiny" && kept.kind != "int8" && kept.kind != "kivi2";
}

/// One slot, and a model whose sequences are preempted and go on.
struct one_model {
  explicit one_model(engine_options wanted = with_q8(tiny_engine())) : options(std::move(wanted)) {
    options.log = [this](std::string_view said) { log += said; };
  }

  std::vector<token> prompt(unsigned i) const { return some_tokens(*model, 70, i); }
  std::vector<float> alone(unsigned i, const std::vector<token>& more) const {
    return logits_after(*model, options, joined(prompt(i), more));
  }

  std::shared_ptr<const cogen::model> model = golden_model("llama_default");
  engine_options options;
  std::string log;
  const session_path file;
};

/// Nothing it is given arrives.
class broken_transfer final : public cache::transfer {
 public:
  void start(std::vector<cache::byte_copy>, callback done) override {
    done(std::make_exception_ptr(std::runtime_error("it was lost")));
  }
};

std::int64_t bytes_on_file() { return ::lseek(nameless_files().at(0), 0, SEEK_END); }

}  // namespace

BOOST_AUTO_TEST_SUITE(inexact)

BOOST_DATA_TEST_CASE(one_that_comes_back_is_near_and_the_other_is_as_it_was,
                     data::make(kept_engines()) * data::make({false, true}), each, on_a_file) {
  const auto model = golden_model(each.golden);
  auto options = with_q8(each.options());
  if (on_a_file) {
    options.swap.bytes = 0;
    options.swap.directory = std::filesystem::temp_directory_path();
  }
  const int count = *options.limits.max_sequence_length / 2;
  const auto tokens = some_tokens(*model, count, 5), other_tokens = some_tokens(*model, count, 6);
  engine running(model, options);
  drive(running, [&]() -> net::awaitable<void> {
    auto seq = open(running, *model), other = open(running, *model);
    BOOST_TEST((co_await fed(seq, tokens) == logits_after(*model, options, tokens)));
    co_await fed(other, other_tokens);
    co_await seq.async_suspend();
    BOOST_TEST(running.stats().swapped_out == 1u);
    BOOST_TEST(seq.exact());
    const auto previous_tokens = running.stats().tokens;
    const auto found = co_await fed(seq, {7, 8});
    BOOST_TEST(running.stats().tokens == previous_tokens + 2);
    BOOST_TEST(!seq.exact());
    const auto expected = logits_after(*model, options, joined(tokens, {7, 8}));
    BOOST_TEST(distance(expected, found) < 0.05F);
    BOOST_TEST((found == expected) == !loses(each));
    BOOST_TEST((co_await fed(other, {9}) == logits_after(*model, options, joined(other_tokens, {9}))));
    BOOST_TEST(other.exact());
  });
}

BOOST_DATA_TEST_CASE(a_thread_of_its_own_packs_while_others_run, data::make({false, true}), on_a_file) {
  one_model m;
  m.options.external_stepping = false;
  if (on_a_file) {
    m.options.swap.bytes = 0;
    m.options.swap.directory = std::filesystem::temp_directory_path();
  }
  engine running(m.model, m.options);
  net::io_context context;
  const auto converse = [&](unsigned number, bool preemptions) -> net::awaitable<void> {
    auto seq = running.open();
    co_await fed(seq, m.prompt(number));
    std::vector<token> said;
    for (token next = 0; next < 6; ++next) {
      if (preemptions) co_await seq.async_suspend();
      said.push_back(next);
      const auto found = co_await fed(seq, {next});
      const auto expected = m.alone(number, said);
      BOOST_TEST(distance(expected, found) < (preemptions ? 0.1F : 1e-30F));
    }
    BOOST_TEST(seq.exact() == !preemptions);
  };
  for (unsigned number = 0; number < 4; ++number)
    net::co_spawn(context, converse(number, number % 2 == 0), [](std::exception_ptr error) { BOOST_TEST(!error); });
  context.run();
  BOOST_TEST(running.stats().swapped_out == 2u * 6u);
}

BOOST_DATA_TEST_CASE(in_the_exact_format_all_sequences_stay_exact, data::make(kept_engines()), each) {
  const auto model = golden_model(each.golden);
  const auto options = each.options();
  const auto tokens = some_tokens(*model, *options.limits.max_sequence_length / 2, 5);
  engine running(model, options);
  drive(running, [&]() -> net::awaitable<void> {
    auto seq = open(running, *model);
    co_await fed(seq, tokens);
    co_await seq.async_suspend();
    BOOST_TEST((co_await fed(seq, {7, 8}) == logits_after(*model, options, joined(tokens, {7, 8}))));
    BOOST_TEST(seq.exact());
  });
}

BOOST_AUTO_TEST_CASE(a_stream_says_whether_it_was_exact_to_its_end) {
  for (const auto format : {swap_format::exact, swap_format::q8}) {
    one_model m;
    m.options.batching.slots = 1;
    m.options.policies.idle_timeout = std::chrono::milliseconds(0);
    m.options.swap.format = format;
    engine running(m.model, m.options);
    net::io_context context;
    const auto ask = [&](unsigned i) {
      return running.generate(
          {.prompt = token_ids(m.prompt(i)), .max_tokens = 8, .ignore_eos = true, .max_buffered_tokens = 1});
    };
    auto slow = ask(1);
    slow.async_next(net::bind_executor(context, [](error_code, std::optional<piece>) {}));
    settle(running, context);
    auto other = ask(2);
    std::optional<completion> received, received_other;
    other.async_complete(net::bind_executor(context, [&](error_code, completion whole) { received_other = whole; }));
    settle(running, context);
    BOOST_TEST_REQUIRE(running.stats().swapped_out > 0u);
    BOOST_TEST(slow.usage().exact);
    slow.async_complete(net::bind_executor(context, [&](error_code, completion whole) { received = whole; }));
    settle(running, context);
    BOOST_TEST_REQUIRE((received && received_other));
    BOOST_TEST(received->usage.exact == (format == swap_format::exact));
    BOOST_TEST(slow.usage().exact == received->usage.exact);
    BOOST_TEST(received_other->usage.exact);
    std::vector<token> said;
    for (const auto& choice : received_other->tokens) said.push_back(choice.id);
    BOOST_TEST(said == loop_by_hand(*m.model, m.options, m.prompt(2), 8), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(no_other_sequence_shares_what_came_back) {
  for (const auto format : {swap_format::exact, swap_format::q8}) {
    one_model m;
    m.options.swap.format = format;
    engine running(m.model, m.options);
    drive(running, [&]() -> net::awaitable<void> {
      {
        auto seq = running.open();
        co_await fed(seq, m.prompt(1));
        co_await seq.async_suspend();
        co_await fed(seq, {7});
      }
      const auto previous_tokens = running.stats().tokens;
      auto next = running.open();
      BOOST_TEST((co_await fed(next, joined(m.prompt(1), {8})) == m.alone(1, {8})));
      BOOST_TEST(next.exact());
      BOOST_TEST(running.stats().tokens - previous_tokens == (format == swap_format::exact ? 1u : 71u));
    });
  }
}

BOOST_AUTO_TEST_CASE(forks_are_as_exact_as_what_they_begin_with) {
  one_model m;
  engine running(m.model, m.options);
  drive(running, [&]() -> net::awaitable<void> {
    auto seq = running.open();
    co_await fed(seq, m.prompt(1));
    auto early = seq.fork();
    co_await seq.async_suspend();
    auto meanwhile = seq.fork();
    const auto found = co_await fed(seq, {7});
    auto late = seq.fork();
    BOOST_TEST(!late.exact());
    BOOST_TEST((co_await fed(early, {7}) == m.alone(1, {7})));
    BOOST_TEST((co_await fed(meanwhile, {7}) == m.alone(1, {7})));
    BOOST_TEST(early.exact());
    BOOST_TEST(meanwhile.exact());
    late.truncate(70);
    BOOST_TEST((co_await fed(late, {7}) == found));
    BOOST_TEST(!late.exact());
  });
}

BOOST_AUTO_TEST_CASE(one_whose_swap_out_is_lost_is_run_again_and_stays_exact) {
  one_model m;
  m.options.swap.transfer = std::make_shared<broken_transfer>();
  engine running(m.model, m.options);
  drive(running, [&]() -> net::awaitable<void> {
    auto seq = running.open();
    co_await fed(seq, m.prompt(1));
    co_await seq.async_suspend();
    BOOST_TEST((co_await fed(seq, {7}) == m.alone(1, {7})));
    BOOST_TEST(seq.exact());
  });
  BOOST_TEST(running.stats().tokens == 70u + 71u);
  BOOST_TEST(running.stats().swap_bytes == 0);
  BOOST_TEST(m.log.find("it was lost") != std::string::npos, m.log);
}

BOOST_AUTO_TEST_CASE(what_has_changed_in_the_file_is_run_again_exactly_and_the_other_comes_back) {
  one_model m;
  m.options.swap.bytes = 0;
  m.options.swap.directory = std::filesystem::temp_directory_path();
  engine running(m.model, m.options);
  drive(running, [&]() -> net::awaitable<void> {
    auto first = running.open(), second = running.open();
    co_await fed(first, m.prompt(1));
    co_await first.async_suspend();
    co_await fed(second, m.prompt(2));
    co_await second.async_suspend();
    const char other = 0x55;
    BOOST_TEST(::pwrite(nameless_files().at(0), &other, 1, 17) == 1);
    BOOST_TEST((co_await fed(first, {7}) == m.alone(1, {7})));
    BOOST_TEST(first.exact());
    BOOST_TEST(distance(m.alone(2, {7}), co_await fed(second, {7})) < 0.05F);
    BOOST_TEST(!second.exact());
  });
  BOOST_TEST(running.stats().tokens == 70u + 70u + 71u + 1u);
  BOOST_TEST(m.log.find("what was swapped out to a file has changed there") != std::string::npos, m.log);
}

BOOST_AUTO_TEST_CASE(what_is_swapped_out_takes_about_half_and_no_more_than_is_counted) {
  std::int64_t counted[2], taken[2];
  for (const auto format : {swap_format::exact, swap_format::q8}) {
    one_model m;
    m.options.kv.dtype = cache::scalar::bf16;
    m.options.swap.format = format;
    m.options.swap.bytes = 0;
    m.options.swap.directory = std::filesystem::temp_directory_path();
    engine running(m.model, m.options);
    drive(running, [&]() -> net::awaitable<void> {
      auto seq = running.open();
      co_await fed(seq, m.prompt(1));
      co_await seq.async_suspend();
      counted[static_cast<int>(format)] = running.stats().swap_bytes;
      taken[static_cast<int>(format)] = bytes_on_file();
    });
    BOOST_TEST(taken[static_cast<int>(format)] > 0);
    BOOST_TEST(taken[static_cast<int>(format)] <= counted[static_cast<int>(format)]);
  }
  // Its heads have 12 numbers, which take 14 bytes of 24, and its blocks are rounded up to pages.
  BOOST_TEST(static_cast<double>(taken[1]) < 0.63 * static_cast<double>(taken[0]));
  BOOST_TEST(static_cast<double>(counted[1]) < 0.63 * static_cast<double>(counted[0]));

  one_model m;
  m.options.kv.dtype = cache::scalar::bf16;
  m.options.swap.bytes = counted[1];
  engine running(m.model, m.options);
  drive(running, [&]() -> net::awaitable<void> {
    auto first = running.open(), second = running.open();
    co_await fed(first, m.prompt(1));
    co_await fed(second, m.prompt(2));
    co_await first.async_suspend();
    co_await second.async_suspend();
  });
  BOOST_TEST(running.stats().swapped_out == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_saved_from_its_slot_is_exact_and_one_that_was_not_stays_so) {
  one_model m;
  for (const auto opened_by : {swap_format::exact, swap_format::q8})
    for (const bool preempted : {false, true}) {
      std::vector<float> expected;
      engine first(m.model, m.options);
      drive(first, [&]() -> net::awaitable<void> {
        auto seq = first.open();
        co_await fed(seq, m.prompt(1));
        if (preempted) co_await seq.async_suspend();
        co_await fed(seq, {7});
        co_await seq.async_save(m.file.path);
        expected = co_await fed(seq, {8});
        BOOST_TEST(seq.exact() == !preempted);
      });
      BOOST_TEST((expected == m.alone(1, {7, 8})) == !preempted);
      auto options = m.options;
      options.swap.format = opened_by;
      engine second(m.model, options);
      drive(second, [&]() -> net::awaitable<void> {
        auto seq = co_await second.async_load_session(m.file.path);
        BOOST_TEST(seq.exact() == !preempted);
        BOOST_TEST((co_await fed(seq, {8}) == expected));
        BOOST_TEST(seq.exact() == !preempted);
      });
    }
}

BOOST_AUTO_TEST_CASE(what_is_saved_out_of_a_swap_out_says_so_and_goes_on_as_it_would_have) {
  for (const bool has_room : {true, false}) {
    one_model m;
    std::vector<float> expected;
    engine first(m.model, m.options);
    drive(first, [&]() -> net::awaitable<void> {
      auto seq = first.open();
      co_await fed(seq, m.prompt(1));
      co_await seq.async_suspend();
      co_await seq.async_save(m.file.path);
      BOOST_TEST(seq.exact());
      expected = co_await fed(seq, {7});
    });
    auto options = tiny_engine();
    if (!has_room) options.swap.bytes = 0;
    engine second(m.model, options);
    drive(second, [&]() -> net::awaitable<void> {
      auto seq = co_await second.async_load_session(m.file.path);
      BOOST_TEST(seq.exact());
      BOOST_TEST((co_await fed(seq, {7}) == (has_room ? expected : m.alone(1, {7}))));
      BOOST_TEST(seq.exact() == !has_room);
    });
    BOOST_TEST((expected != m.alone(1, {7})));
  }
}

/// Devices add in another order, so the next logits are near those of the CPU in any case.
BOOST_DATA_TEST_CASE(devices_say_so_too, data::make({"plain", "int8", "sinks"}) * data::make({false, true}), kind,
                     on_a_file) {
  for (const auto& each : kept_engines_everywhere()) {
    if (each.device != "reference" || each.kind != kind) continue;
    auto options = each.options();
    if (on_a_file) {
      options.swap.bytes = 0;
      options.swap.directory = std::filesystem::temp_directory_path();
    }
    const auto prompt = some_tokens(*each.model(), 70, 5);
    const auto after_a_swap = [&](swap_format format) {
      options.swap.format = format;
      engine running(each.model(), options);
      std::vector<float> found;
      drive(running, [&]() -> net::awaitable<void> {
        auto seq = running.open();
        co_await fed(seq, prompt);
        co_await seq.async_suspend();
        found = co_await fed(seq, {7, 8});
        BOOST_TEST(seq.exact() == (format == swap_format::exact));
        BOOST_TEST(running.stats().tokens == 72u);
      });
      return found;
    };
    const auto exact = after_a_swap(swap_format::exact), near = after_a_swap(swap_format::q8);
    BOOST_TEST(distance(exact, near) < 0.05F);
    BOOST_TEST((exact == near) == !loses(each));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
