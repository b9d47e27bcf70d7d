#include "network/nn/device/device_step.hpp"

#include <ATen/ops/zeros.h>

namespace cogen::nn {

device_step::device_step(const device_model& model, device::operators& ops, const room& wanted)
    : model_(model),
      ops_(ops),
      size_(wanted),
      block_(*model.backend, wanted.tokens),
      scratch_(model.make_scratch(wanted.tokens, wanted.sinks)),
      last_(at::zeros({wanted.slots + wanted.samples}, at::TensorOptions(model.backend->device()).dtype(at::kInt))) {}

at::Tensor device_step::forward(std::span<const token_row> rows, std::span<const std::int32_t> outputs,
                                const cache::device_cache& kv, kv_prefetcher* prefetcher) {
  block_.write(rows, kv, outputs);
  return run(rows, kv, prefetcher);
}

at::Tensor device_step::warm_up(std::int64_t single, std::int64_t prompt, const cache::device_cache& kv,
                                kv_prefetcher* prefetcher) {
  block_.write_nothing(single, prompt);
  return run({}, kv, prefetcher);
}

at::Tensor device_step::run(std::span<const token_row> rows, const cache::device_cache& kv, kv_prefetcher* prefetcher) {
  block_.send();
  if (prefetcher) prefetcher->begin(rows);
  auto hidden = model_.forward(ops_, block_.rows(), last_, block_.outputs(), {kv, prefetcher},
                               scratch_.first(block_.rows().ids.size(0)));
  if (prefetcher) prefetcher->end();
  return hidden;
}

void device_step::encode(int slot, std::span<const token> input, cache::device_cache& kv, device::stream& work) {
  const token_row row{slot, input};
  block_.write({&row, 1}, kv, {});
  block_.send();
  model_.encode(ops_, block_.rows(), last_, {kv}, scratch_.first(static_cast<std::int64_t>(input.size())));
  work.wait();
  kv.set_encoder_length(slot, static_cast<int>(input.size()));
}

at::Tensor device_step::read_text(std::span<const token> text, std::int64_t second,
                                  std::span<const std::int32_t> outputs, const cache::device_cache& kv) {
  block_.write_text(text, second, model_.second_text(), outputs);
  block_.send();
  return model_.read_texts(ops_, block_.rows(), last_, block_.outputs(), {kv},
                           scratch_.first(static_cast<std::int64_t>(text.size())));
}

std::int64_t device_step::bytes() const noexcept {
  return block_.bytes() + scratch_.bytes() + static_cast<std::int64_t>(last_.nbytes());
}

}  // namespace cogen::nn
