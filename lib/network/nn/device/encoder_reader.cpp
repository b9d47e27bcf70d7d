#include "network/nn/device/encoder_reader.hpp"

#include <ATen/ops/zeros.h>

namespace cogen::nn {

encoder_reader::encoder_reader(const device::backend& where, const device_network& network, cache::device_cache& kv)
    : network_(network),
      kv_(kv),
      block_(where, kv.max_encoder_length()),
      scratch_(network.make_scratch(kv.max_encoder_length(), false)),
      last_(at::zeros({kv.slots()}, at::TensorOptions(network.device()).dtype(at::kInt))) {}

void encoder_reader::read(device::operators& ops, device::stream& work, int slot, std::span<const token> input) {
  const token_row row{slot, input};
  block_.write({&row, 1}, kv_, {});
  block_.send();
  network_.encode(ops, block_.rows(), last_, {kv_}, scratch_.first(static_cast<std::int64_t>(input.size())));
  work.wait();
  kv_.set_encoder_length(slot, static_cast<int>(input.size()));
}

}  // namespace cogen::nn
