#include "simulation/engine/lone_model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace cogen::engine_simulation {
namespace {

constexpr int remembered = 8;

cache::cache cache_for(const model& subject, cache::options like) {
  like.slots = remembered;
  return subject.make_cache(like);
}

}  // namespace

lone_model::lone_model(std::shared_ptr<const model> subject, const cache::options& like)
    : model_(std::move(subject)), cache_(cache_for(*model_, like)), workspace_(1), sequences_(remembered) {}

std::vector<float> lone_model::scores(std::span<const token> history, std::span<const token> encoder_input) {
  if (!can_run(history)) return std::vector<float>(static_cast<std::size_t>(model_->config().vocabulary), NAN);
  const int slot = slot_for(history, encoder_input);
  auto& held = sequences_[static_cast<std::size_t>(slot)];
  held.used = ++uses_;
  for (const token next : history.subspan(held.tokens.size())) append(slot, next);
  return held.scores;
}

bool lone_model::can_run(std::span<const token> tokens) const {
  const auto known = [&](token id) { return id < model_->config().vocabulary; };
  return static_cast<std::int64_t>(tokens.size()) <= model_->max_sequence_length(cache_) &&
         std::ranges::all_of(tokens, known);
}

/// One that holds the longest part of the sequence, or the one that was used longest ago.
int lone_model::slot_for(std::span<const token> history, std::span<const token> encoder_input) {
  const auto held = [&](const sequence& seq) {
    const bool same = std::ranges::equal(seq.encoder_input, encoder_input) && seq.tokens.size() <= history.size() &&
                      std::ranges::equal(seq.tokens, history.first(seq.tokens.size()));
    return same ? seq.tokens.size() : 0;
  };
  const auto longest = std::ranges::max_element(sequences_, {}, held);
  if (held(*longest) > 0) return static_cast<int>(longest - sequences_.begin());
  const auto oldest = std::ranges::min_element(sequences_, {}, &sequence::used);
  const int slot = static_cast<int>(oldest - sequences_.begin());
  begin(slot, encoder_input);
  return slot;
}

void lone_model::begin(int slot, std::span<const token> encoder_input) {
  cache_.clear(slot);
  sequences_[static_cast<std::size_t>(slot)] = {
      .encoder_input = {encoder_input.begin(), encoder_input.end()}, .tokens = {}, .scores = {}};
  if (encoder_input.empty()) return;
  const cache::step step({{.slot = slot, .count = static_cast<int>(encoder_input.size())}});
  model_->encode({.step = step, .tokens = encoder_input}, cache_, workspace_);
}

void lone_model::append(int slot, token next) {
  auto& held = sequences_[static_cast<std::size_t>(slot)];
  constexpr int only = 0;
  const cache::step step({{.slot = slot, .count = 1}});
  const auto scores = model_->forward({.step = step, .tokens = {&next, 1}, .outputs = {&only, 1}}, cache_, workspace_);
  held.tokens.push_back(next);
  held.scores.assign(scores[0].begin(), scores[0].end());
}

}  // namespace cogen::engine_simulation
