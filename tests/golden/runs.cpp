#include "runs.hpp"

#include "beams.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>

namespace cogen::golden {

namespace {

int length_of(const reference_prompt& prompt) {
  return static_cast<int>(prompt.ids.size() + prompt.continuation.size());
}

/// One prompt on its way: the prompt's tokens, then all of the continuation's but the last.
class feed {
 public:
  feed(const reference_prompt& prompt, int slot) : prompt_(prompt), slot_(slot) {}

  bool ended() const { return transcript_.steps.size() == prompt_.continuation.size(); }
  int fed() const { return fed_; }
  int slot() const { return slot_; }

  std::vector<token> next(int chunk) {
    if (in_prompt()) {
      const auto left = prompt_tokens() - fed_;
      const auto begin = prompt_.ids.begin() + fed_;
      return {begin, begin + (chunk > 0 ? std::min(chunk, left) : left)};
    }
    return {prompt_.continuation[static_cast<std::size_t>(fed_ - prompt_tokens())]};
  }

  bool wants(int index) const {
    return !in_prompt() || !prompt_.prompt_rows.empty() || fed_ + index + 1 == prompt_tokens();
  }

  void take(int index, std::vector<float> logits) {
    const int position = fed_ + index;
    if (position + 1 >= prompt_tokens()) transcript_.steps.push_back(logits);
    if (position < prompt_tokens()) transcript_.prompt.push_back(std::move(logits));
  }

  void advance(int count) { fed_ += count; }
  transcript result() && { return std::move(transcript_); }

 private:
  bool in_prompt() const { return fed_ < prompt_tokens(); }
  int prompt_tokens() const { return static_cast<int>(prompt_.ids.size()); }

  const reference_prompt& prompt_;
  int slot_;
  int fed_ = 0;
  transcript transcript_;
};

/// One forward of all feeds that have not ended.
void step(const model& model, std::span<feed> feeds, int chunk, cache::cache& cache, workspace& workspace) {
  std::vector<cache::step_row> rows;
  std::vector<token> tokens;
  std::vector<int> outputs;
  std::vector<std::pair<feed*, int>> owners;
  for (auto& reader : feeds) {
    if (reader.ended()) continue;
    const auto next = reader.next(chunk);
    for (int index = 0; index < static_cast<int>(next.size()); ++index) {
      if (!reader.wants(index)) continue;
      outputs.push_back(static_cast<int>(tokens.size()) + index);
      owners.emplace_back(&reader, index);
    }
    rows.push_back({.slot = reader.slot(), .count = static_cast<int>(next.size())});
    tokens.insert(tokens.end(), next.begin(), next.end());
  }
  const auto logits =
      model.forward({.step = cache::step(rows), .tokens = tokens, .outputs = outputs}, cache, workspace);
  for (std::int64_t output = 0; const auto& [reader, index] : owners) {
    const auto row = logits[output++];
    reader->take(index, {row.begin(), row.end()});
  }
  for (const auto& row : rows) std::ranges::find(feeds, row.slot, &feed::slot)->advance(row.count);
}

void swap_out_and_in(cache::cache& cache) {
  const int length = cache.length(0);
  const int source = cache.encoder_length(0);
  std::vector<std::byte> bytes(static_cast<std::size_t>(cache.exported_bytes(length, source)));
  cache.export_slot(0, bytes);
  cache.clear(0);
  cache.import_slot(0, length, bytes, source);
}

}  // namespace

transcript runner::alone(const reference_prompt& prompt, int chunk) {
  auto cache = cache_for({&prompt, 1});
  read_encoder_input(prompt, 0, cache);
  feed reader(prompt, 0);
  while (!reader.ended()) step(model_, {&reader, 1}, chunk, cache, workspace_);
  return std::move(reader).result();
}

transcript runner::external_stepping(const reference_prompt& prompt) {
  auto cache = cache_for({&prompt, 1});
  if (!prompt.source.empty()) model_.encode(prompt.source, cache);
  transcript came;
  came.steps.push_back(model_.forward(prompt.ids, cache));
  for (std::size_t k = 1; k < prompt.continuation.size(); ++k) {
    came.steps.push_back(model_.forward({&prompt.continuation[k - 1], 1}, cache));
  }
  return came;
}

transcript runner::swapped_out(const reference_prompt& prompt) {
  auto cache = cache_for({&prompt, 1});
  read_encoder_input(prompt, 0, cache);
  feed reader(prompt, 0);
  const int half = length_of(prompt) / 2;
  while (!reader.ended()) {
    const bool first_half = reader.fed() < half;
    step(model_, {&reader, 1}, 0, cache, workspace_);
    if (first_half && reader.fed() >= half) swap_out_and_in(cache);
  }
  return std::move(reader).result();
}

std::vector<std::vector<float>> runner::predictions(const reference_prompt& prompt, int chunk) {
  auto cache = cache_for({&prompt, 1});
  auto ids = prompt.ids;
  ids.insert(ids.end(), prompt.continuation.begin(), prompt.continuation.end());
  const int total = static_cast<int>(ids.size()) - 1;
  std::vector<std::vector<float>> rows;
  for (int begin = 0, count = 0; begin < total; begin += count) {
    count = chunk > 0 ? std::min(chunk, total - begin) : total;
    const auto tokens = std::span(ids).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count) + 1);
    std::vector<int> outputs(static_cast<std::size_t>(count));
    std::iota(outputs.begin(), outputs.end(), 0);
    const auto logits = model_.forward(
        {.step = cache::step({{.slot = 0, .count = count}}), .tokens = tokens.first(outputs.size()), .outputs = {}},
        cache, workspace_, [&](const matrix_view&) {
          return next_tokens{tokens.subspan(1), outputs};
        });
    for (int row = 0; row < count; ++row) rows.emplace_back(logits[row].begin(), logits[row].end());
  }
  return rows;
}

