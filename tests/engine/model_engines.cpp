#include "model_engines.hpp"

#include "../test_data.hpp"

#include <algorithm>
#include <map>
#include <random>

namespace cogen::test {

std::shared_ptr<const model> golden_model(const std::string& name, const std::string& device) {
  static std::map<std::pair<std::string, std::string>, std::shared_ptr<const model>> loaded;
  auto& found = loaded[{name, device}];
  if (!found) found = load_model(golden_folder(name), {.threads = 1, .device = device});
  return found;
}

std::vector<token> some_tokens(const model& model, int count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<token> any(0, static_cast<token>(model.config().vocabulary - 1));
  std::vector<token> tokens(static_cast<std::size_t>(count));
  for (auto& id : tokens) id = any(random);
  if (model.has_encoder() && count > 0) tokens[0] = model.config().decoder_start.value();
  return tokens;
}

std::vector<token> source_for(const model& model, unsigned seed) {
  if (!model.has_encoder()) return {};
  return some_tokens(model, 20 + static_cast<int>(seed) * 11, 1000 + seed);
}

sequence open(engine& running, const model& model) {
  return model.has_encoder() ? running.open(source_for(model)) : running.open();
}

engine_options tiny_engine() {
  engine_options options;
  options.batching.slots = 4;
  options.limits.max_sequence_length = 240;
  options.batching.max_batched_tokens = 16;
  options.kv.dtype = cache::scalar::f32;
  options.kv.max_rollback_tokens = 8;
  options.threads = 1;
  options.external_stepping = true;
  return options;
}

engine_options tiny_engine(const model& model) {
  auto options = tiny_engine();
  options.limits.max_sequence_length =
      static_cast<int>(std::min<std::int64_t>(*options.limits.max_sequence_length, model.config().max_positions));
  return options;
}

cache::cache cache_like(const model& model, const engine_options& options) {
  return model.make_cache({.type = *options.kv.dtype,
                           .slots = 1,
                           .max_sequence_length = *options.limits.max_sequence_length,
                           .kv_quantization = options.kv.quantization,
                           .sinks = options.kv.sinks,
                           .kv_offload = options.kv.offload ? std::make_shared<cache::worker_transfer>() : nullptr,
                           .max_step_tokens = *options.batching.max_batched_tokens,
                           .max_rollback_tokens = options.kv.max_rollback_tokens,
                           .max_recurrent_drafts = options.kv.max_recurrent_drafts.value_or(0)},
                          options.kv.layer_factory);
}

namespace {

/// One sequence after another in slot 0, as an engine with such options runs them.
class hand_loop {
 public:
  hand_loop(const model& model, const engine_options& options)
      : model_(model),
        cache_(cache_like(model, options)),
        workspace_(1, options.compute_type.value_or(model.default_compute_type())) {}

  void read_encoder_input(std::span<const token> encoder_input) {
    const cache::step step({{.slot = 0, .count = static_cast<int>(encoder_input.size())}});
    model_.encode({.step = step, .tokens = encoder_input}, cache_, workspace_);
  }

  /// The logits after the last of `tokens`, until the next call.
  std::span<const float> read(std::span<const token> tokens) {
    const int last = static_cast<int>(tokens.size()) - 1;
    const cache::step step({{.slot = 0, .count = last + 1}});
    return model_.forward({.step = step, .tokens = tokens, .outputs = {&last, 1}}, cache_, workspace_)[0];
  }

 private:
  const model& model_;
  cache::cache cache_;
  workspace workspace_;
};

}  // namespace

std::vector<float> logits_after(const model& model, const engine_options& options, const std::vector<token>& tokens) {
  hand_loop loop(model, options);
  if (model.has_encoder()) loop.read_encoder_input(source_for(model));
  const auto logits = loop.read(tokens);
  return {logits.begin(), logits.end()};
}

std::vector<token> loop_by_hand(const model& model, const engine_options& options, const std::vector<token>& prompt,
                                int count, unsigned encoder_input) {
  hand_loop loop(model, options);
  if (model.has_encoder()) loop.read_encoder_input(source_for(model, encoder_input));
  std::vector<token> generated;
  for (std::vector<token> fed = prompt; static_cast<int>(generated.size()) < count; fed = {generated.back()}) {
    const auto logits = loop.read(fed);
    generated.push_back(static_cast<token>(std::ranges::max_element(logits) - logits.begin()));
  }
  return generated;
}

}  // namespace cogen::test
