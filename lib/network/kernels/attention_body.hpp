#pragma once

#include "network/kernels/attention_products.hpp"
#include "network/kernels/attention_quantized_body.hpp"
#include "network/kernels/elementwise_body.hpp"
#include "network/kernels/kernel_table.hpp"
#include "network/kernels/simd.hpp"

#include <cstddef>
#include <cstdint>

// Attention of some queries that share a key head, block by block of 64 tokens. A row is one query of one head.
namespace cogen::kernels {
namespace {

constexpr float minus_infinity = -__builtin_inff();

// Weighted values of some tokens for each row, relative to the largest score among them, and the sum of the weights.
struct partial_rows {
  float* values;   // [rows, dims]
  float* maximum;  // [rows]
  float* sum;      // [rows]
};

partial_rows partial_at(float* memory, std::int64_t rows, std::int64_t dims) {
  float* maximum = memory + rows * dims;
  return {memory, maximum, maximum + rounded_up(rows, largest_lanes)};
}

struct attention_scratch_layout {
  std::int64_t rows;
  std::int64_t dims;  // head_dim, rounded up to whole vectors of any set
  float* query;       // [rows, dims], scaled
  float* rounded;     // [rows], of queries, where quantized keys take them so; see code_job
  float* sink_query;  // [rows, dims], scaled
  float* keys;        // [head_dim, 64] as float32
  float* tokens;      // [64, dims]: values as float32
  float* scores;      // [rows, 64]
  float* old_weight;  // [rows]
  float* new_weight;  // [rows]
  partial_rows block;
  partial_rows span;
  partial_rows total;

