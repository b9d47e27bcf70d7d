// One loop for models of any family: those that read a source first, and those that keep a state instead of tokens and
// so can go back only to where a snapshot was taken. Needs no tokenizer: it counts and goes on.
#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <numeric>

namespace {

std::vector<cogen::token> counting(int begin, int end) {
  std::vector<cogen::token> ids(static_cast<std::size_t>(end - begin));
  std::iota(ids.begin(), ids.end(), begin);
  return ids;
}

//[other_models
/// Reads all but the last token of a prompt, and gives that one.
cogen::token read_prompt(const cogen::model& model, cogen::cache::cache& cache) {
  if (!model.has_encoder()) {
    model.forward(counting(4, 40), cache);
    return 40;
  }
  model.encode(counting(4, 40), cache);
  return model.config().decoder_start.value();
}

std::vector<cogen::token> go_on(const cogen::model& model, cogen::token last, cogen::cache::cache& cache) {
  std::vector<cogen::token> said{last};
  while (said.size() <= 12) {
    const auto scores = model.forward({&said.back(), 1}, cache);  // [vocabulary]
    said.push_back(static_cast<cogen::token>(std::ranges::max_element(scores) - scores.begin()));
  }
  return said;
}

/// Whether the model says the same a second time, from the same place.
bool repeats_itself(const cogen::model& model) {
  auto cache = model.make_cache({.max_sequence_length = 64});
  const auto last = read_prompt(model, cache);
  const int here = cache.length(0);
  cache.take_checkpoint(0);
  const auto first = go_on(model, last, cache);
  cache.truncate(0, here);
  const auto second = go_on(model, last, cache);
  fmt::print(
      "{:<8} {:>5} bytes, goes back {} without a snapshot\n  {}\n", model.config().family, cache.committed_bytes(),
      cache.max_rollback_tokens() == INT_MAX ? "anywhere" : fmt::format("{} tokens", cache.max_rollback_tokens()),
      first);
  return first == second;
}
//]

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) throw std::invalid_argument("usage: other_models MODEL...");
  int same = 0;
  for (int i = 1; i < argc; ++i) same += repeats_itself(*cogen::load_model(argv[i])) ? 1 : 0;
  fmt::print("{} of {} models repeat themselves\n", same, argc - 1);
  return same == argc - 1 ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
