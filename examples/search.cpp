// Several continuations of one text, on forks that share its cache and run in one batch: samples, a beam search, and
// guesses that are checked all at once. Each is a coroutine over sequences, and cancelling it ends its branches.
#include "model_path.hpp"

#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace asio = boost::asio;
using cogen::token;

/// Log-probabilities.
std::vector<double> normalized(std::span<const float> scores) {
  const double most = *std::ranges::max_element(scores);
  const auto add = [&](double sum, float score) { return sum + std::exp(score - most); };
  const double log_sum = most + std::log(std::accumulate(scores.begin(), scores.end(), 0.0, add));
  std::vector<double> result;
  for (const float score : scores) result.push_back(score - log_sum);
  return result;
}

token likeliest(std::span<const float> scores) {
  return static_cast<token>(std::ranges::max_element(scores) - scores.begin());
}

/// Runs all of them beside each other, and waits for all. An error of one is thrown when all have ended.
template <class Result>
asio::awaitable<std::vector<Result>> all_of(cogen::engine& engine, std::vector<asio::awaitable<Result>> tasks) {
  const auto start = [&](auto& task) { return asio::co_spawn(engine.get_executor(), std::move(task), asio::deferred); };
  std::vector<decltype(start(tasks[0]))> started;
  for (auto& task : tasks) started.push_back(start(task));
  auto group = asio::experimental::make_parallel_group(std::move(started));
  auto [order, errors, results] = co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
  for (const auto& error : errors)
    if (error) std::rethrow_exception(error);
  co_return std::move(results);
}

//[samples
asio::awaitable<std::vector<token>> say(cogen::sequence place, cogen::sampling_params how, int count) {
  std::vector<token> said;
  while (std::ssize(said) < count) said.push_back((co_await place.async_decode({}, how)).id);
  co_return said;
}

/// So many samples of what may follow the prompt, which runs once.
asio::awaitable<std::vector<std::vector<token>>> sample(cogen::engine& engine, std::vector<token> prompt, int length,
                                                        int count) {
  auto root = engine.open();
  co_await root.async_forward(std::move(prompt));
  const auto lively = cogen::sampling_params{.temperature = 0.9, .seed = 4};  // the forks sample different numbers
  std::vector<asio::awaitable<std::vector<token>>> branches;
  for (int i = 0; i < count; ++i) branches.push_back(say(root.fork(), lively, length));
  co_return co_await all_of(engine, std::move(branches));
}
//]

//[beams
struct beam {
  cogen::sequence place;
  double total;                // of the log-probabilities of its tokens
  std::vector<double> scores;  // of each token that may come next
};

struct continuation {
  std::size_t of;
  token next;
  double total;
};

std::vector<continuation> best(const std::vector<beam>& beams, int width) {
  std::vector<continuation> all;
  for (std::size_t i = 0; i < beams.size(); ++i)
    for (std::size_t id = 0; id < beams[i].scores.size(); ++id)
      all.push_back({i, static_cast<token>(id), beams[i].total + beams[i].scores[id]});
  std::ranges::partial_sort(all, all.begin() + width, std::greater(), &continuation::total);
  return {all.begin(), all.begin() + width};
}

/// What a search of that width finds, the likeliest first.
asio::awaitable<std::vector<beam>> search(cogen::engine& engine, std::vector<token> prompt, int length, int width) {
  std::vector<beam> beams;
  beams.push_back({engine.open(), 0, {}});
  beams[0].scores = normalized((co_await beams[0].place.async_forward(std::move(prompt))).last());
  for (int i = 0; i < length; ++i) {
    std::vector<beam> grown;
    std::vector<asio::awaitable<cogen::logits>> steps;
    for (const auto& each : best(beams, width)) {
      grown.push_back({beams[each.of].place.fork(), each.total, {}});
      steps.push_back(grown.back().place.async_forward({each.next}, cogen::logits_of::last, asio::use_awaitable));
    }
    beams.clear();  // beams without a continuation leave the batch
    const auto scores = co_await all_of(engine, std::move(steps));
    for (std::size_t b = 0; b < grown.size(); ++b) grown[b].scores = normalized(scores[b].last());
    beams = std::move(grown);
  }
  co_return std::move(beams);
}
//]

//[guesses
/// What followed the last two tokens when they stood together before.
std::vector<token> guess(const std::vector<token>& text) {
  constexpr std::ptrdiff_t known = 2, most = 8;
  const auto last = text.end() - known;
  const auto found = std::find_end(text.begin(), text.end() - 1, last, text.end());
  if (found == text.end() - 1) return {};
  const auto next = found + known;
  return {next, next + std::min(most, text.end() - next)};
}

/// The likeliest token after the other, as many as are right of a guess at once. Gives the number of steps.
asio::awaitable<int> complete(cogen::engine& engine, std::vector<token>& text, int count) {
  auto place = engine.open();
  const auto end = text.size() + static_cast<std::size_t>(count);
  int steps = 0;
  for (; text.size() < end; ++steps) {
    const auto held = place.tokens().size();
    const auto guessed = guess(text);
    auto fed = std::vector(text.begin() + static_cast<std::ptrdiff_t>(held), text.end());
    auto row = static_cast<int>(fed.size()) - 1;  // after what is known
    fed.insert(fed.end(), guessed.begin(), guessed.end());
    const auto scores = co_await place.async_forward(std::move(fed), cogen::logits_of::all);
    text.push_back(likeliest(scores[row]));
    for (auto next = guessed.begin(); next != guessed.end() && *next == text.back() && text.size() < end; ++next)
      text.push_back(likeliest(scores[++row]));
    place.truncate(static_cast<int>(text.size()) - 1);  // the rest of the guess was wrong
  }
  co_return steps;
}
//]

/// What follows the prompt, on a line.
std::string written(const cogen::model& model, const std::vector<token>& tokens, std::size_t prompt = 0) {
  auto text = model.tokenizer().decode(std::span(tokens).subspan(prompt));
  std::ranges::replace(text, '\n', ' ');
  return text;
}

asio::awaitable<void> show(cogen::engine& engine, const cogen::model& model) {
  const auto prompt = model.tokenizer().encode("My favourite season is");
  for (const auto& said : co_await sample(engine, prompt, 8, 4)) fmt::print("sampled:{}\n", written(model, said));

  const auto greedy = co_await search(engine, prompt, 8, 1);
  const auto beams = co_await search(engine, prompt, 8, 4);
  fmt::print("the likeliest each time: {:.2f}{}\n", greedy[0].total,
             written(model, greedy[0].place.tokens(), prompt.size()));
  for (const auto& each : beams)
    fmt::print("a beam: {:.2f}{}\n", each.total, written(model, each.place.tokens(), prompt.size()));

  const auto refrain = model.tokenizer().encode("one, two, three, four, one, two, three, four, one, two, three, four,");
  auto place = engine.open();
  co_await place.async_forward(refrain);
  const auto one_by_one = co_await say(std::move(place), {}, 24);
  auto text = refrain;
  const int steps = co_await complete(engine, text, 24);
  text.erase(text.begin(), text.end() - 24);
  fmt::print("24 tokens in {} steps, {} one by one:{}\n", steps, text == one_by_one ? "the same as" : "others than",
             written(model, text));
}

int main(int argc, char** argv) try {
  const auto model = cogen::load_model(example::model_path(argc, argv));
  cogen::engine engine(model);
  asio::co_spawn(engine.get_executor(), show(engine, *model), asio::use_future).get();
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
