#include "numbers.hpp"

#include <cogen/extend/kv_layer.hpp>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace cogen::cache {
namespace {

std::int64_t token_bytes(const kv_cache_spec& shape, scalar type) {
  const int planes = shape.latent_dim > 0 ? 1 : 2;
  return planes * std::int64_t{shape.kv_heads} * shape.head_dim * bytes_of(type);
}

std::string describe(int heads, int tokens, int dims) {
  return "[" + std::to_string(heads) + ", " + std::to_string(tokens) + ", " + std::to_string(dims) + "]";
}

void check_rows(const char* name, const head_rows& rows, int heads, int tokens, int dims) {
  if (rows.data != nullptr && rows.heads == heads && rows.tokens == tokens && rows.dims == dims) return;
  throw std::invalid_argument("cache: " + std::string(name) + " has to be " + describe(heads, tokens, dims) +
                              ", it is " + describe(rows.heads, rows.tokens, rows.dims));
}

/// Writes rows head after head and token after token. Returns where they end.
std::byte* write_rows(scalar type, const head_rows& rows, std::byte* target) {
  for (int head = 0; head < rows.heads; ++head)
    for (int token = 0; token < rows.tokens; ++token, target += rows.dims * bytes_of(type))
      store_numbers(type, rows.row(head, token), rows.dims, target);
  return target;
}

const std::byte* read_rows(scalar type, const std::byte* source, const head_rows& rows) {
  for (int head = 0; head < rows.heads; ++head)
    for (int token = 0; token < rows.tokens; ++token, source += rows.dims * bytes_of(type))
      load_numbers(type, source, rows.dims, rows.row(head, token));
  return source;
}

}  // namespace

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
  const keys_values both =
      make_keys_values(shape_.kv_heads, oldest.k.tokens + newest.k.tokens, shape_.head_dim, shape_.latent_dim);
  copy_rows(oldest.k, both.k.tokens_from(0, oldest.k.tokens));
  copy_rows(newest.k, both.k.tokens_from(oldest.k.tokens, newest.k.tokens));
  if (shape_.latent_dim > 0) return both;
  copy_rows(oldest.v, both.v.tokens_from(0, oldest.v.tokens));
  copy_rows(newest.v, both.v.tokens_from(oldest.v.tokens, newest.v.tokens));
  return both;
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
  append(moved, tokens.k.tokens_from(begin, end - begin), tokens.v.tokens_from(begin, end - begin));
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
  if (tokens.k.tokens != length || tokens.v.tokens != length)
    throw std::logic_error("cache: a layer that gives " + std::to_string(tokens.k.tokens) + " of the " +
                           std::to_string(length) + " tokens of slot " + std::to_string(slot) +
                           " has to export them by itself");
  std::byte* target = write_rows(type_, tokens.k, output.data());
  if (shape_.latent_dim == 0) write_rows(type_, tokens.v, target);
}

void layer::import_slot(int slot, int length, std::span<const std::byte> input, std::vector<byte_copy>&) {
  const keys_values tokens = make_keys_values(shape_.kv_heads, length, shape_.head_dim, shape_.latent_dim);
  const std::byte* source = read_rows(type_, input.data(), tokens.k);
  if (shape_.latent_dim == 0) read_rows(type_, source, tokens.v);
  const step imported({{.slot = slot, .count = length}});
  reserve(imported);
  append(imported, tokens.k, tokens.v);
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

void layer::check_new(const step& step, const head_rows& k, const head_rows& v) const {
  check_rows("k", k, shape_.kv_heads, step.tokens(), shape_.head_dim);
  check_rows("v", v, shape_.kv_heads, step.tokens(), shape_.value_dim());
}

}  // namespace cogen::cache