  attention_scratch_layout(float* memory, std::int64_t row_count, std::int64_t head_dim)
      : rows(row_count), dims(rounded_up(head_dim, largest_lanes)) {
    const auto take = [&](std::int64_t floats) {
      float* taken = memory;
      memory += rounded_up(floats, largest_lanes);
      return taken;
    };
    query = take(rows * dims);
    rounded = take(rows * rounded_row_floats(head_dim));
    sink_query = take(rows * dims);
    keys = take(dims * attention_block);
    tokens = take(dims * attention_block);
    scores = take(rows * attention_block);
    old_weight = take(rows);
    new_weight = take(rows);
    block = partial_at(take(partial_floats(rows, dims)), rows, dims);
    span = partial_at(take(partial_floats(rows, dims)), rows, dims);
    total = partial_at(take(partial_floats(rows, dims)), rows, dims);
  }
};

// Positions [first, last) of a block that the queries see.
struct visible_tokens {
  std::int64_t first;
  std::int64_t last;
};

// The first position, sinks apart, that a query sees.
COGEN_INLINE std::int64_t first_visible(const attention_job& job, std::int64_t position) {
  const cache::attention_span& span = job.cache->span;
  std::int64_t first = span.sinks;
  if (span.window && position + 1 - span.window > first) first = position + 1 - span.window;
  if (span.chunk && position / span.chunk * span.chunk > first) first = position / span.chunk * span.chunk;
  return first;
}

COGEN_INLINE std::int64_t visible_end(const attention_job& job, std::int64_t position) {
  const cache::attention_span& span = job.cache->span;
  if (span.causal) return position + 1;
  std::int64_t end = job.end;
  if (span.chunk && (position / span.chunk + 1) * span.chunk < end) end = (position / span.chunk + 1) * span.chunk;
  if (span.window && position + span.window < end) end = position + span.window;
  return end;
}

const std::byte* block_data(const cache::kv_range* ranges, int count, std::int64_t stride, std::int64_t position) {
  const cache::kv_range& range = ranges[count > 1 && position >= ranges[1].begin ? 1 : 0];
  const std::int64_t number = position / attention_block;
  return range.data + (range.ring ? (number - range.first) % range.ring : number) * stride;
}

void scale_queries(const attention_job& job, strided_rows<const float> q, float* target, std::int64_t dims) {
  const int head_dim = job.cache->head_dim;
  const simd::f scale = simd::set(job.scale);
  for (std::int64_t query = 0; query < job.queries; ++query)
    for (int head = 0; head < job.heads; ++head, target += dims) {
      const float* source = q[query] + head * head_dim;
      over_row(
          head_dim, [&](row_span part)
                        __attribute__((always_inline)) { store(target, simd::mul(load(source, part), scale), part); });
    }
}

// Rows [first, last) of the job.
struct row_range {
  std::int64_t first;
  std::int64_t last;
};

// Products of queries with quantized keys [head_dim, 64]. Rounded to 8 bits, queries lose as little as keys of 8 bits
// have. Beside keys of fewer bits that would add to what is lost, and times scales along rows it would be more.
code_job scoring_job(const attention_job& job, const attention_scratch_layout& scratch, row_range rows) {
  const bool whole = !job.cache->quantized.keys.along_rows;
  return {.form = &job.cache->quantized.keys,
          .depth = job.cache->head_dim,
          .columns = attention_block,
          .a = {scratch.query + rows.first * scratch.dims, scratch.dims},
          .a_bits = whole && job.cache->quantized.keys.bits == 8 ? 8 : 15,
          .c = {scratch.scores + rows.first * attention_block, attention_block},
          .rows = rows.last - rows.first,
          .rounded = whole ? scratch.rounded + rows.first * rounded_row_floats(job.cache->head_dim) : nullptr};
}

void scale_queries(const attention_job& job, const attention_scratch_layout& scratch) {
  scale_queries(job, job.q, scratch.query, scratch.dims);
  const code_job scoring = scoring_job(job, scratch, {0, scratch.rows});
  if (scoring.form->bits > 0 && scoring.rounded) job.integers->round_rows(scoring);
  if (job.cache->span.sinks) scale_queries(job, job.sink_q, scratch.sink_query, scratch.dims);
}

// Scores of rows that see a whole block become weights e^(score - maximum): first all maxima, then all weights, so that
// no row waits for the one before it.
void weigh_whole_block(const attention_scratch_layout& scratch, row_range rows) {
  constexpr int vectors = attention_block / simd::width;
  for (std::int64_t row = rows.first; row < rows.last; ++row) {
    const float* scores = scratch.scores + row * attention_block;
    simd::f largest = simd::load(scores);
    COGEN_UNROLL
    for (int v = 1; v < vectors; ++v) largest = simd::max(largest, simd::load(scores + v * simd::width));
    scratch.block.maximum[row] = simd::largest(largest);
  }
  for (std::int64_t row = rows.first; row < rows.last; ++row) {
    float* scores = scratch.scores + row * attention_block;
    const simd::f reference = simd::set(scratch.block.maximum[row]);
    simd::f total = simd::zero();
    COGEN_UNROLL
    for (int v = 0; v < vectors; ++v) {
      const simd::f weight = exponential(simd::sub(simd::load(scores + v * simd::width), reference));
      simd::store(scores + v * simd::width, weight);
      total = simd::add(total, weight);
    }
    scratch.block.sum[row] = simd::sum(total);
  }
}

// One row's scores of a block, of which it sees lanes [first, last), become weights e^(score - maximum), and those that
// it does not see up to `columns` zeros.
void weigh(float* scores, std::int64_t first, std::int64_t last, std::int64_t columns, float& maximum, float& sum) {
  const std::int64_t seen = first < last ? rounded_up(last, simd::width) : 0;
  const simd::f hidden = simd::set(minus_infinity);
  simd::f largest = hidden;
  for (std::int64_t column = 0; column < seen; column += simd::width) {
    const simd::f score = simd::within(simd::load(scores + column), static_cast<int>(first - column),
                                       static_cast<int>(last - column), hidden);
    simd::store(scores + column, score);
    largest = simd::max(largest, score);
  }
  maximum = simd::largest(largest);
  const simd::f reference = simd::set(maximum);
  simd::f total = simd::zero();
  for (std::int64_t column = 0; column < seen; column += simd::width) {
    const simd::f weight = exponential(simd::sub(simd::load(scores + column), reference));
    simd::store(scores + column, weight);
    total = simd::add(total, weight);
  }
  for (std::int64_t column = seen; column < columns; column += simd::width) simd::store(scores + column, simd::zero());
  sum = simd::sum(total);
}

void clear(const attention_scratch_layout& scratch, const partial_rows& part) {
  for (std::int64_t i = 0; i < scratch.rows * scratch.dims; i += simd::width)
    simd::store(part.values + i, simd::zero());
  for (std::int64_t row = 0; row < scratch.rows; row += simd::width) {
    simd::store(part.maximum + row, simd::set(minus_infinity));
    simd::store(part.sum + row, simd::zero());
  }
}

// values = values * keep + added * take
void merge_values(float* values, const float* added, float keep, float take, std::int64_t dims) {
  const simd::f old_part = simd::set(keep), new_part = simd::set(take);
  for (std::int64_t dim = 0; dim < dims; dim += simd::width)
    simd::store(values + dim,
                simd::fma(simd::load(added + dim), new_part, simd::mul(simd::load(values + dim), old_part)));
}

// Makes both relative to the larger maximum and adds them. Rows that see none of the added tokens do not change.
void merge(const attention_scratch_layout& scratch, const partial_rows& total, const partial_rows& added) {
  for (std::int64_t row = 0; row < scratch.rows; row += simd::width) {
    const simd::f a = simd::load(total.maximum + row), b = simd::load(added.maximum + row);
    const simd::f larger = simd::max(a, b);
    const simd::f reference = simd::where_less(larger, simd::set(-3e38F), simd::zero(), larger);
    const simd::f keep = exponential(simd::sub(a, reference)), take = exponential(simd::sub(b, reference));
    const simd::f kept = simd::mul(simd::load(total.sum + row), keep);
    simd::store(total.maximum + row, larger);
    simd::store(total.sum + row, simd::fma(simd::load(added.sum + row), take, kept));
    simd::store(scratch.old_weight + row, keep);
    simd::store(scratch.new_weight + row, take);
  }
  for (std::int64_t row = 0; row < scratch.rows; ++row)
    if (added.maximum[row] != minus_infinity)
      merge_values(total.values + row * scratch.dims, added.values + row * scratch.dims, scratch.old_weight[row],
                   scratch.new_weight[row], scratch.dims);
}

// One head's keys [head_dim, 64] or values [64, head_dim] of a block, and how far it is from there to what is read next
// and after that.
struct stored_plane {
  cache::scalar type;
  const std::byte* data;
  std::int64_t stride;  // numbers
  std::int64_t next;    // bytes
  std::int64_t after;   // bytes
};

stored_plane unquantized(const float* numbers, std::int64_t stride) {
  return {cache::scalar::f32, reinterpret_cast<const std::byte*>(numbers), stride, 0, 0};
}

// scratch.scores of some rows with `count` tokens of a block and those around them; few rows read a whole block's at
// once.
void score_rows(const attention_scratch_layout& scratch, const float* query, const stored_plane& keys, int head_dim,
                std::int64_t count, row_range rows) {
  const bool few = rows.last - rows.first <= few_rows;
  const auto columns = static_cast<int>(few ? attention_block : rounded_up(count, 2 * simd::width));
  multiply_stored(keys.type,
                  {{query + rows.first * scratch.dims, scratch.dims},
                   keys.data,
                   keys.stride,
                   {scratch.scores + rows.first * attention_block, attention_block},
                   head_dim,
                   keys.next,
                   keys.after},
                  rows.last - rows.first, columns, scratch.keys, attention_block);
}

// Adds to some rows' scores with the `count` tokens from position `start` on what is learned of their distances.
void add_distance_biases(const attention_job& job, const attention_scratch_layout& scratch, std::int64_t start,
                         std::int64_t count, row_range rows) {
  const std::int64_t most = job.max_distance;
  for (std::int64_t row = rows.first; row < rows.last; ++row) {
    float* scores = scratch.scores + row * attention_block;
    const float* biases = job.distance_biases + row % job.heads * (2 * most + 1) + most;
    const std::int64_t distance = start - (job.first_position + row / job.heads);
    for (std::int64_t column = 0; column < count; ++column) {
      const std::int64_t away = distance + column;
      scores[column] += biases[away < -most ? -most : away > most ? most : away];
    }
  }
}

// Caps the scores of the same, and adds what their distances weigh.
void cap_and_slope(const attention_job& job, const attention_scratch_layout& scratch, std::int64_t start,
                   std::int64_t count, row_range rows) {
  alignas(64) float lanes[simd::width];
  for (int lane = 0; lane < simd::width; ++lane) lanes[lane] = static_cast<float>(lane);
  for (std::int64_t row = rows.first; row < rows.last; ++row) {
    float* scores = scratch.scores + row * attention_block;
    const std::int64_t distance = start - (job.first_position + row / job.heads);
    const float slope = job.slopes ? job.slopes[row % job.heads] : 0.0F;
    for (std::int64_t column = 0; column < count; column += simd::width) {
      simd::f score = simd::load(scores + column);
      if (job.softcap > 0) score = softcapped(score, job.softcap);
      const simd::f away = simd::add(simd::load(lanes), simd::set(static_cast<float>(distance + column)));
      simd::store(scores + column, simd::fma(away, simd::set(slope), score));
    }
  }
}

void adjust_scores(const attention_job& job, const attention_scratch_layout& scratch, std::int64_t start,
                   std::int64_t count, row_range rows) {
  if (job.softcap > 0 || job.slopes) cap_and_slope(job, scratch, start, count, rows);
  if (job.distance_biases) add_distance_biases(job, scratch, start, count, rows);
}

// scratch.scores of some queries' rows with `count` tokens, of which each query sees those that `visible` says, become
// weights.
template <class Visible>
void weigh_rows(const attention_job& job, const attention_scratch_layout& scratch, std::int64_t count, row_range rows,
                Visible visible) {
  const std::int64_t position = job.first_position + rows.first / job.heads;
  const std::int64_t last_position = job.first_position + (rows.last - 1) / job.heads;
  if (count == attention_block && visible(last_position).first <= 0 && visible(position).last >= count)
    return weigh_whole_block(scratch, rows);
  for (std::int64_t row = rows.first; row < rows.last; ++row) {
    const visible_tokens seen = visible(job.first_position + row / job.heads);
    weigh(scratch.scores + row * attention_block, seen.first > 0 ? seen.first : 0,
          seen.last < count ? seen.last : count, rounded_up(count, simd::width), scratch.block.maximum[row],
          scratch.block.sum[row]);
  }
}

// scratch.block of some rows: the weighted sums of `width` numbers of values [skipped, count).
void sum_values(const attention_scratch_layout& scratch, const stored_plane& values, int width, std::int64_t skipped,
                std::int64_t count, row_range rows) {
  multiply_stored(values.type,
                  {{scratch.scores + rows.first * attention_block + skipped, attention_block},
                   values.data + skipped * values.stride * cache::bytes_of(values.type),
                   values.stride,
                   {scratch.block.values + rows.first * scratch.dims, scratch.dims},
                   count - skipped,
                   values.next,
                   values.after},
                  rows.last - rows.first, width, scratch.tokens, scratch.dims);
}

// Of one head, whose keys begin at `data`.
stored_plane keys_at(const cache::kv_view& view, const std::byte* data) {
  return {view.type, data, attention_block, view.value_offset, view.block_stride};
}
stored_plane values_at(const cache::kv_view& view, const std::byte* data) {
  return {view.type, data + view.value_offset, view.head_dim, view.block_stride - view.value_offset, view.block_stride};
}

// The same where values are the first `width` numbers of keys [head_dim, 64].
void sum_latents(const attention_scratch_layout& scratch, const float* keys, int width, std::int64_t skipped,
                 std::int64_t count, row_range rows) {
  const std::int64_t columns = rounded_up(width, simd::width);
  for (std::int64_t dim = 0; dim < columns; ++dim)
    for (std::int64_t token = skipped; token < count; ++token)
      scratch.tokens[token * scratch.dims + dim] = dim < width ? keys[dim * attention_block + token] : 0.0F;
  sum_values(scratch, unquantized(scratch.tokens, scratch.dims), static_cast<int>(columns), skipped, count, rows);
}

// scratch.block of some rows: the weighted sums of a block's stored values [skipped, count).
void sum_stored(const attention_scratch_layout& scratch, const cache::kv_view& view, const std::byte* data,
                std::int64_t skipped, std::int64_t count, row_range rows) {
  if (view.latent_dim == 0) return sum_values(scratch, values_at(view, data), view.head_dim, skipped, count, rows);
  if (view.type == cache::scalar::f32)
    return sum_latents(scratch, reinterpret_cast<const float*>(data), view.latent_dim, skipped, count, rows);
  widen(view.type, {.b = data, .b_stride = attention_block, .depth = view.latent_dim}, attention_block, scratch.keys,
        attention_block);
  sum_latents(scratch, scratch.keys, view.latent_dim, skipped, count, rows);
}

void attend_rows(const attention_job& job, const attention_scratch_layout& scratch, std::int64_t start,
                 visible_tokens seen, row_range rows) {
  const cache::kv_view& view = *job.cache;
  const std::int64_t count = seen.last - start;
  const std::byte* data =
      block_data(view.range, view.ranges, view.block_stride, start) + job.kv_head * view.head_stride;
  score_rows(scratch, scratch.query, keys_at(view, data), view.head_dim, count, rows);
  adjust_scores(job, scratch, start, count, rows);
  weigh_rows(
      job, scratch, count, rows, [&](std::int64_t position) __attribute__((always_inline)) {
        return visible_tokens{first_visible(job, position) - start, visible_end(job, position) - start};
      });
  sum_stored(scratch, view, data, seen.first - start, count, rows);
}

// The same of quantized keys and values; `head` is where the head's keys begin.
stored_quantized keys_at(const cache::quantized_view& view, const std::byte* head, std::int64_t values_from_keys) {
  return {view.keys, head, values_from_keys, view.block_stride};
}
stored_quantized values_at(const cache::quantized_view& view, const std::byte* head, std::int64_t values_from_keys) {
  return {view.values, head + values_from_keys, view.block_stride - values_from_keys, view.block_stride};
}

// scratch.scores of some rows with a whole quantized block.
void score_quantized_rows(const attention_job& job, const attention_scratch_layout& scratch,
                          const stored_quantized& keys, row_range rows) {
  if (keys.form.bits > 0) return job.integers->multiply_codes(code_job_of(keys, scoring_job(job, scratch, rows)));
  const int head_dim = job.cache->head_dim;
  keys.form.dequantize(*keys.form.quantizer, keys.head, head_dim, scratch.tokens);
  for (int token = 0; token < attention_block; ++token)
    for (int dim = 0; dim < head_dim; ++dim)
      scratch.keys[dim * attention_block + token] = scratch.tokens[token * head_dim + dim];
  score_rows(scratch, scratch.query, unquantized(scratch.keys, attention_block), head_dim, attention_block, rows);
}

// scratch.block of some rows: the weighted sums of the values of a whole quantized block, of which no query sees the
// first `skipped`.
void sum_quantized_values(const attention_job& job, const attention_scratch_layout& scratch,
                          const stored_quantized& values, std::int64_t skipped, row_range rows) {
  const int head_dim = job.cache->head_dim;
  if (values.form.bits > 0)
    return job.integers->multiply_codes(
        code_job_of(values, {.depth = attention_block,
                             .columns = static_cast<int>(rounded_up(head_dim, simd::width)),
                             .a = {scratch.scores + rows.first * attention_block, attention_block},
                             .a_bits = 15,
                             .c = {scratch.block.values + rows.first * scratch.dims, scratch.dims},
                             .rows = rows.last - rows.first}));
  values.form.dequantize(*values.form.quantizer, values.head, head_dim, scratch.keys);
  sum_values(scratch, unquantized(scratch.keys, head_dim), head_dim, skipped, attention_block, rows);
}

// The same where values are the first `width` dimensions of quantized keys.
void sum_quantized_latents(const attention_scratch_layout& scratch, const cache::kv_view& view,
                           const stored_quantized& keys, std::int64_t skipped, row_range rows) {
  if (keys.form.bits > 0) {
    dequantize_rows(keys, view.latent_dim, attention_block, scratch.keys);
    return sum_latents(scratch, scratch.keys, view.latent_dim, skipped, attention_block, rows);
  }
  keys.form.dequantize(*keys.form.quantizer, keys.head, view.head_dim, scratch.keys);
  sum_values(scratch, unquantized(scratch.keys, view.head_dim), view.latent_dim, skipped, attention_block, rows);
}

void attend_quantized_rows(const attention_job& job, const attention_scratch_layout& scratch, std::int64_t start,
                           visible_tokens seen, row_range rows) {
  const cache::quantized_view& quantized = job.cache->quantized;
  const std::byte* block = block_data(quantized.range, quantized.ranges, quantized.block_stride, start);
  const std::byte* head = block + job.kv_head * quantized.key_bytes;
  const std::int64_t values_from_keys =
      quantized.value_offset + job.kv_head * (quantized.value_bytes - quantized.key_bytes);
  const stored_quantized keys = keys_at(quantized, head, values_from_keys);
  score_quantized_rows(job, scratch, keys, rows);
  adjust_scores(job, scratch, start, attention_block, rows);
  weigh_rows(
      job, scratch, attention_block, rows, [&](std::int64_t position) __attribute__((always_inline)) {
        return visible_tokens{first_visible(job, position) - start, visible_end(job, position) - start};
      });
  const std::int64_t skipped = seen.first - start;
  if (job.cache->latent_dim > 0) return sum_quantized_latents(scratch, *job.cache, keys, skipped, rows);
  sum_quantized_values(job, scratch, values_at(quantized, head, values_from_keys), skipped, rows);
}

// The first row whose query reads the block at `start` quantized.
std::int64_t first_quantized_row(const attention_job& job, const attention_scratch_layout& scratch,
                                 std::int64_t start) {
  const cache::quantized_view& quantized = job.cache->quantized;
  if (!quantized.keys.quantizer) return scratch.rows;
  const std::int64_t query = start + attention_block - 1 + quantized.residual - job.first_position;
  return query <= 0 ? 0 : query * job.heads < scratch.rows ? query * job.heads : scratch.rows;
}

void attend_block(const attention_job& job, const attention_scratch_layout& scratch, std::int64_t start,
                  visible_tokens seen) {
  const std::int64_t boundary = first_quantized_row(job, scratch, start);
  if (boundary > 0) attend_rows(job, scratch, start, seen, {0, boundary});
  if (boundary < scratch.rows) attend_quantized_rows(job, scratch, start, seen, {boundary, scratch.rows});
}

// The first tokens, held against queries at their places inside the cache.
void attend_sinks(const attention_job& job, const attention_scratch_layout& scratch) {
  const cache::kv_view& view = *job.cache;
  const std::int64_t last = view.span.causal ? job.end : view.range[0].end;
  const std::int64_t count = last < view.span.sinks ? last : view.span.sinks;
  const std::byte* data = view.range[0].data + job.kv_head * view.head_stride;
  score_rows(scratch, scratch.sink_query, keys_at(view, data), view.head_dim, count, {0, scratch.rows});
  adjust_scores(job, scratch, 0, count, {0, scratch.rows});
  weigh_rows(
      job, scratch, count, {0, scratch.rows}, [&](std::int64_t position) __attribute__((always_inline)) {
        return visible_tokens{0, view.span.causal ? position + 1 : count};
      });
  sum_stored(scratch, view, data, 0, count, {0, scratch.rows});
}

void attend_span(const attention_job& job, const attention_scratch_layout& scratch, std::int64_t span,
                 const partial_rows& partial) {
  const std::int64_t first = first_visible(job, job.first_position);
  clear(scratch, partial);
  for (std::int64_t start = span * attention_span; start < (span + 1) * attention_span; start += attention_block) {
    const std::int64_t end = start + attention_block;
    const visible_tokens seen{first > start ? first : start, job.end < end ? job.end : end};
    if (seen.first >= seen.last) continue;
    attend_block(job, scratch, start, seen);
    merge(scratch, partial, scratch.block);
  }
}

// scratch.total before the first span.
void begin_total(const attention_job& job, const attention_scratch_layout& scratch) {
  clear(scratch, scratch.total);
  if (job.sink_logits)
    for (std::int64_t row = 0; row < scratch.rows; ++row) {
      scratch.total.maximum[row] = job.sink_logits[row % job.heads];
      scratch.total.sum[row] = 1;
    }
  if (!job.cache->span.sinks) return;
  attend_sinks(job, scratch);
  merge(scratch, scratch.total, scratch.block);
}

void write_quotients(const attention_scratch_layout& scratch, const attention_job& job) {
  const int head_dim = job.cache->head_dim;
  const int value_dim = job.cache->value_dim();
  for (std::int64_t row = 0; row < scratch.rows; ++row) {
    const simd::f scale = simd::set(1.0F / scratch.total.sum[row]);
    const float* values = scratch.total.values + row * scratch.dims;
    float* out = job.out[row / job.heads] + row % job.heads * head_dim;
    over_row(
        value_dim, [&](row_span part)
                       __attribute__((always_inline)) { store(out, simd::mul(load(values, part), scale), part); });
  }
}

partial_rows partial_of_span(const attention_job& job, const attention_scratch_layout& scratch, std::int64_t span) {
  return partial_at(job.partials + (span - job.first_span) * partial_floats(scratch.rows, scratch.dims), scratch.rows,
                    scratch.dims);
}

void attention_tile(const attention_job& job) {
  const attention_scratch_layout scratch(job.scratch, job.queries * job.heads, job.cache->head_dim);
  scale_queries(job, scratch);
  begin_total(job, scratch);
  for (std::int64_t span = job.first_span; span < job.last_span; ++span) {
    attend_span(job, scratch, span, scratch.span);
    merge(scratch, scratch.total, scratch.span);
  }
  write_quotients(scratch, job);
}

void attention_partials(const attention_job& job) {
  const attention_scratch_layout scratch(job.scratch, job.queries * job.heads, job.cache->head_dim);
  scale_queries(job, scratch);
  for (std::int64_t span = job.first_span; span < job.last_span; ++span)
    attend_span(job, scratch, span, partial_of_span(job, scratch, span));
}

void merge_attention_partials(const attention_job& job) {
  const attention_scratch_layout scratch(job.scratch, job.queries * job.heads, job.cache->head_dim);
  if (job.cache->span.sinks) scale_queries(job, scratch);
  begin_total(job, scratch);
  for (std::int64_t span = job.first_span; span < job.last_span; ++span)
    merge(scratch, scratch.total, partial_of_span(job, scratch, span));
  write_quotients(scratch, job);
}

}  // namespace
}  // namespace cogen::kernels
