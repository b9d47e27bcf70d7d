// Strategies by hand: samples on forks that share the text's cache and run in one batch, and guesses that are checked
// all at once. Each is a coroutine over sequences, and cancelling it ends its branches.
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

namespace asio = boost::asio;
using cogen::token;

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
asio::awaitable<std::vector<token>> say(cogen::sequence place, cogen::sampling_params params, int count) {
  std::vector<token> said;
  while (std::ssize(said) < count) said.push_back((co_await place.async_decode({}, params)).id);
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

/// On a line.
std::string written(const cogen::model& model, const std::vector<token>& tokens) {
  auto text = model.tokenizer().decode(tokens);
  std::ranges::replace(text, '\n', ' ');
  return text;
}

asio::awaitable<void> show(cogen::engine& engine, const cogen::model& model) {
  const auto prompt = model.tokenizer().encode("My favourite season is");
  for (const auto& said : co_await sample(engine, prompt, 8, 4)) fmt::print("sampled:{}\n", written(model, said));

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
