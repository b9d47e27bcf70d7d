#include "cached_model.hpp"

#include "some_models.hpp"

#include <map>
#include <ostream>
#include <utility>

namespace cogen::test {
namespace {

cache::options packed(cache::quantization scheme) {
  scheme.residual = 8;
  return {.kv_quantization = std::move(scheme)};
}

cache::options behind(cache::options options) {
  static const auto worker = std::make_shared<cache::worker_transfer>();
  options.kv_offload = worker;
  return options;
}

const std::vector<std::pair<std::string, cache::options>>& kinds() {
  static const std::vector<std::pair<std::string, cache::options>> entries{
      {"static", {}},
      {"dynamic", {.kind = cache::cache_kind::dynamic}},
      {"four_sinks", {.sinks = cache::sink_window{.sinks = 4, .window = 12}}},
      {"no_sinks", {.sinks = cache::sink_window{.sinks = 0, .window = 12}}},
      {"int8", packed(cache::int8())},
      {"int8_int4", packed(cache::int8_int4())},
      {"int4", packed(cache::int4())},
      {"kivi2", packed(cache::kivi2())},
      {"offloaded", behind({})},
      {"offloaded_int8", behind(packed(cache::int8()))},
  };
  return entries;
}

std::shared_ptr<const model> golden_model(const std::string& name) {
  static std::map<std::string, std::shared_ptr<const model>> loaded;
  auto& found = loaded[name];
  if (!found) found = load_model(golden_folder(name), {.threads = 1});
  return found;
}

}  // namespace

std::shared_ptr<const model> cached_model::loaded() const { return golden_model(golden); }

int cached_model::length() const { return golden == "bart_tiny" ? 90 : 150; }

cache::cache cached_model::make_cache(int slots, const cache::layer_factory& own) const {
  auto wanted = options;
  wanted.slots = slots;
  auto cache = loaded()->make_cache(wanted, own);
  if (!loaded()->has_encoder()) return cache;
  const auto encoder_input = random_tokens(*loaded(), 9, 9);
  workspace workspace(1);
  for (int slot = 0; slot < slots; ++slot)
    loaded()->encode({.step = cache::step({{.slot = slot, .count = 9}}), .tokens = encoder_input}, cache, workspace);
  return cache;
}

logit_rows cached_model::alone(const std::vector<token>& sequence) const {
  auto cache = make_cache(1);
  workspace workspace(1);
  return run(*loaded(), {sequence}, cache, workspace, whole()).front();
}

std::ostream& operator<<(std::ostream& out, const cached_model& params) {
  return out << params.golden << ' ' << params.kind;
}

cache::options kind_named(const std::string& name) {
  for (const auto& [known, options] : kinds()) {
    if (known != name) continue;
    auto wanted = options;
    wanted.type = cache::scalar::f32;
    wanted.max_sequence_length = 200;
    wanted.max_step_tokens = small_step;
    wanted.max_rollback_tokens = small_rollback;
    return wanted;
  }
  throw std::invalid_argument("no kind of cache is called " + name);
}

const std::vector<cached_model>& cached_models() {
  static const auto result = [] {
    std::vector<cached_model> each_with_each;
    for (const auto* golden :
         {"llama_default", "mistral_window", "gemma3_text", "minicpm3_scaled", "mamba_tiny", "jamba_tiny", "bart_tiny",
          "t5_published", "gemma4_e_far", "gemma3n_text", "zamba2_published"})
      for (const auto& kind : kinds())
        each_with_each.push_back({.golden = golden, .kind = kind.first, .options = kind_named(kind.first)});
    return each_with_each;
  }();
  return result;
}

logit_rows go_on(const cached_model& params, cache::cache& cache, const std::vector<token>& tokens, int piece) {
  workspace workspace(1);
  return run(*params.loaded(), {tokens}, cache, workspace, pieces_of(piece)).front();
}

std::vector<token> first_of(const std::vector<token>& tokens, int count) {
  return {tokens.begin(), tokens.begin() + count};
}

std::vector<token> rest_of(const std::vector<token>& tokens, int begin) {
  return {tokens.begin() + begin, tokens.end()};
}

std::vector<token> joined(std::vector<token> front, const std::vector<token>& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

logit_rows rest_of(const logit_rows& rows, int begin) { return {rows.begin() + begin, rows.end()}; }

}  // namespace cogen::test
