// A prompt is read once. Its keys and values leave the cache as tensors: [batch, heads, tokens, dim] for each layer.
// They fill a cache of another kind, which continues with the same tokens.
#include "model_path.hpp"
#include "past_key_values.hpp"

#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace {

//[exported_cache
using namespace cogen::cache;

/// Reads all but the last token of a prompt, and gives that one.
cogen::token read_prompt(const cogen::model& model, cache& cache) {
  auto ids = model.tokenizer().encode("The three primary colors are red,");
  const auto last = ids.back();
  ids.pop_back();
  model.forward(ids, cache);
  return last;
}

std::vector<cogen::token> generate(const cogen::model& model, cogen::token last, cache& cache) {
  std::vector<cogen::token> generated{last};
  while (generated.size() <= 12) {
    const auto scores = model.forward({&generated.back(), 1}, cache);  // [vocabulary]
    generated.push_back(static_cast<cogen::token>(std::ranges::max_element(scores) - scores.begin()));
  }
  return generated;
}

/// Whether a cache that is filled with the tensors of another one continues like it.
bool continues_alike(const cogen::model& model) {
  constexpr std::array slots = {0};
  auto first = model.make_cache({.kind = cache_kind::dynamic, .type = scalar::f32});
  const auto last = read_prompt(model, first);
  const auto layers = example::to_legacy(first, slots);
  fmt::print("{} layers, keys of the first {}\n", layers.size(), fmt::join(layers[0].k.sizes(), " x "));

  auto second = model.make_cache({.type = scalar::f32, .max_sequence_length = 64});
  example::from_legacy(second, slots, layers);
  const auto expected = generate(model, last, first);
  const auto continued = generate(model, last, second);
  fmt::print("{}\n", model.tokenizer().decode(continued, true));
  return continued == expected;
}
//]

}  // namespace

int main(int argc, char** argv) try {
  const auto model = cogen::load_model(example::model_path(argc, argv));
  const bool alike = continues_alike(*model);
  fmt::print("{}\n", alike ? "the same tokens from both caches" : "the caches differ");
  return alike ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
