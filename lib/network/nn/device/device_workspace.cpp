#include "network/nn/device/device_workspace.hpp"

#include "network/nn/device/device_layout.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

namespace cogen::nn {

namespace {

/// The most logits rows that are computed at a time.
constexpr std::int64_t score_rows = 64;

}  // namespace

device_workspace::device_workspace(const device_model& model, std::shared_ptr<const void> identity)
    : model_(model), identity_(std::move(identity)), backend_(model.backend), operators_(backend_->make_operators()) {}

void device_workspace::run(const batch& batch, device_kv& kv, const at::Tensor& logits) {
  put_in_order(batch);
  kv.run([&] {
    make_room(batch.step.tokens(), logits.size(1), kv.tokens);
    const auto hidden = step_->forward(rows_, outputs_, kv.tokens, kv.prefetcher.get());
    step_->score(hidden, logits_, [&](std::int64_t first, const at::Tensor& some) {
      logits.narrow(0, first, some.size(0)).copy_(some, true);
    });
  });
}

/// In memory of its own, which is freed again: an encoder runs once for each request.
void device_workspace::encode(const encoder_batch& batch, device_kv& kv) {
  kv.run([&] {
    device_step step(model_, *operators_, {.tokens = kv.tokens.max_encoder_length(), .slots = kv.tokens.slots()});
    for (std::size_t i = 0; i < batch.step.rows().size(); ++i) {
      const auto& row = batch.step.rows()[i];
      const auto first = static_cast<std::size_t>(batch.step.first(static_cast<int>(i)));
      step.encode(row.slot, batch.tokens.subspan(first, static_cast<std::size_t>(row.count)), kv.tokens, *kv.work);
    }
  });
}

void device_workspace::make_room(std::int64_t tokens, std::int64_t vocabulary, const cache::device_cache& kv) {
  if (!logits_.defined())
    logits_ = at::empty({score_rows, vocabulary}, at::TensorOptions(model_.backend->device()).dtype(at::kFloat));
  device_step::room wanted{.tokens = tokens, .slots = kv.slots(), .sinks = has_sinks(kv)};
  if (step_) {
    const auto& size = step_->size();
    if (size.tokens >= tokens && size.slots >= wanted.slots && (size.sinks || !wanted.sinks)) return;
    wanted.tokens = std::max(size.tokens, tokens);
    wanted.slots = std::max(size.slots, wanted.slots);
    wanted.sinks = wanted.sinks || size.sinks;
  }
  step_.reset();  // freed before its replacement is allocated
  step_.emplace(model_, *operators_, wanted);
}

/// Rows of one token first. The outputs stay in the batch's order.
void device_workspace::put_in_order(const batch& batch) {
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

std::int64_t device_workspace::bytes() const noexcept {
  return (logits_.defined() ? static_cast<std::int64_t>(logits_.nbytes()) : 0) + (step_ ? step_->bytes() : 0);
}

}  // namespace cogen::nn
