#include "network/nn/device/device_forward.hpp"

#include "network/nn/device/device_layout.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

namespace cogen::nn {

namespace {

/// The most logits rows that are computed at a time.
constexpr std::int64_t score_rows = 64;

std::int64_t bytes_of(const at::Tensor& x) { return x.defined() ? static_cast<std::int64_t>(x.nbytes()) : 0; }

}  // namespace

device_forward::device_forward(device_model model)
    : model_(std::move(model)), operators_(model_.backend->make_operators()) {}

void device_forward::run(const batch& batch, device_kv& kv, const at::Tensor& logits) {
  put_in_order(batch);
  kv.run([&] {
    make_room(batch.step.tokens(), logits.size(1), kv.tokens);
    const auto hidden = last_hidden(kv);
    for (std::int64_t first = 0; first < logits.size(0); first += score_rows) {
      const auto count = std::min(score_rows, logits.size(0) - first);
      const auto some = logits_.narrow(0, 0, count);
      model_.network->score(*operators_, hidden.narrow(0, first, count), some);
      logits.narrow(0, first, count).copy_(some, true);
    }
  });
}

/// In memory of its own, which is freed again: an encoder runs once for each request.
void device_forward::encode(const encoder_batch& batch, device_kv& kv) {
  kv.run([&] {
    encoder_reader reader(*model_.backend, *model_.network, kv.tokens);
    for (std::size_t i = 0; i < batch.step.rows().size(); ++i) {
      const auto& row = batch.step.rows()[i];
      const auto first = static_cast<std::size_t>(batch.step.first(static_cast<int>(i)));
      reader.read(*operators_, *kv.work, row.slot, batch.tokens.subspan(first, static_cast<std::size_t>(row.count)));
    }
  });
}

void device_forward::make_room(std::int64_t tokens, std::int64_t vocabulary, const cache::device_cache& kv) {
  const auto like = at::TensorOptions(model_.network->device());
  const bool sinks = has_sinks(kv);
  if (!last_.defined() || last_.size(0) < kv.slots()) last_ = at::zeros({kv.slots()}, like.dtype(at::kInt));
  if (!logits_.defined()) logits_ = at::empty({score_rows, vocabulary}, like.dtype(at::kFloat));
  if (block_ && scratch_.x.size(0) >= tokens && scratch_.sink_q.defined() >= sinks) return;
  block_.reset();  // freed before its replacement is allocated
  scratch_ = {};
  scratch_ = model_.network->make_scratch(tokens, sinks);
  block_.emplace(*model_.backend, tokens);
}

/// Rows of one token first. The outputs stay in the batch's order.
void device_forward::put_in_order(const batch& batch) {
  const auto rows = batch.step.rows();
  std::vector<std::int32_t> moved(rows.size());  // how far each row's tokens go ahead
  rows_.clear();
  std::int32_t total = 0;
  for (const bool single : {true, false})
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if ((rows[i].count == 1) != single) continue;
      const int first = batch.step.first(static_cast<int>(i));
      rows_.push_back({rows[i].slot,
                       batch.tokens.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows[i].count))});
      moved[i] = total - first;
      total += rows[i].count;
    }
  outputs_.clear();
  std::size_t row = 0;
  for (const int output : batch.outputs) {
    while (output >= batch.step.first(static_cast<int>(row)) + rows[row].count) ++row;
    outputs_.push_back(output + moved[row]);
  }
}

/// The hidden states after the outputs' tokens.
at::Tensor device_forward::last_hidden(const device_kv& kv) {
  block_->write(rows_, kv.tokens, outputs_);
  block_->send();
  if (kv.prefetcher) kv.prefetcher->begin(rows_);
  auto hidden = model_.network->forward(*operators_, block_->rows(), last_, block_->outputs(),
                                        {kv.tokens, kv.prefetcher.get()}, scratch_.first(block_->rows().ids.size(0)));
  if (kv.prefetcher) kv.prefetcher->end();
  return hidden;
}

std::int64_t device_forward::bytes() const noexcept {
  return bytes_of(last_) + bytes_of(logits_) + scratch_.bytes() + (block_ ? block_->bytes() : 0);
}

}  // namespace cogen::nn
