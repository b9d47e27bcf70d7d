#include "kernels/worker_pool.hpp"
#include "layers/weight_reader.hpp"
#include "models/families.hpp"
#include "models/identity.hpp"
#include "models/model_text.hpp"

#include <cogen/load/checkpoint.hpp>
#include <cogen/model.hpp>

#include <fmt/format.h>

#include <stdexcept>

namespace cogen {

namespace {

std::uint64_t bytes_of_all_weights(const load::checkpoint& files) {
  std::uint64_t bytes = 0;
  for (const auto& name : files.weight_names()) bytes += files.find(name)->bytes();
  return bytes;
}

/// Tells `options.progress` and turns its no into an exception.
layers::weight_reader::progress report_to(const load_options& options, const load::checkpoint& files) {
  if (!options.progress) return {};
  return [&options, total = bytes_of_all_weights(files), path = files.path()](std::uint64_t done) {
    if (options.progress({.done_bytes = done, .total_bytes = total})) return;
    throw load_aborted(fmt::format("loading {} was ended after {} of {} bytes", path.string(), done, total));
  };
}

}  // namespace

std::shared_ptr<const model> load_model(const std::filesystem::path& path, const load_options& options) {
  const load::checkpoint files(path);
  const auto make = models::family_named(files.family());
  auto config = files.config();
  auto text = models::read_text(files, config);

  kernels::worker_pool workers(options.threads);
  const auto report = report_to(options, files);
  if (report) report(0);
  layers::weight_reader weights(files, workers, report);
  auto network = make(files.fields(), config, weights);
  weights.finish();
  auto identity = models::identity_of(files, config);
  return std::make_shared<const model>(std::move(config), std::move(text), std::move(network), std::move(identity));
}

}  // namespace cogen
