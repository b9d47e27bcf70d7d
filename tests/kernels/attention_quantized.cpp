// Attention over quantized caches: against an oracle over the dequantized numbers, and where attention dequantizes
// them bit by bit against attention over those numbers in full precision.
#include "attention_oracle.hpp"
#include "kv_storage.hpp"
#include "network/kernels/attention.hpp"

#include <cogen/cache/cache.hpp>
#include <cogen/detail/cache/mask.hpp>
#include <cogen/extend/tensors.hpp>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>

namespace cogen::kernels {
namespace {

/// A codec of a user's own, with nothing that kernels know: sixteenths, the dimensions in reverse.
class sixteenths final : public cache::codec {
 public:
  std::string name() const override { return "sixteenths"; }
  std::int64_t quantized_bytes(int head_dim) const override { return std::int64_t{cache::block_tokens} * head_dim; }
  void quantize(const float* values, int head_dim, std::byte* codes) const override {
    for (int i = 0; i < cache::block_tokens * head_dim; ++i)
      codes[reversed(i, head_dim)] = std::byte(std::clamp(std::lround(values[i] * 16) + 128, 0L, 255L));
  }
  void dequantize(const std::byte* quantized, int head_dim, float* values) const override {
    for (int i = 0; i < cache::block_tokens * head_dim; ++i)
      values[i] = static_cast<float>(std::to_integer<int>(quantized[reversed(i, head_dim)]) - 128) / 16;
  }

 private:
  static int reversed(int i, int head_dim) { return i / head_dim * head_dim + head_dim - 1 - i % head_dim; }
};

/// Whether attention multiplies codes as they are, which rounds queries to 8 or 15 bits and weights to 15.
bool multiplies_codes(const cache::codec& codec, cache::row_order rows) {
  const cache::group_format* format = codec.format();
  return format && format->order == rows && format->group % 16 == 0;
}

struct quantized_case {
  std::string name;
  cache::quantization scheme;
  cache::kv_cache_spec shape;
  int heads;
  cache::scalar type;
};

/// [kv_heads, length, head_dim], in double: numbers as a cache of that format keeps them in full precision.
at::Tensor rounded(const attention_numbers& numbers, const std::vector<float>& values, cache::scalar type) {
  return numbers.tokens(values).to(at::kFloat).to(cache::tensor_type(type)).to(at::kDouble).contiguous();
}

/// The same as they are when all whole blocks have been quantized.
at::Tensor unquantized(const at::Tensor& kept, const cache::codec& codec) {
  const at::Tensor numbers = kept.to(at::kFloat).contiguous();
  const auto head_dim = static_cast<int>(numbers.size(2));
  std::vector<std::byte> quantized(static_cast<std::size_t>(codec.quantized_bytes(head_dim)));
  for (std::int64_t head = 0; head < numbers.size(0); ++head)
    for (std::int64_t start = 0; start + 64 <= numbers.size(1); start += 64) {
      float* block = numbers.data_ptr<float>() + (head * numbers.size(1) + start) * head_dim;
      codec.quantize(block, head_dim, quantized.data());
      codec.dequantize(quantized.data(), head_dim, block);
    }
  return numbers.to(at::kDouble);
}

/// Queries [heads, length, head_dim] as they meet quantized keys that have no scales along rows: of up to 64 dimensions
/// of a group each is rounded to 127 steps of either sign.
at::Tensor rounded_to_bytes(const at::Tensor& queries, std::int64_t group) {
  const at::Tensor result = queries.clone();
  for (std::int64_t first = 0, end = 0; first < result.size(2); first = end) {
    end = std::min({first + 64, (first / group + 1) * group, result.size(2)});
    const at::Tensor part = result.slice(2, first, end);
    const at::Tensor step = part.abs().amax(2, true) / 127;
    part.copy_((part / step).round() * step);
  }
  return result;
}

/// A sequence whose keys and values go through a cache of some kind.
class quantized_sequence {
 public:
  quantized_sequence(const quantized_case& params, std::int64_t length)
      : case_(params),
        numbers_({params.heads, params.shape.kv_heads, params.shape.head_dim}, length, 3),
        keys_(rounded(numbers_, numbers_.k, params.type)),
        values_(rounded(numbers_, numbers_.v, params.type)),
        quantized_keys_(unquantized(keys_, *params.scheme.keys)),
        quantized_values_(unquantized(values_, *params.scheme.values)) {}

