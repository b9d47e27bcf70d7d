#include "network/nn/device/read_device_network.hpp"

#include "network/backend/backend.hpp"
#include "network/backend/tensor_weights.hpp"
#include "network/kernels/worker_pool.hpp"
#include "network/models/batch_invariance.hpp"
#include "network/nn/device/device_model.hpp"
#include "network/nn/device_networks.hpp"
#include "network/parallel/rank_group.hpp"
#include "network/weights/loading_progress.hpp"

#include <cogen/load/checkpoint.hpp>
#include <cogen/load_model.hpp>

#include <fmt/format.h>

namespace cogen::nn {

namespace {

/// Weights on a device have one type: float16 where most of the file's are that, else bfloat16.
at::ScalarType device_type(const load::checkpoint& files) {
  std::uint64_t halves = 0;
  for (const auto& name : files.weight_names()) {
    const auto weight = files.find(name);
    if (weight->type() == element_type::f16) halves += weight->bytes();
  }
  return 2 * halves > weights::stored_bytes(files) ? at::kHalf : at::kBFloat16;
}

/// Each rank has another GPU of its machine.
std::string device_of(const load_options& options, const parallel::rank_group* ranks) {
  return ranks && options.device == "cuda" ? fmt::format("cuda:{}", ranks->local_rank()) : options.device;
}

std::unique_ptr<const network> read_device_network(const load::checkpoint& files, const models::model_spec& spec,
                                                   const load::model_config& config, const load_options& options,
                                                   const std::shared_ptr<parallel::rank_group>& ranks) {
  return read_network_on(device::backend_named(device_of(options, ranks.get())), files, spec, config, options, ranks);
}

struct registration {
  registration() { register_devices(read_device_network); }
};
const registration registered;

}  // namespace

std::unique_ptr<const network> read_network_on(std::shared_ptr<const device::backend> backend,
                                               const load::checkpoint& files, const models::model_spec& spec,
                                               const load::model_config& config, const load_options& options,
                                               const std::shared_ptr<parallel::rank_group>& ranks) {
  if (options.batch_invariant) backend->check_batch_invariance(models::batch_variant_part(spec));
  const auto report = weights::report_to(options, files);
  if (report) report(0);
  const auto packer = backend->make_operators();
  const auto like = at::TensorOptions(backend->device()).dtype(backend->number_format(device_type(files)));
  kernels::worker_pool workers(options.threads);
  device::stored_weights weights(files, like, report, {.bits = options.device_weights, .ops = packer.get()}, &workers);
  weights.tensors().expect(spec);
  auto model = std::make_unique<device_model>(backend, spec, config, weights,
                                              ranks ? backend->make_collectives(ranks) : nullptr, ranks);
  if (!ranks) weights.tensors().finish();  // other ranks read the others
  return model;
}

}  // namespace cogen::nn

/// Programs that link cogen::torch ask for this symbol, which brings this file, and with it the registration.
extern "C" {
extern const char cogen_device_networks;
const char cogen_device_networks = 0;
}
