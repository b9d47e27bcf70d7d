// A hand-written generation loop whose cache is its own: no engine, no batch. It tells every kind of cache a name, then
// 400 tokens about something else, and asks for the name.
#include "model_path.hpp"

#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <climits>

namespace {

//[caches
using namespace cogen::cache;

struct kind {
  std::string name;
  options memory;
};

std::vector<kind> kinds() {
  const auto worker = std::make_shared<worker_transfer>();
  return {
      {"dynamic", {.kind = cache_kind::dynamic}},
      {"static", {.max_sequence_length = 1024}},
      {"sliding", {.sinks = sink_window{.sinks = 0, .window = 128}}},
      {"sinks", {.sinks = sink_window{.sinks = 4, .window = 124}}},
      {"int8", {.max_sequence_length = 1024, .kv_quantization = int8()}},
      {"int8_int4", {.max_sequence_length = 1024, .kv_quantization = int8_int4()}},
      {"int4", {.max_sequence_length = 1024, .kv_quantization = int4()}},
      {"kivi2", {.max_sequence_length = 1024, .kv_quantization = kivi2()}},
      {"offloaded", {.max_sequence_length = 1024, .kv_offload = worker}},
      {"offloaded int8", {.max_sequence_length = 1024, .kv_quantization = int8(), .kv_offload = worker}},
  };
}

/// What the model says after `ids`; the cache holds all of it afterwards, but the last token.
std::vector<cogen::token> go_on(const cogen::model& model, std::vector<cogen::token> ids, int count, cache& cache) {
  std::vector<cogen::token> said;
  while (static_cast<int>(said.size()) < count) {
    const auto scores = model.forward(ids, cache);  // [vocabulary]
    said.push_back(static_cast<cogen::token>(std::ranges::max_element(scores) - scores.begin()));
    ids = {said.back()};
  }
  return said;
}
//]

std::string prompt() {
  std::string text = "The lighthouse keeper's name is Marlow.";
  for (int ship = 1; ship <= 45; ++ship) text += fmt::format(" Ship {} passed the rocks at noon.", ship);
  return text + " The lighthouse keeper's name is";
}

std::string back(int max_rollback_tokens) {
  return max_rollback_tokens == INT_MAX ? "anywhere" : fmt::format("{} tokens", max_rollback_tokens);
}

/// Whether the name came back.
bool remembers(const cogen::model& model, const kind& variant) {
  auto memory = variant.memory;
  memory.max_step_tokens = memory.max_rollback_tokens = 16;           // rings hold little more than they need, and
  if (memory.kv_quantization) memory.kv_quantization->residual = 32;  // most of this short text is quantized
  auto cache = model.make_cache(memory);
  auto text = model.tokenizer().decode(go_on(model, model.tokenizer().encode(prompt()), 24, cache), true);
  std::replace(text.begin(), text.end(), '\n', ' ');
  fmt::print("{:<14} {:>6} KiB  goes back {:<9} |{}\n", variant.name, cache.committed_bytes() / 1024,
             back(cache.max_rollback_tokens()), text);
  return text.find("Marlow") != std::string::npos;
}

}  // namespace

int main(int argc, char** argv) try {
  const auto model = cogen::load_model(example::model_path(argc, argv));
  fmt::print("{} tokens, then 24 new ones\n", model->tokenizer().encode(prompt()).size());
  const auto variants = kinds();
  const auto knowing = std::ranges::count_if(variants, [&](const kind& variant) { return remembers(*model, variant); });
  fmt::print("{} of {} kinds remember the name\n", knowing, variants.size());
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