  std::int64_t width() const { return numbers_.form.q_width(); }

  /// [length, heads, head_dim]. Each query reads quantized what its own position says, whatever the other rows.
  at::Tensor expected() const {
    const std::int64_t length = numbers_.length;
    const at::Tensor q = numbers_.queries(numbers_.q) * static_cast<double>(scale);
    const auto scores = [&](const at::Tensor& queries, const at::Tensor& keys) {
      return at::matmul(queries, numbers_.shared(keys).transpose(1, 2));
    };
    const cache::group_format* format = case_.scheme.keys->format();
    const bool bytes = multiplies_codes(*case_.scheme.keys, cache::row_order::channel) && format->bits == 8 &&
                       format->axis == cache::group_axis::token;
    const at::Tensor is_quantized = at::empty({length, length}, at::kBool);
    for (std::int64_t query = 0; query < length; ++query)
      for (std::int64_t key = 0; key < length; ++key)
        is_quantized.data_ptr<bool>()[query * length + key] = key / 64 * 64 + 64 + case_.scheme.residual <= query + 1;
    const cache::mask rule = cache::rule_of(cache::span_of(case_.shape));
    const at::Tensor seen =
        cache::to_dense(rule, {.q_length = static_cast<int>(length), .kv_length = static_cast<int>(length)});
    return attended(scores(q, keys_), numbers_.shared(values_), seen,
                    other_keys{is_quantized, scores(bytes ? rounded_to_bytes(q, format->group) : q, quantized_keys_),
                               numbers_.shared(quantized_values_)});
  }

  /// What the queries of all steps get in each run, the sequence growing by `chunk` tokens a step.
  std::vector<std::vector<float>> attend(const std::vector<execution>& runs, int chunk) const {
    cache::cache memory = fresh(chunk);
    std::vector<std::vector<float>> out(runs.size(), std::vector<float>(numbers_.q.size()));
    for (int first = 0; first < numbers_.length; first += chunk) grow(runs, memory, first, chunk, out);
    return out;
  }

  /// The last query's result where all that it reads quantized is read from full precision instead.
  std::vector<float> attend_unquantized(const execution& run) const {
    const auto [heads, kv_heads, head_dim] = numbers_.form;
    const std::int64_t boundary = cache::quantized_tokens(numbers_.length, case_.scheme.residual);
    kv_storage storage(cache::scalar::f32, kv_heads, head_dim, numbers_.length);
    for (const bool value : {false, true}) {
      const at::Tensor late = (value ? values_ : keys_).to(at::kFloat).contiguous();
      const at::Tensor early = (value ? quantized_values_ : quantized_keys_).to(at::kFloat).contiguous();
      for (int head = 0; head < kv_heads; ++head)
        for (std::int64_t position = 0; position < numbers_.length; ++position)
          for (int dim = 0; dim < head_dim; ++dim)
            storage.set(value, position, head, dim,
                        (position < boundary ? early : late)
                            .const_data_ptr<float>()[(head * numbers_.length + position) * head_dim + dim]);
    }
    token_rows row;
    row.cache = storage.view();
    row.cache.span = cache::span_of(case_.shape);
    std::vector<float> out(static_cast<std::size_t>(width()));
    attend_rows(run, row, static_cast<int>(numbers_.length) - 1, 1, out.data());
    return out;
  }

 private:
  /// Its rings have no more room than steps of `chunk` tokens need.
  cache::cache fresh(int chunk) const {
    return cache::cache({&case_.shape, 1}, {.type = case_.type,
                                            .max_sequence_length = static_cast<int>(numbers_.length),
                                            .kv_quantization = case_.scheme,
                                            .max_step_tokens = chunk,
                                            .max_rollback_tokens = 0});
  }

