#include "network/weights/loading_progress.hpp"

#include <cogen/load/checkpoint.hpp>

#include <fmt/format.h>

namespace cogen::weights {

named_tensors::progress report_to(const load_options& options, const load::checkpoint& files) {
  if (!options.progress) return {};
  return [&options, total = stored_bytes(files), path = files.path()](std::uint64_t done) {
    if (options.progress({.done_bytes = done, .total_bytes = total})) return;
    throw load_aborted(fmt::format("loading {} was ended after {} of {} bytes", path.string(), done, total));
  };
}

}  // namespace cogen::weights
