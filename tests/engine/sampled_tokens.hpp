#pragma once

#include <cogen/engine.hpp>

#include <boost/asio/awaitable.hpp>

#include <vector>

namespace cogen::test {

/// Parameters whose samples depend on random numbers and on all tokens before.
inline sampling_params lively() { return sampling_params{.temperature = 1.5F, .frequency_penalty = 0.5F}; }

/// Five tokens sampled after `fed`.
inline net::awaitable<std::vector<token>> sampled(sequence& seq, std::vector<token> fed = {}) {
  std::vector<token> ids;
  for (int i = 0; i < 5; ++i) {
    const auto chosen = co_await seq.async_decode(fed, lively());
    fed.clear();
    ids.push_back(chosen.id);
  }
  co_return ids;
}

}  // namespace cogen::test
