#pragma once

#include <cogen/metrics.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace server::kv_events {

/// How an event is written: as vLLM does since pull request 42892 (June 2026), or as it did before.
enum class encoding : std::uint8_t { map, array };

/// The payload that vLLM would publish for these events: a KVEventBatch of msgspec, of vllm/distributed/kv_events.py.
/// `time` is in seconds of Unix time.
std::string message_of(std::span<const cogen::kv_event> batch, double time, int block_size, encoding format);

}  // namespace server::kv_events
