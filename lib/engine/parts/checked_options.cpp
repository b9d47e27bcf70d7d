#include "engine/parts/checked_options.hpp"

#include <cogen/extend/kv_layer.hpp>
#include <cogen/load/model_config.hpp>

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

namespace cogen::detail {

namespace {

/// The default maximum length for a model without a limit. It only reserves address space, which must stay affordable.
constexpr int length_of_unlimited = 1 << 20;
constexpr int input_of_unlimited = 512;

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> why, Args&&... args) {
  throw std::invalid_argument("engine_options." + fmt::format(why, std::forward<Args>(args)...));
}

// Sums and products of what is allowed stay far from overflow.
constexpr std::int64_t max_bytes = std::int64_t{1} << 60;
constexpr int max_tokens = 1 << 20;    // of a step, a window or a rollback
constexpr int max_slots = 1 << 16;     // the bookkeeping of a slot takes a few hundred bytes
constexpr int max_requests = 1 << 24;  // that are held
constexpr int max_threads = 1 << 10;
constexpr std::chrono::hours max_time(24 * 365);

template <class Number>
void check_range(std::string_view name, Number value, std::type_identity_t<Number> least,
                 std::type_identity_t<Number> most) {
  if (value < least) refuse("{} is {}; it must be at least {}", name, value, least);
  if (value > most) refuse("{} is {}; it must be at most {}", name, value, most);
}

template <class Number>
void check_range(std::string_view name, const std::optional<Number>& value, std::type_identity_t<Number> least,
                 std::type_identity_t<Number> most) {
  if (value) check_range(name, *value, least, most);
}

/// In its own unit, which the message names.
template <class Duration>
void check_time(std::string_view name, Duration value, Duration least, std::string_view unit) {
  const auto most = std::chrono::duration_cast<Duration>(max_time);
  if (value < least) refuse("{} is {} {}; it must be at least {}", name, value.count(), unit, least.count());
  if (value > most) refuse("{} is {} {}; it must be at most {}", name, value.count(), unit, most.count());
}

void check(const batching_options& batching) {
  check_range("batching.slots", batching.slots, 1, max_slots);
  check_range("batching.max_batched_tokens", batching.max_batched_tokens, 1, max_tokens);
  if (batching.target_step_latency)
    check_time("batching.target_step_latency", *batching.target_step_latency, std::chrono::microseconds(1), "µs");
  check_time("batching.max_batch_delay", batching.max_batch_delay, std::chrono::microseconds(0), "µs");
}

void check(const kv_options& kv) {
  constexpr int max_sinks = 64;
  if (kv.dtype && *kv.dtype > cache::scalar::fp8)
    refuse("kv.dtype is {}; it may be f32 (0), f16 (1), bf16 (2) or fp8 (3)", static_cast<int>(*kv.dtype));
  check_range("kv.bytes", kv.bytes, 1, max_bytes);
  check_range("kv.checkpoint_bytes", kv.checkpoint_bytes, 0, max_bytes);
  check_range("kv.checkpoint_interval", kv.checkpoint_interval, 1, max_tokens);
  check_range("kv.event_block_size", kv.event_block_size, 1, max_tokens);
  check_range("kv.max_rollback_tokens", kv.max_rollback_tokens, 0, max_tokens);
  if (kv.max_recurrent_drafts && (*kv.max_recurrent_drafts < 0 || *kv.max_recurrent_drafts > kv.max_rollback_tokens))
    refuse("kv.max_recurrent_drafts is {}; it may be 0 to kv.max_rollback_tokens ({})", *kv.max_recurrent_drafts,
           kv.max_rollback_tokens);
  check_range("kv.max_recurrent_drafts", kv.max_recurrent_drafts, 0, step_draft_tokens);
  check_range("kv.prefix_cache_file_bytes", kv.prefix_cache_file_bytes, 0, max_bytes);
  if (kv.quantization) check_range("kv.quantization.residual", kv.quantization->residual, 0, max_tokens);
  if (kv.quantization && kv.sinks) refuse("kv.quantization and kv.sinks are both set; a cache has one or the other");
  if (!kv.sinks) return;
  check_range("kv.sinks.window", kv.sinks->window, 1, max_tokens);
  if (kv.sinks->sinks < 0 || kv.sinks->sinks > max_sinks)
    refuse("kv.sinks.sinks is {}; it may be 0 to {}", kv.sinks->sinks, max_sinks);
}

void check(const swap_options& swap) {
  check_range("swap.bytes", swap.bytes, 0, max_bytes);
  check_range("swap.file_bytes", swap.file_bytes, 0, max_bytes);
  if (swap.format != swap_format::exact && swap.format != swap_format::q8)
    refuse("swap.format is {}; it may be exact ({}) or q8 ({})", static_cast<int>(swap.format),
           static_cast<int>(swap_format::exact), static_cast<int>(swap_format::q8));
}

void check(const structured_output_options& output) {
  const auto& limits = output.limits;
  check_range("structured_output.limits.text_bytes", limits.text_bytes, 0, max_bytes);
  check_range("structured_output.limits.states", limits.states, 0, max_bytes);
  check_range("structured_output.limits.schemas", limits.schemas, 0, max_bytes);
  check_range("structured_output.limits.bytes", limits.bytes, 0, max_bytes);
  check_time("structured_output.limits.time", limits.time, std::chrono::milliseconds(1), "ms");
  check_range("structured_output.cache_bytes", output.cache_bytes, 0, max_bytes);
}

}  // namespace

void check(const engine_options& options) {
  check(options.batching);
  check(options.kv);
  check(options.swap);
  check(options.structured_output);
  check_time("policies.idle_timeout", options.policies.idle_timeout, std::chrono::milliseconds(0), "ms");
  check_range("limits.max_sequence_length", options.limits.max_sequence_length, 1, length_of_endless);
  check_range("limits.max_encoder_length", options.limits.max_encoder_length, 1, length_of_endless);
  check_range("limits.max_sequences", options.limits.max_sequences, 1, max_requests);
  check_range("limits.max_waiting", options.limits.max_waiting, 0, max_requests);
  if (options.compute_type && *options.compute_type > compute_type::int8)
    refuse("compute_type is {}; it may be float32 (0) or int8 (1)", static_cast<int>(*options.compute_type));
  check_range("threads", options.threads, 1, max_threads);
}

void check_on_cpu(const engine_options& options) {
  if (options.kv.dtype == cache::scalar::fp8) refuse("kv.dtype is fp8; engines on cpu keep f32, f16 or bf16");
}

int encoder_limit(const engine_options& options, std::int64_t positions) {
  const bool limited = positions != load::unlimited_positions;
  const auto length =
      options.limits.max_encoder_length.value_or(limited ? static_cast<int>(positions) : input_of_unlimited);
  if (length < 1 || length > positions)
    refuse("limits.max_encoder_length is {}; this model reads {} tokens", length, positions);
  return length;
}

int length_limit(const engine_options& options, std::int64_t positions, bool endless) {
  if (endless) positions = load::unlimited_positions;
  if (const auto length = options.limits.max_sequence_length) {
    if (*length < 1 || *length > positions)
      refuse("limits.max_sequence_length is {}; this model holds {} positions", *length, positions);
    return *length;
  }
  if (endless) return length_of_endless;
  return positions == load::unlimited_positions ? length_of_unlimited : static_cast<int>(positions);
}

}  // namespace cogen::detail
