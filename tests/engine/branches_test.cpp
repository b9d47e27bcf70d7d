// Branches of one text as coroutines over forks: a beam search, guesses that are checked at once, and scopes that end.
#include "toy_runner.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>

namespace cogen::test {
namespace {

BOOST_AUTO_TEST_SUITE(branches)

const std::vector<token> prompt{3, 1, 4, 1, 5, 9, 2, 6, 5, 3};

struct found {
  std::vector<token> tokens;  // after the prompt
  double total = 0;

  bool operator==(const found&) const = default;
};

/// Of all continuations of `each` by one token those with the highest sums; of equal ones the first.
std::vector<std::pair<std::size_t, found>> best_after(const std::vector<found>& beams,
                                                      const std::vector<std::vector<float>>& scores, int width) {
  std::vector<std::pair<std::size_t, found>> candidates;
  for (std::size_t i = 0; i < beams.size(); ++i) {
    double sum = 0;
    for (const float each : scores[i]) sum += std::exp(static_cast<double>(each));
    for (token next = 0; next < toy_vocabulary; ++next)
      candidates.emplace_back(i, found{joined(beams[i].tokens, {next}),
                                       beams[i].total + scores[i][static_cast<std::size_t>(next)] - std::log(sum)});
  }
  std::ranges::stable_sort(candidates, std::greater(), [](const auto& candidate) { return candidate.second.total; });
  candidates.resize(static_cast<std::size_t>(width));
  return candidates;
}

std::vector<found> naive_search(int length, int width) {
  std::vector<found> beams{{}};
  for (int i = 0; i < length; ++i) {
    std::vector<std::vector<float>> scores;
    for (const auto& each : beams) scores.push_back(toy_scores(joined(prompt, each.tokens)));
    std::vector<found> grown;
    for (auto& [parent, next] : best_after(beams, scores, width)) grown.push_back(std::move(next));
    beams = std::move(grown);
  }
  return beams;
}

// Coroutines, not bare operations: those a group of Asio 1.24 completes on threads of the system's executor.
using feeding = decltype(net::co_spawn(std::declval<engine::executor_type>(), std::declval<net::awaitable<logits>>(),
                                       net::deferred));

net::awaitable<std::vector<logits>> all_of(std::vector<feeding> steps) {
  auto group = net::experimental::make_parallel_group(std::move(steps));
  auto [order, errors, scores] = co_await group.async_wait(net::experimental::wait_for_all(), net::use_awaitable);
  for (const auto& error : errors) BOOST_CHECK(!error);
  co_return std::move(scores);
}

net::awaitable<std::vector<found>> search(engine& running, int length, int width) {
  std::vector<sequence> places;
  places.push_back(running.open());
  std::vector<found> beams{{}};
  std::vector<logits> last;
  last.push_back(co_await places[0].async_forward(prompt));
  for (int i = 0; i < length; ++i) {
    std::vector<std::vector<float>> scores;
    for (const auto& each : last) scores.emplace_back(each.last().begin(), each.last().end());
    std::vector<sequence> grown;
    std::vector<feeding> steps;
    std::vector<found> next;
    for (auto& [parent, beam] : best_after(beams, scores, width)) {
      grown.push_back(places[parent].fork());
      steps.push_back(net::co_spawn(
          running.get_executor(), grown.back().async_forward({beam.tokens.back()}, logits_of::last, net::use_awaitable),
          net::deferred));
      next.push_back(std::move(beam));
    }
    places.clear();
    last = co_await all_of(std::move(steps));
    places = std::move(grown);
    beams = std::move(next);
  }
  co_return beams;
}

BOOST_DATA_TEST_CASE(a_beam_search_finds_what_one_without_sharing_finds_and_runs_each_token_once,
                     boost::unit_test::data::make({1, 2, 5}), width) {
  toy_engine toy({.slots = 2 * 5, .max_batched_tokens = 64});
  drive(toy.running, [&]() -> net::awaitable<void> {
    const auto beams = co_await search(toy.running, 12, width);
    BOOST_CHECK(beams == naive_search(12, width));
  });
  BOOST_TEST(toy.control->tokens == std::ssize(prompt) + 12 * width);
  BOOST_TEST(toy.control->batches.size() == 13u);
  BOOST_TEST(toy.running.stats().free_slots == 10);
}

BOOST_AUTO_TEST_CASE(where_only_some_beams_have_slots_the_others_take_turns) {
  toy_engine toy({.slots = 2, .max_batched_tokens = 64, .idle_timeout = std::chrono::nanoseconds(0)});
  drive(toy.running, [&]() -> net::awaitable<void> {
    const auto beams = co_await search(toy.running, 6, 5);
    BOOST_CHECK(beams == naive_search(6, 5));
  });
  BOOST_TEST(toy.running.stats().free_slots == 2);
}

BOOST_AUTO_TEST_CASE(guesses_are_checked_in_one_step_and_what_is_wrong_is_taken_back) {
  const auto expected = toy_continuation(prompt, 24);
  for (const int right : {0, 1, 3, 4}) {
    toy_engine toy({.max_batched_tokens = 64});
    drive(toy.running, [&]() -> net::awaitable<void> {
      auto place = toy.running.open();
      auto text = prompt;
      while (text.size() < prompt.size() + expected.size()) {
        const auto done = static_cast<std::ptrdiff_t>(text.size() - prompt.size());
        const auto left = std::min<std::ptrdiff_t>(4, std::ssize(expected) - done - 1);
        std::vector<token> guess(expected.begin() + done, expected.begin() + done + left);
        for (auto i = right; i < left; ++i) guess[static_cast<std::size_t>(i)] = toy_vocabulary - 1;
        const auto held = static_cast<std::ptrdiff_t>(place.tokens().size());
        const auto scores =
            co_await place.async_forward(joined({text.begin() + held, text.end()}, guess), logits_of::all);
        auto row = static_cast<int>(std::ssize(text) - held) - 1;
        const auto likeliest = [&](int index) {
          return static_cast<token>(std::ranges::max_element(scores[index]) - scores[index].begin());
        };
        text.push_back(likeliest(row));
        for (auto draft = guess.begin(); draft != guess.end() && *draft == text.back(); ++draft)
          text.push_back(likeliest(++row));
        place.truncate(static_cast<int>(text.size()) - 1);
      }
      BOOST_TEST(text == joined(prompt, expected), boost::test_tools::per_element());
    });
    BOOST_TEST(std::ssize(toy.control->batches) == (24 + right) / (right + 1));
  }
}

net::awaitable<void> decode_for_ever(sequence place) {
  for (;;) co_await place.async_decode();
}

net::awaitable<void> branch_out(engine& running) {
  using namespace net::experimental::awaitable_operators;
  auto root = running.open();
  co_await root.async_forward(prompt);
  const auto branch = [&] { return decode_for_ever(root.fork()); };
  co_await (branch() && branch() && branch() && (branch() || branch() || branch()));
}

BOOST_DATA_TEST_CASE(a_scope_that_is_cancelled_frees_all_its_branches_within_one_step,
                     boost::unit_test::data::xrange(4, 16), rounds) {
  toy_engine toy({.slots = 8, .max_batched_tokens = 64});
  net::io_context context;
  auto other = toy.running.generate({.prompt = token_ids{50, 51}, .max_tokens = 30});
  net::cancellation_signal stop;
  bool ended = false;
  net::co_spawn(toy.running.get_executor(), branch_out(toy.running),
                net::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr error) { ended = error != nullptr; }));
  for (int i = 0; i < rounds; ++i) {
    toy.running.poll_one();
    context.poll();
  }
  net::post(toy.running.get_executor(), [&] { stop.emit(net::cancellation_type::terminal); });
  toy.running.poll_one();
  BOOST_TEST(ended);
  BOOST_TEST(toy.running.stats().free_slots == (other.usage().generated_tokens == 30 ? 8 : 7));
  const int previous_tokens = toy.control->tokens;
  toy.running.poll_one();
  BOOST_TEST(toy.control->tokens - previous_tokens <= 1);
  std::optional<completion> said;
  other.async_complete([&](error_code, completion answer) { said = std::move(answer); });
  toy.settle(context);
  BOOST_REQUIRE(said);
  BOOST_TEST(ids_of(said->tokens) == toy_continuation({50, 51}, 30), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
