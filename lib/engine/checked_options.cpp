#include "engine/checked_options.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>
#include <string_view>

namespace cogen::detail {

void check(const engine_options& options) {
  const auto refuse = [](std::string_view name, auto value, auto least) {
    throw std::invalid_argument(fmt::format("engine_options.{} is {}; it must be at least {}", name, value, least));
  };
  if (options.batching.max_batch_delay.count() < 0)
    refuse("batching.max_batch_delay", options.batching.max_batch_delay.count(), 0);
  if (options.policies.idle_timeout.count() < 0)
    refuse("policies.idle_timeout", options.policies.idle_timeout.count(), 0);
  if (options.kv.bytes && *options.kv.bytes < 1) refuse("kv.bytes", *options.kv.bytes, 1);
  if (options.swap.bytes && *options.swap.bytes < 0) refuse("swap.bytes", *options.swap.bytes, 0);
  if (options.swap.file_bytes < 0) refuse("swap.file_bytes", options.swap.file_bytes, std::int64_t{0});
  if (options.limits.max_sequences < 1) refuse("limits.max_sequences", options.limits.max_sequences, 1);
  if (options.limits.max_waiting < 1) refuse("limits.max_waiting", options.limits.max_waiting, 1);
  if (options.threads && *options.threads < 1) refuse("threads", *options.threads, 1);
}

}  // namespace cogen::detail
