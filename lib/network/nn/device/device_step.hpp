#pragma once

#include "network/nn/device/device_model.hpp"
#include "network/nn/device/kv_prefetcher.hpp"
#include "network/nn/device/step_block.hpp"

#include <cogen/cache/device_cache.hpp>
#include <cogen/token.hpp>

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <span>

namespace cogen::nn {

/// The passes of a model on a device, one at a time, for engines and for loops without one: what a pass reads, and the
/// tensors between its operators, which keep their addresses. All members only enqueue work on the current stream,
/// unless they say otherwise.
class device_step {
 public:
  struct room {
    std::int64_t tokens = 0;   ///< of a pass, at most
    std::int64_t slots = 0;    ///< of the cache
    std::int64_t samples = 0;  ///< entries of last() behind those of the slots
    bool sinks = false;        ///< of the cache
  };

  /// The model and the operators must outlive it.
  device_step(const device_model& model, device::operators& ops, const room& wanted);

  /// Runs rows, those of one token first, before the cache counts their tokens. Returns the hidden states after the
  /// tokens of the step that `outputs` names, [outputs, hidden]. `prefetcher` is null unless tokens are on the host.
  at::Tensor forward(std::span<const token_row> rows, std::span<const std::int32_t> outputs,
                     const cache::device_cache& kv, kv_prefetcher* prefetcher);

  /// Runs a step of tokens that belong to no slot: so many rows of one token, and a prompt of so many, 0 or more than
  /// 1. Returns the hidden states after the last token.
  at::Tensor warm_up(std::int64_t single, std::int64_t prompt, const cache::device_cache& kv,
                     kv_prefetcher* prefetcher);

  /// Reads an encoder input into a slot, which is empty. Has ended on `work` when it returns.
  void encode(int slot, std::span<const token> input, cache::device_cache& kv, device::stream& work);

  /// Reads a whole text, whose tokens from `second` on are a second one. Returns hidden states as forward() does. `kv`
  /// is not read.
  at::Tensor read_text(std::span<const token> text, std::int64_t second, std::span<const std::int32_t> outputs,
                       const cache::device_cache& kv);

  /// Calls use(FIRST, LOGITS) for logits [rows, vocabulary] of the hidden states from FIRST on, which are in the first
  /// rows of `logits`, as many at a time as it has.
  template <class Use>
  void score(const at::Tensor& hidden, const at::Tensor& logits, const Use& use) {
    for (std::int64_t first = 0; first < hidden.size(0); first += logits.size(0)) {
      const auto count = std::min(hidden.size(0) - first, logits.size(0));
      const auto some = logits.narrow(0, 0, count);
      model_.score(ops_, hidden.narrow(0, first, count), some);
      use(first, some);
    }
  }

  /// [slots + samples] int32: the token last sampled in each slot, which a token of -1 stands for.
  const at::Tensor& last() const noexcept { return last_; }
  const device_scratch& scratch() const noexcept { return scratch_; }

  const room& size() const noexcept { return size_; }

  /// On the device.
  std::int64_t bytes() const noexcept;

 private:
  at::Tensor run(std::span<const token_row> rows, const cache::device_cache& kv, kv_prefetcher* prefetcher);

  const device_model& model_;
  device::operators& ops_;
  const room size_;
  step_block block_;
  const device_scratch scratch_;
  const at::Tensor last_;
};

}  // namespace cogen::nn
