#include "network/backend/cpu/weight_reader.hpp"
#include "network/kernels/worker_pool.hpp"
#include "network/model/fingerprint.hpp"
#include "network/model/load_rank.hpp"
#include "network/model/model_text.hpp"
#include "network/model/wanted_spec.hpp"
#include "network/models/families.hpp"
#include "network/nn/cpu_network.hpp"
#include "network/nn/device_networks.hpp"
#include "network/parallel/rank_group.hpp"
#include "network/parallel/world.hpp"
#include "network/weights/loading_progress.hpp"

#include <cogen/load/checkpoint.hpp>
#include <cogen/model.hpp>

#include <fmt/format.h>

#include <stdexcept>

namespace cogen {

namespace {

std::string_view name_of(device_weights bits) {
  switch (bits) {
    case device_weights::whole:
      return "whole";
    case device_weights::stored:
      return "stored";
    case device_weights::int8:
      return "int8";
    case device_weights::int4:
      return "int4";
    case device_weights::fp8:
      return "fp8";
  }
  return "";
}

/// Whether models on the CPU are loaded so: they keep all weights as their file has them.
bool as_on_cpu(device_weights bits) { return bits == device_weights::whole || bits == device_weights::stored; }

std::unique_ptr<const nn::network> read_network(const load::checkpoint& files, const models::model_spec& spec,
                                                const load::model_config& config, const load_options& options,
                                                std::shared_ptr<parallel::rank_group> ranks) {
  kernels::worker_pool workers(options.threads);
  const auto report = weights::report_to(options, files);
  if (report) report(0);
  cpu::weight_reader weights(files, workers, report);
  const bool is_whole = ranks == nullptr;
  auto network = nn::make_cpu_network(spec, config, weights, std::move(ranks));
  if (is_whole) weights.tensors().finish();  // other ranks read the others
  return network;
}

/// The processes of this program; null if there is one.
std::shared_ptr<parallel::rank_group> ranks_of(const parallel_options& options) {
  const auto [tensor, pipeline] = options;
  if (tensor < 1 || pipeline < 1)
    throw std::invalid_argument(fmt::format(
        "load_options.parallel is {} tensor and {} pipeline ranks; there is at least 1 of each", tensor, pipeline));
  if (tensor == 1 && pipeline == 1) return nullptr;
  return std::make_shared<parallel::rank_group>(parallel::world(), tensor, pipeline);
}

void check_parallel(const load_options& options, const parallel::rank_group& ranks) {
  if (options.device != "cpu" && ranks.stage().count > 1)
    throw std::invalid_argument(
        fmt::format("load_options.parallel.pipeline is {}, and device is {}; stages run on the CPU only",
                    ranks.stage().count, options.device));
  if (options.multi_token_prediction)
    throw std::invalid_argument(
        "load_options.parallel is over 1, and multi_token_prediction is set; split models do not run that layer");
}

}  // namespace

int process_rank(const parallel_options& options) {
  const auto ranks = ranks_of(options);
  return ranks ? ranks->rank() : 0;
}

std::shared_ptr<const model> load_model(const std::filesystem::path& path, const load_options& options) {
  return nn::load_rank(path, options, ranks_of(options.parallel));
}

std::shared_ptr<const model> nn::load_rank(const std::filesystem::path& path, const load_options& options,
                                           std::shared_ptr<parallel::rank_group> ranks) try {
  const load::checkpoint files(path);
  models::family_named(files.family());  // refused as such, whatever else is wrong
  if (options.threads && *options.threads < 1)
    throw std::invalid_argument(fmt::format("load_options.threads is {}; it must be at least 1", *options.threads));
  if (options.device == "cpu" && !as_on_cpu(options.device_weights))
    throw std::invalid_argument(
        fmt::format("load_options.device_weights is {}; models on the CPU keep weights as their file has them",
                    name_of(options.device_weights)));
  if (ranks) check_parallel(options, *ranks);
  auto config = files.config();
  auto text = nn::read_text(files, config, options.chat_template);
  const auto whole = nn::wanted_spec(files, config, options);
  const auto spec = ranks ? nn::spec_of_rank(whole, files, config, ranks->tensor(), ranks->stage()) : whole;
  auto network = options.device == "cpu" ? read_network(files, spec, config, options, ranks)
                                         : nn::registered_devices(options.device)(files, spec, config, options, ranks);
  auto fingerprint = nn::fingerprint_of(files, config, whole);
  if (options.device != "cpu" && options.device_weights != device_weights::whole)
    fingerprint += fmt::format(", in {}{}", name_of(options.device_weights),
                               options.device_weights == device_weights::fp8 ? "" : ", embeddings too");
  if (ranks) fingerprint += fmt::format(", over {} tensor ranks", ranks->tensor().count);
  if (options.multi_token_prediction) fingerprint += ", with multi-token prediction";
  return std::make_shared<const model>(std::move(config), std::move(text), std::move(network), std::move(fingerprint));
} catch (const std::invalid_argument&) {
  throw;  // as on all ranks
} catch (const std::exception& error) {
  if (ranks) ranks->fail(error.what());
  throw;
}

}  // namespace cogen