  void grow(const std::vector<execution>& runs, cache::cache& memory, int first, int chunk,
            std::vector<std::vector<float>>& out) const {
    const int count = std::min(chunk, static_cast<int>(numbers_.length) - first);
    const cache::step step({{.slot = 0, .count = count}});
    memory.reserve(step);
    const auto part = [&](const at::Tensor& tokens) { return tokens.slice(1, first, first + count).transpose(0, 1); };
    cache::append(memory.layer(0), step, part(keys_), part(values_));
    token_rows row;
    row.cache = *memory.layer(0).view(0, first + count);
    for (std::size_t i = 0; i < runs.size(); ++i)
      attend_rows(runs[i], row, first, count, out[i].data() + first * width());
    memory.advance(step);
  }

  void attend_rows(const execution& run, token_rows& row, int first, int count, float* out) const {
    row.count = count;
    row.offset = first;
    attention(run, {&row, 1},
              {.q = {numbers_.q.data() + first * width(), width()},
               .out = {out, width()},
               .heads = numbers_.form.heads,
               .scale = scale});
  }

  quantized_case case_;
  attention_numbers numbers_;
  at::Tensor keys_, values_;                      // [kv_heads, length, head_dim]
  at::Tensor quantized_keys_, quantized_values_;  // the same, unpacked again
};

/// All that holds for every form, on every instruction set and with each number of threads.
void check(const quantized_case& params, std::int64_t length, std::span<worker_pool* const> pools) {
  const quantized_sequence sequence(params, length);
  std::vector<execution> runs;
  for (worker_pool* workers : pools)
    for (const instruction_set set : tested_instruction_sets()) runs.push_back({workers, set});
  const bool rounds = multiplies_codes(*params.scheme.keys, cache::row_order::channel) ||
                      multiplies_codes(*params.scheme.values, cache::row_order::token);
  const at::Tensor expected = sequence.expected();
  const auto whole = sequence.attend(runs, static_cast<int>(length));
  const auto one_by_one = sequence.attend(runs, 1), some = sequence.attend(runs, 50),
             blocks = sequence.attend(runs, 64);
  for (std::size_t i = 0; i < runs.size(); ++i)
    BOOST_TEST_CONTEXT(params.name << ", residual " << params.scheme.residual << ", " << params.heads << " heads of "
                                   << params.shape.head_dim << ", " << name_of(runs[i].set)) {
      const std::int64_t count = std::ssize(whole[i]), last = (length - 1) * sequence.width();
      BOOST_TEST(error_of(whole[i], expected) < (rounds ? 1e-3 : 4e-6));
      BOOST_TEST(same_bits(one_by_one[i].data(), whole[i].data(), count));
      BOOST_TEST(same_bits(some[i].data(), whole[i].data(), count));
      BOOST_TEST(same_bits(blocks[i].data(), whole[i].data(), count));
      if (!rounds)
        BOOST_TEST(same_bits(sequence.attend_unquantized(runs[i]).data(), whole[i].data() + last, count - last));
      BOOST_TEST(same_bits(whole[i].data(), whole[i % tested_instruction_sets().size()].data(), count));
    }
}

cache::quantization with_residual(cache::quantization scheme, int residual) {
  scheme.residual = residual;
  return scheme;
}

cache::quantization own(int residual) {
  return {std::make_shared<sixteenths>(), std::make_shared<sixteenths>(), residual};
}

BOOST_AUTO_TEST_SUITE(attention_packed_test, *boost::unit_test::fixture<one_torch_thread>())

BOOST_AUTO_TEST_CASE(every_preset_agrees_with_the_oracle_at_every_residual_and_head_size) {
  worker_pool pool(1);
  worker_pool* const pools[] = {&pool};
  const std::pair<const char*, cache::quantization> presets[] = {{"int8", cache::int8()},
                                                                 {"int8_int4", cache::int8_int4()},
                                                                 {"int4", cache::int4()},
                                                                 {"kivi2", cache::kivi2()},
                                                                 {"own", own(0)}};
  constexpr int residuals[] = {0, 1, 63, 64, 100};
  int number = 0;
  for (const auto& [name, scheme] : presets)
    for (const int head_dim : {5, 12, 40, 64, 80, 128}) {
      const int residual = residuals[number % 5];
      const cache::scalar type = all_scalars[number % 3];
      ++number;  // each residual meets each preset: 6 head sizes, one of them twice
      check({name, with_residual(scheme, residual), {.kv_heads = 2, .head_dim = head_dim}, 6, type}, 257, pools);
    }
}

BOOST_AUTO_TEST_CASE(every_built_in_form_agrees_with_the_oracle_those_that_kernels_do_not_read_included) {
  using cache::group_axis, cache::row_order;
  worker_pool pool(1);
  worker_pool* const pools[] = {&pool};
  for (const int bits : {8, 4, 2})
    for (const row_order order : {row_order::channel, row_order::token})
      for (const auto& [axis, group] : {std::pair(group_axis::token, 16), std::pair(group_axis::token, 24),
                                        std::pair(group_axis::token, 48), std::pair(group_axis::token, 512),
                                        std::pair(group_axis::channel, 32), std::pair(group_axis::channel, 64)}) {
        const auto codec = cache::make_group_codec({.bits = bits, .axis = axis, .order = order, .group = group});
        const std::string name = codec->name() + (order == row_order::token ? " in rows of tokens" : "") +
                                 ", groups of " + std::to_string(group);
        check({name, {codec, codec, 20}, {.kv_heads = 1, .head_dim = 72}, 2, cache::scalar::f32}, 200, pools);
      }
}

BOOST_AUTO_TEST_CASE(jobs_of_any_number_of_rows_have_the_same_bits) {
  worker_pool pool(1);
  worker_pool* const pools[] = {&pool};
  for (const int heads : {1, 2, 3, 4, 5, 7, 8, 9, 12, 50})
    check({"int8_int4",
           with_residual(cache::int8_int4(), 30),
           {.kv_heads = 1, .head_dim = 48},
           heads,
           cache::scalar::bf16},
          140, pools);
}

BOOST_AUTO_TEST_CASE(quantized_tokens_of_windows_and_chunks_lie_in_rings) {
  using cache::layer_kind;
  worker_pool pool(1);
  worker_pool* const pools[] = {&pool};
  for (const auto& [kind, window] :
       {std::pair(layer_kind::sliding, 10), std::pair(layer_kind::sliding, 100), std::pair(layer_kind::sliding, 200),
        std::pair(layer_kind::chunked, 70), std::pair(layer_kind::chunked, 256)})
    for (const auto& scheme : {with_residual(cache::int8(), 0), with_residual(cache::int4(), 40), own(5)})
      check({"windows", scheme, {.kind = kind, .kv_heads = 1, .head_dim = 24, .window = window}, 3, cache::scalar::f16},
            500, pools);
}

BOOST_AUTO_TEST_CASE(several_spans_and_threads_change_no_bit) {
  worker_pool single(1), three(3);
  worker_pool* const pools[] = {&single, &three};
  for (const auto& scheme : {cache::int8(), cache::int4(), own(128)})
    check({"long", scheme, {.kv_heads = 1, .head_dim = 32}, 3, cache::scalar::bf16}, 900, pools);
}

BOOST_AUTO_TEST_CASE(emulations_compute_the_same_bits) {
  worker_pool workers(2);
  for (const auto& scheme : {cache::int8(), cache::int8_int4(), cache::int4(), cache::kivi2(), own(0)})
    for (const int chunk : {1, 200}) {
      const quantized_sequence sequence({"packed", scheme, {.kv_heads = 1, .head_dim = 40}, 3, cache::scalar::f16},
                                        200);
      check_emulations(workers, [&](const execution& run) { return sequence.attend({run}, chunk).front(); });
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels
