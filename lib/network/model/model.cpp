#include "network/model/batch_parts.hpp"
#include "network/model/checked_text.hpp"
#include "network/model/model_text.hpp"
#include "network/model/pending_logits.hpp"
#include "network/nn/network.hpp"
#include "network/nn/pooler.hpp"
#include "network/nn/workspace.hpp"
#include "network/parallel/rank_group.hpp"

#include <cogen/model.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <variant>
#include <vector>

namespace cogen {

/// The workspace that custom loops share.
struct model::runtime {
  std::mutex mutex;
  std::optional<workspace> own;
};

namespace {

void check_tokens(const cache::step& step, std::span<const token> tokens, std::int64_t vocabulary) {
  if (tokens.size() != static_cast<std::size_t>(step.tokens())) {
    throw std::invalid_argument(
        fmt::format("the batch has {} tokens where its step has {}", tokens.size(), step.tokens()));
  }
  nn::check_in_vocabulary(tokens, vocabulary);
}

void check_outputs(const batch& batch) {
  int previous = -1;
  for (const int output : batch.outputs) {
    if (output < 0 || output >= batch.step.tokens()) {
      throw std::out_of_range(
          fmt::format("output {} is not an index into the batch's {} tokens", output, batch.step.tokens()));
    }
    if (output <= previous) {
      throw std::invalid_argument(fmt::format("output {} follows output {}; they must ascend", output, previous));
    }
    previous = output;
  }
}

std::string said(const cache::kv_cache_spec& shape) {
  const auto heads = fmt::format("{} key/value heads of {}", shape.kv_heads, shape.head_dim);
  switch (shape.kind) {
    case cache::layer_kind::full:
      return heads;
    case cache::layer_kind::sliding:
      return fmt::format("{} in a window of {}", heads, shape.window);
    case cache::layer_kind::chunked:
      return fmt::format("{} in chunks of {}", heads, shape.window);
    case cache::layer_kind::cross:
      return fmt::format("{} over an encoder input", heads);
    case cache::layer_kind::recurrent:
      return fmt::format("a state of {} numbers", shape.state);
  }
  return heads;
}

void check_cache(const cache::cache& cache, const std::vector<cache::kv_cache_spec>& shapes) {
  if (cache.layers() != static_cast<int>(shapes.size())) {
    throw std::invalid_argument(
        fmt::format("the cache has {} layers where the model has {}", cache.layers(), shapes.size()));
  }
  for (int index = 0; index < cache.layers(); ++index) {
    const auto& has = cache.layer(index).shape();
    const auto& wants = shapes[static_cast<std::size_t>(index)];
    if (has != wants) {
      throw std::invalid_argument(
          fmt::format("layer {} of the cache has {} where the model has {}", index, said(has), said(wants)));
    }
  }
}

/// Whether a query only attends to keys within a bounded distance, however long the sequence.
bool span_within_bounds(const cache::layer& layer) {
  return layer.shape().kind == cache::layer_kind::recurrent || layer.span().window > 0 || layer.span().chunk > 0;
}

/// The most tokens that a slot may hold for this model. Rotations of dropped tokens need no positions, so a cache with
/// a window in every layer has no limit.
std::int64_t position_limit(const cache::cache& cache, std::int64_t positions, bool has_position_table) {
  if (has_position_table) return positions;
  for (int index = 0; index < cache.layers(); ++index) {
    if (!span_within_bounds(cache.layer(index))) return positions;
  }
  return std::numeric_limits<std::int64_t>::max();
}

/// Tokens of a row that the stages of a pipeline run at once: while one has some, the one before it has the next.
constexpr int pipelined_tokens = 64;

/// The most tokens of a row that run at once.
int max_part(const cache::cache& cache, const parallel::rank_group* ranks) {
  const bool is_pipeline = ranks != nullptr && ranks->stage().count > 1;
  return is_pipeline ? std::min(cache.max_step_tokens(), pipelined_tokens) : cache.max_step_tokens();
}

bool fits_one_step(const cache::step& step, int longest) {
  return std::ranges::all_of(step.rows(), [&](const auto& row) { return row.count <= longest; });
}

void check_bound(const cache::step& step, const cache::cache& cache) {
  for (const auto& row : step.rows()) {
    const auto length = std::int64_t{cache.length(row.slot)} + row.count;
    if (length > cache.max_sequence_length()) {
      throw std::length_error(fmt::format("slot {} would hold {} tokens; the cache holds at most {}", row.slot, length,
                                          cache.max_sequence_length()));
    }
  }
}

void check_lengths(const cache::step& step, const cache::cache& cache, std::int64_t limit) {
  for (const auto& row : step.rows()) {
    const auto length = std::int64_t{cache.length(row.slot)} + row.count;
    if (length > limit) {
      throw std::length_error(
          fmt::format("slot {} would hold {} tokens; the model reads at most {}", row.slot, length, limit));
    }
  }
}

/// Throws std::length_error for a row that takes several steps.
void check_step(const cache::step& step, const cache::cache& cache) {
  for (const auto& row : step.rows())
    if (row.count > cache.max_step_tokens())
      throw std::length_error(fmt::format("slot {} would get {} tokens in one step; the cache takes at most {}",
                                          row.slot, row.count, cache.max_step_tokens()));
}

/// The token behind each of the batch's in its row; the last token of a row for its own successor.
std::vector<token> shifted(const batch& batch) {
  std::vector<token> next(batch.tokens.begin(), batch.tokens.end());
  for (std::size_t row = 0; row < batch.step.rows().size(); ++row) {
    const auto first = next.begin() + batch.step.first(static_cast<int>(row));
    std::shift_left(first, first + batch.step.rows()[row].count, 1);
  }
  return next;
}

void check_encoder_inputs(const cache::step& step, const cache::cache& cache) {
  for (const auto& row : step.rows()) {
    if (cache.encoder_length(row.slot) == 0) {
      throw std::logic_error(fmt::format("slot {} has no encoder input; encode() comes before forward()", row.slot));
    }
  }
}

void check_no_longer(const cache::step& step, std::int64_t limit) {
  for (const auto& row : step.rows()) {
    if (row.count > limit) {
      throw std::length_error(fmt::format("the encoder input of slot {} has {} tokens; the model reads at most {}",
                                          row.slot, row.count, limit));
    }
  }
}

}  // namespace

model::model(load::model_config config, nn::model_text text, std::unique_ptr<const nn::network> network,
             std::string fingerprint)
    : config_(std::move(config)),
      fingerprint_(std::move(fingerprint)),
      text_(std::make_unique<const nn::model_text>(std::move(text))),
      network_(std::move(network)),
      runtime_(std::make_unique<runtime>()) {}

model::~model() = default;

bool model::has_tokenizer() const noexcept { return text_->tokenizer != nullptr; }

const text::tokenizer& model::tokenizer() const {
  if (text_->tokenizer) return *text_->tokenizer;
  throw std::logic_error("the model was stored without a tokenizer; it takes token ids only");
}

const text::chat_template* model::chat() const noexcept { return text_->chat.get(); }

const std::string& model::chat_error() const noexcept { return text_->chat_error; }

std::string model::device() const { return network_->device(); }

const nn::device_model* model::on_device() const noexcept { return network_->on_device(); }

parallel::rank_group* model::ranks() const noexcept { return network_->ranks(); }

int model::rank() const noexcept { return ranks() ? ranks()->rank() : 0; }

const std::vector<cache::kv_cache_spec>& model::kv_cache_specs() const noexcept { return network_->kv_cache_specs(); }

cache::cache model::make_cache(const cache::options& options, const cache::layer_factory& own) const {
  return network_->make_cache(options, own);
}

std::int64_t model::max_sequence_length(const cache::cache& cache) const {
  check_cache(cache, kv_cache_specs());
  return std::min<std::int64_t>(cache.max_sequence_length(),
                                position_limit(cache, config_.max_positions, network_->has_position_table()));
}

bool model::generates() const noexcept { return network_->generates(); }

bool model::scores_pairs() const noexcept { return network_->pooling() && network_->pooling()->scores(); }

std::int64_t model::embedding_width() const noexcept { return network_->pooling() ? network_->pooling()->width() : 0; }

encoder_text model::tokenize(const encoder_input& input) const {
  if (const auto* tokens = std::get_if<encoder_text>(&input)) return *tokens;
  if (!has_tokenizer()) throw std::invalid_argument("the input is text, and this model has no tokenizer: give tokens");
  encoder_text read;
  if (const auto* pair = std::get_if<text_pair>(&input)) {
    read = tokenizer().encode(*pair);
    if (scores_pairs() && text_->pair_cut) nn::cut_text(read, *text_->pair_cut);
  } else if (const auto& text = std::get<std::string>(input); !text.empty()) {
    read.tokens = tokenizer().encode(text_->prompt + text, {.add_special = true});
    if (text_->cut) nn::cut_text(read, *text_->cut);
  }
  return read;
}

matrix model::embed(std::span<const encoder_text> texts, workspace& workspace) const {
  if (embedding_width() == 0) throw std::logic_error(fmt::format("this {} model does not embed", config_.family));
  for (const auto& each : texts) nn::check_text(each, config_);
  matrix vectors(std::ssize(texts), embedding_width());
  if (!texts.empty()) network_->embed(texts, *workspace.scratch_, vectors);
  return vectors;
}

void model::check(const batch& batch, const cache::cache& cache) const {
  if (!generates())
    throw std::logic_error(fmt::format("a {} model is an encoder: it does not generate", config_.family));
  check_tokens(batch.step, batch.tokens, config_.vocabulary);
  check_outputs(batch);
  check_cache(cache, kv_cache_specs());
  check_lengths(batch.step, cache, position_limit(cache, config_.max_positions, network_->has_position_table()));
  if (has_encoder()) check_encoder_inputs(batch.step, cache);
}

bool model::awaits_logits() const noexcept { return ranks() && ranks()->gathers() && !ranks()->stage().is_last(); }

nn::pending_logits model::begin_forward(const batch& batch, cache::cache& cache, workspace& workspace) const {
  check(batch, cache);
  nn::pending_logits logits(*ranks(), std::ssize(batch.outputs), config_.vocabulary);
  if (fits_one_step(batch.step, max_part(cache, ranks()))) {
    run(batch, cache, workspace);
    std::vector<int> outputs(batch.outputs.size());
    std::iota(outputs.begin(), outputs.end(), 0);
    logits.expect(outputs);
    return logits;
  }
  check_bound(batch.step, cache);
  nn::return_points points(cache, batch.step);
  for (const auto& part : nn::parts_of(batch, max_part(cache, ranks()))) {
    run({.step = part.step, .tokens = part.tokens, .outputs = part.outputs}, cache, workspace);
    logits.expect(part.places);
  }
  points.keep();
  return logits;
}

matrix_view model::forward(const batch& batch, cache::cache& cache, workspace& workspace) const {
  if (awaits_logits()) return workspace.scratch_->whole = begin_forward(batch, cache, workspace).wait();
  check(batch, cache);
  const bool fits = fits_one_step(batch.step, max_part(cache, ranks()));
  return fits ? run(batch, cache, workspace) : run_in_parts(batch, cache, workspace);
}

matrix_view model::run_in_parts(const batch& batch, cache::cache& cache, workspace& workspace) const {
  check_bound(batch.step, cache);
  matrix logits(std::ssize(batch.outputs), config_.vocabulary);
  nn::return_points points(cache, batch.step);
  for (const auto& part : nn::parts_of(batch, max_part(cache, ranks()))) {
    const auto rows = run({.step = part.step, .tokens = part.tokens, .outputs = part.outputs}, cache, workspace);
    for (std::size_t i = 0; i < part.places.size(); ++i)
      std::ranges::copy(rows[static_cast<std::int64_t>(i)], logits[part.places[i]].begin());
  }
  points.keep();
  return workspace.scratch_->whole = std::move(logits);
}

bool model::predicts_tokens() const noexcept { return network_->predicts_tokens(); }

matrix_view model::forward(const batch& batch, cache::cache& cache, workspace& workspace,
                           const std::function<next_tokens(const matrix_view& logits)>& next) const {
  if (!predicts_tokens())
    throw std::logic_error(
        fmt::format("this {} model was loaded without a layer for multi-token prediction", config_.family));
  check(batch, cache);
  check_step(batch.step, cache);
  next_tokens following;
  run(batch, cache, workspace, [&](const matrix_view& logits) { return following = next(logits); });
  return workspace.scratch_->predictions.reserve(std::ssize(following.outputs), config_.vocabulary);
}

matrix_view model::run(const batch& batch, cache::cache& cache, workspace& workspace) const {
  std::vector<token> following;
  return run(batch, cache, workspace, [&](const matrix_view&) { return next_tokens{following = shifted(batch), {}}; });
}

template <class Next>
matrix_view model::run(const batch& batch, cache::cache& cache, workspace& workspace, const Next& next) const {
  auto& scratch = *workspace.scratch_;
  const auto logits = scratch.logits.reserve(std::ssize(batch.outputs), config_.vocabulary);
  cache.reserve(batch.step);
  try {
    if (batch.step.tokens() > 0) network_->forward(batch, cache, scratch, logits);
    if (predicts_tokens() && batch.step.tokens() > 0) predict(batch.step, next(logits), cache, workspace);
    cache.advance(batch.step);
  } catch (...) {
    for (const auto& row : batch.step.rows()) cache.truncate(row.slot, cache.length(row.slot));
    throw;
  }
  return logits;
}

void model::predict(const cache::step& step, const next_tokens& next, cache::cache& cache, workspace& workspace) const {
  const batch following{.step = step, .tokens = next.tokens, .outputs = next.outputs};
  check_tokens(step, next.tokens, config_.vocabulary);
  check_outputs(following);
  auto& scratch = *workspace.scratch_;
  const auto logits = scratch.predictions.reserve(std::ssize(next.outputs), config_.vocabulary);
  network_->predict(following, cache, scratch, logits);
}

std::vector<float> model::forward(std::span<const token> ids, cache::cache& cache) const {
  if (ids.empty()) throw std::invalid_argument("forward() needs at least one token");
  const int last = static_cast<int>(ids.size()) - 1;
  const batch whole{.step = cache::step({{.slot = 0, .count = last + 1}}), .tokens = ids, .outputs = {&last, 1}};
  const std::lock_guard lock(runtime_->mutex);
  const auto logits = forward(whole, cache, own_workspace())[0];
  return {logits.begin(), logits.end()};
}

bool model::has_encoder() const noexcept { return network_->has_encoder(); }

void model::encode(const encoder_batch& batch, cache::cache& cache, workspace& workspace) const {
  if (!has_encoder()) throw std::logic_error(fmt::format("a {} model has no encoder", config_.family));
  check_tokens(batch.step, batch.tokens, config_.vocabulary);
  check_cache(cache, kv_cache_specs());
  check_no_longer(batch.step, config_.max_positions);

  cache.reserve_encoder(batch.step);
  try {
    if (batch.step.tokens() > 0) network_->encode(batch, cache, *workspace.scratch_);
    cache.advance_encoder(batch.step);
  } catch (...) {
    for (const auto& row : batch.step.rows()) cache.clear(row.slot);
    throw;
  }
}

void model::encode(std::span<const token> ids, cache::cache& cache) const {
  if (ids.empty()) throw std::invalid_argument("encode() needs at least one token");
  const encoder_batch whole{.step = cache::step({{.slot = 0, .count = static_cast<int>(ids.size())}}), .tokens = ids};
  const std::lock_guard lock(runtime_->mutex);
  encode(whole, cache, own_workspace());
}

/// The mutex must be held.
workspace& model::own_workspace() const {
  if (!runtime_->own) runtime_->own.emplace();
  return *runtime_->own;
}

std::int64_t model::weight_bytes() const noexcept { return network_->weight_bytes(); }

std::string_view model::weight_type() const noexcept { return network_->weight_type(); }

compute_type model::default_compute_type() const noexcept { return network_->default_compute_type(); }

}  // namespace cogen
