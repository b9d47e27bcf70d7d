#include <cogen/extend/kv_layer.hpp>

#include <ATen/ops/cat.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>

namespace cogen::cache {
namespace {

std::int64_t token_bytes(const kv_cache_spec& shape, scalar type) {
  const int planes = shape.latent_dim > 0 ? 1 : 2;
  return planes * std::int64_t{shape.kv_heads} * shape.head_dim * bytes_of(type);
}

void check_tensor(const char* name, const at::Tensor& tensor, at::IntArrayRef wanted) {
  if (tensor.defined() && tensor.sizes() == wanted && tensor.is_floating_point()) return;
  std::ostringstream message;
  message << "cache: " << name << " has to be a floating-point tensor " << wanted;
  if (tensor.defined()) message << ", it is " << tensor.sizes() << " of " << tensor.scalar_type();
  throw std::invalid_argument(message.str());
}

/// [kv_heads, length, head_dim] -> [end - begin, kv_heads, head_dim]
at::Tensor tokens_first(const at::Tensor& heads, int begin, int end) {
  return heads.narrow(1, begin, end - begin).transpose(0, 1);
}

}  // namespace

at::ScalarType tensor_type(scalar type) {
  switch (type) {
    case scalar::f16:
      return at::kHalf;
    case scalar::bf16:
      return at::kBFloat16;
    case scalar::fp8:
      return at::kFloat8_e4m3fn;
    default:
      return at::kFloat;
  }
}

layer::layer(const kv_cache_spec& shape, scalar type, const slot_table& slots)
    : layer(shape, type, slots, span_of(shape)) {}

layer::layer(const kv_cache_spec& shape, scalar type, const slot_table& slots, const attention_span& span)
    : shape_(shape), type_(type), slots_(slots), span_(span) {
  check(shape);
}

int layer::max_sequence_length() const noexcept { return std::numeric_limits<int>::max(); }

int layer::max_rollback_tokens() const noexcept { return std::numeric_limits<int>::max(); }

int layer::max_step_tokens() const noexcept { return std::numeric_limits<int>::max(); }

void layer::reserve(const step& step) { check_room(step); }

void layer::settle() {}

void layer::advance(const step&) {}

std::optional<kv_view> layer::view(int, int) const { return std::nullopt; }

std::optional<state_view> layer::state(int, int) const { return std::nullopt; }

void layer::written(const step&) {}

kv_extent layer::mask_sizes(int slot, int q_length) const {
  return {.kv_length = slots_.length(slot) + (span_.causal ? q_length : 0)};
}

kv_extent layer::extent(int length, int q_length) const {
  const int end = length + (span_.causal ? q_length : 0);
  const int offset = span_.causal ? first_seen(span_, length) : 0;
  if (span_.sinks == 0) return {.kv_length = end - offset, .kv_offset = offset};
  if (offset <= span_.sinks) return {.kv_length = end};
  return {.kv_length = span_.sinks + end - offset, .kv_offset = offset, .sinks = span_.sinks};
}

keys_values layer::read_extent(int slot, int length, const std::function<keys_values(int begin, int end)>& read) const {
  const int held = std::min(length, slots_.length(slot));
  const kv_extent kept = extent(held, length - held);
  const keys_values newest = read(kept.kv_offset, std::max(length, kept.kv_offset));
  if (kept.sinks == 0) return newest;
  const keys_values oldest = read(0, kept.sinks);
  return {.k = at::cat({oldest.k, newest.k}, 1), .v = at::cat({oldest.v, newest.v}, 1)};
}

void layer::release(int slot, int length) { truncate(slot, length); }

void layer::take_checkpoint(int) {}

void layer::drop_checkpoint(int, int) {}

bool layer::can_truncate(int slot, int length) const { return length >= 0 && length <= slots_.length(slot); }

void layer::share_prefix(int slot, int source, int length) { copy(source, slot, 0, length); }

void layer::fork(const slot_fork& fork) { copy(fork.source, fork.slot, 0, fork.end); }

void layer::copy(int source, int target, int begin, int end) {
  const step moved({{.slot = target, .count = end - begin}});
  const keys_values tokens = to_dense(source, end);
  reserve(moved);
  append(moved, tokens_first(tokens.k, begin, end), tokens_first(tokens.v, begin, end));
  advance(moved);
}

std::int64_t layer::exported_bytes(int length) const { return length * token_bytes(shape_, type_); }

std::vector<exported_run> layer::exported_runs(int length) const { return {{.bytes = exported_bytes(length)}}; }

bool layer::has_finite_numbers(std::span<const std::byte> exported, int) const {
  const exported_run run{.bytes = static_cast<std::int64_t>(exported.size()), .type = type_, .dims = 1};
  return are_finite({&run, 1}, exported);
}

slot_footprint layer::compressed_terms() const { return footprint_terms(); }

void layer::export_slot(int slot, std::span<std::byte> output, std::vector<byte_copy>&) const {
  if (output.empty()) return;
  const int length = slots_.length(slot);
  const keys_values tokens = to_dense(slot, length);
  if (tokens.k.size(1) != length || tokens.v.size(1) != length)
    throw std::logic_error("cache: a layer that gives " + std::to_string(tokens.k.size(1)) + " of the " +
                           std::to_string(length) + " tokens of slot " + std::to_string(slot) +
                           " has to export them by itself");
  const std::size_t keys = shape_.latent_dim > 0 ? output.size() : output.size() / 2;
  std::memcpy(output.data(), tokens.k.contiguous().data_ptr(), keys);
  if (keys < output.size()) std::memcpy(output.data() + keys, tokens.v.contiguous().data_ptr(), keys);
}

void layer::import_slot(int slot, int length, std::span<const std::byte> input, std::vector<byte_copy>&) {
  const auto tensor_at = [&](std::size_t offset) {
    void* data = const_cast<std::byte*>(input.data()) + offset;
    return at::from_blob(data, {shape_.kv_heads, length, shape_.head_dim}, tensor_type(type_));
  };
  const at::Tensor k = tensor_at(0);
  const at::Tensor v = shape_.latent_dim > 0 ? k.narrow(2, 0, shape_.latent_dim) : tensor_at(input.size() / 2);
  const step imported({{.slot = slot, .count = length}});
  reserve(imported);
  append(imported, tokens_first(k, 0, length), tokens_first(v, 0, length));
  advance(imported);
}

slot_footprint layer::footprint_terms() const {
  return {.fixed = 0, .per_block = block_tokens * token_bytes(shape_, type_)};
}

std::int64_t layer::committed_bytes() const {
  std::int64_t bytes = 0;
  for (const int length : slots_.lengths()) bytes += footprint_terms()(length);
  return bytes;
}

void layer::check_room(const step& step) const {
  for (const step_row& row : step.rows()) {
    const std::int64_t wanted = std::int64_t{slots_.length(row.slot)} + row.count;
    if (wanted > max_sequence_length())
      throw std::length_error("cache: slot " + std::to_string(row.slot) + " would hold " + std::to_string(wanted) +
                              " tokens, the limit is " + std::to_string(max_sequence_length()));
  }
}

void layer::check_new(const step& step, const at::Tensor& k, const at::Tensor& v) const {
  check_tensor("k", k, {step.tokens(), shape_.kv_heads, shape_.head_dim});
  check_tensor("v", v, {step.tokens(), shape_.kv_heads, shape_.value_dim()});
}

}  // namespace cogen::cache
