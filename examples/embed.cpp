// embed MODEL [QUESTION PASSAGE...]: which passage is closest to a question, by the vectors of both.
#include <cogen/cogen.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <numeric>
#include <string>
#include <vector>

namespace {

namespace net = cogen::net;

/// Of normalized vectors, the cosine of the angle between them.
float similarity(const std::vector<float>& a, const std::vector<float>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0F);
}

//[embed
net::awaitable<std::size_t> closest(cogen::engine& engine, const std::vector<std::string>& question_and_passages) {
  const auto vectors = co_await engine.async_embed({question_and_passages.begin(), question_and_passages.end()});
  std::vector<float> similarities;
  for (std::size_t i = 1; i < vectors.size(); ++i) similarities.push_back(similarity(vectors[0], vectors[i]));
  const auto best = std::max_element(similarities.begin(), similarities.end());
  co_return static_cast<std::size_t>(best - similarities.begin()) + 1;
}
//]

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) throw std::invalid_argument("usage: embed MODEL [QUESTION PASSAGE...]");
  std::vector<std::string> texts(argv + 2, argv + argc);
  if (texts.size() < 2) texts = {"how deep is the sea", "the sea is deep and blue", "a cat sat by the door"};
  cogen::engine engine(cogen::load_model(argv[1]));
  const auto best = net::co_spawn(engine.get_executor(), closest(engine, texts), net::use_future).get();
  fmt::print("closest to \"{}\": \"{}\"\n", texts[0], texts[best]);
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