std::vector<beam> runner::beams(const reference_prompt& prompt) {
  const auto width = prompt.beams.size();
  const auto length = prompt.beams.front().ids.size();
  auto longest = prompt;
  longest.continuation.resize(length);
  auto cache = cache_for(std::vector(width, longest));
  read_encoder_input(prompt, 0, cache);
  const int count = static_cast<int>(prompt.ids.size());
  const int last = count - 1;
  const auto logits =
      model_.forward({.step = cache::step({{.slot = 0, .count = count}}), .tokens = prompt.ids, .outputs = {&last, 1}},
                     cache, workspace_)[0];
  return beam_search(model_, cache, workspace_, {logits.begin(), logits.end()}, static_cast<int>(width),
                     static_cast<int>(length));
}

std::vector<transcript> runner::together(const std::vector<reference_prompt>& prompts) {
  auto cache = cache_for(prompts);
  std::vector<feed> feeds;
  for (const auto& prompt : prompts) feeds.emplace_back(prompt, static_cast<int>(feeds.size()));
  for (std::size_t begun = 1; !std::ranges::all_of(feeds, &feed::ended); ++begun) {
    if (begun <= feeds.size()) read_encoder_input(prompts[begun - 1], static_cast<int>(begun) - 1, cache);
    step(model_, std::span(feeds).first(std::min(begun, feeds.size())), 7, cache, workspace_);
  }
  std::vector<transcript> transcripts;
  for (auto& reader : feeds) transcripts.push_back(std::move(reader).result());
  return transcripts;
}

cache::cache runner::cache_for(std::span<const reference_prompt> prompts) const {
  auto options = memory_;
  options.slots = static_cast<int>(prompts.size());
  for (const auto& prompt : prompts) {
    options.max_sequence_length = std::max(options.max_sequence_length, length_of(prompt));
    options.max_encoder_length = std::max(options.max_encoder_length, static_cast<int>(prompt.source.size()));
  }
  return model_.make_cache(options);
}

void runner::read_encoder_input(const reference_prompt& prompt, int slot, cache::cache& cache) {
  if (prompt.source.empty()) return;
  const auto count = static_cast<int>(prompt.source.size());
  model_.encode({.step = cache::step({{.slot = slot, .count = count}}), .tokens = prompt.source}, cache, workspace_);
}

}  // namespace cogen::golden
