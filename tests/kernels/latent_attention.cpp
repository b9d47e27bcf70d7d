// Latent attention: values are the first numbers of keys. Against the expanded form in double, in which each head has
// keys and values of its own, and bit by bit against a cache that stores the values again.
#include "attention_oracle.hpp"
#include "network/kernels/attention.hpp"

#include <cogen/cache/cache.hpp>
#include <cogen/detail/cache/mask.hpp>
#include <cogen/extend/tensors.hpp>

#include <ATen/ops/bmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/einsum.h>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace cogen::kernels {
namespace {

constexpr cache::scalar types[] = {cache::scalar::f32, cache::scalar::f16, cache::scalar::bf16};

/// What attention reads: queries [tokens, heads, dims], and a row of `dims` numbers for each token.
struct latent_numbers {
  int heads;
  int dims;
  int values;
  at::Tensor q;
  at::Tensor rows;  // [tokens, 1, dims]

  int tokens() const { return static_cast<int>(rows.size(0)); }
};

latent_numbers random_numbers(int heads, int dims, int values, int tokens) {
  const auto random_tensor = [&](std::int64_t width, std::uint32_t seed) {
    return tensor(random_floats(static_cast<std::size_t>(tokens * width), seed), {tokens, width / dims, dims})
        .to(at::kFloat);
  };
  return {heads, dims, values, random_tensor(std::int64_t{heads} * dims, 1), random_tensor(dims, 2)};
}

/// The results of all queries, the sequence growing by `chunk` tokens a step: [tokens, heads, values].
at::Tensor attend(const execution& run, const latent_numbers& numbers, cache::options options, bool stores_values,
                  int chunk) {
  const cache::kv_cache_spec shape{
      .kv_heads = 1, .head_dim = numbers.dims, .latent_dim = stores_values ? 0 : numbers.values};
  options.max_sequence_length = numbers.tokens();
  options.max_step_tokens = chunk;
  cache::cache memory({&shape, 1}, options);
  const at::Tensor out = numbers.q.clone();
  const std::int64_t width = std::int64_t{numbers.heads} * numbers.dims;
  for (int first = 0; first < numbers.tokens(); first += chunk) {
    const int count = std::min(chunk, numbers.tokens() - first);
    const cache::step step({{.slot = 0, .count = count}});
    memory.reserve(step);
    const at::Tensor k = numbers.rows.narrow(0, first, count);
    cache::append(memory.layer(0), step, k, k.narrow(2, 0, shape.value_dim()));
    const token_rows row{.cache = *memory.layer(0).view(0, first + count), .first = 0, .count = count, .offset = first};
    float* q = out.mutable_data_ptr<float>() + first * width;
    attention(run, {&row, 1}, {.q = {q, width}, .out = {q, width}, .heads = numbers.heads, .scale = scale});
    memory.advance(step);
  }
  return out.narrow(2, 0, numbers.values).contiguous();
}

bool same(const at::Tensor& a, const at::Tensor& b) {
  return same_bits(a.const_data_ptr<float>(), b.const_data_ptr<float>(), a.numel());
}

cache::quantization keys_for_both(cache::quantization scheme) {
  scheme.values = scheme.keys;
  return scheme;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(latent_attention_test, *boost::unit_test::fixture<one_torch_thread>())

BOOST_AUTO_TEST_CASE(agrees_with_keys_and_values_that_each_head_expands) {
  worker_pool workers(2);
  constexpr int heads = 20, tokens = 300, latent = 40, rotated = 8, plain = 12, out = 10;
  const auto random = [](at::IntArrayRef sizes, std::uint32_t seed) {
    std::int64_t count = 1;
    for (const auto size : sizes) count *= size;
    return tensor(random_floats(static_cast<std::size_t>(count), seed, 0.5F), sizes).to(at::kDouble);
  };
  const at::Tensor rows = random({tokens, latent + rotated}, 1);
  const at::Tensor to_key = random({heads, plain, latent}, 2), to_value = random({heads, out, latent}, 3);
  const at::Tensor q = random({heads, tokens, plain}, 4), rotated_q = random({heads, tokens, rotated}, 5);

  const at::Tensor latents = rows.narrow(1, 0, latent), rotated_k = rows.narrow(1, latent, rotated);
  const at::Tensor keys = at::einsum("tl,hpl->htp", {latents, to_key});
  const at::Tensor values = at::einsum("tl,hvl->htv", {latents, to_value});
  const at::Tensor scores =
      (at::bmm(q, keys.transpose(1, 2)) + at::matmul(rotated_q, rotated_k.t())) * static_cast<double>(scale);
  const at::Tensor seen = cache::to_dense(cache::causal(), {.q_length = tokens, .kv_length = tokens});
  const at::Tensor expected = attended(scores, values, seen);

  const latent_numbers absorbed{heads, latent + rotated, latent,
                                at::cat({at::bmm(q, to_key), rotated_q}, 2).transpose(0, 1).to(at::kFloat).contiguous(),
                                rows.to(at::kFloat).unsqueeze(1)};
  for_each_set(workers, [&](const execution& run) {
    const at::Tensor got = attend(run, absorbed, {.type = cache::scalar::f32}, false, 100).to(at::kDouble);
    BOOST_TEST((at::einsum("thl,hvl->thv", {got, to_value}) - expected).abs().max().item<double>() < 2e-5);
  });
}

BOOST_AUTO_TEST_CASE(has_the_bits_of_values_that_are_stored) {
  worker_pool workers(2);
  constexpr int shapes[][3] = {{16, 72, 64}, {5, 30, 21}, {100, 24, 16}, {1, 576, 512}};
  for (const auto& [heads, dims, values] : shapes) {
    const latent_numbers numbers = random_numbers(heads, dims, values, 330);
    for_each_set(workers, [&](const execution& run) {
      for (const cache::scalar type : types)
        BOOST_TEST(
            same(attend(run, numbers, {.type = type}, false, 110), attend(run, numbers, {.type = type}, true, 110)),
            "dims " << dims << " of type " << static_cast<int>(type));
    });
  }
}

BOOST_AUTO_TEST_CASE(has_the_bits_of_values_that_are_quantized_like_keys) {
  worker_pool workers(2);
  for (const auto& [heads, dims, values] : {std::array{16, 72, 64}, std::array{3, 30, 21}}) {
    const latent_numbers numbers = random_numbers(heads, dims, values, 330);
    for (const auto& scheme : {cache::int8(), cache::int4(), cache::kivi2()}) {
      const cache::options options{.type = cache::scalar::bf16, .kv_quantization = keys_for_both(scheme)};
      for_each_set(workers, [&](const execution& run) {
        BOOST_TEST(same(attend(run, numbers, options, false, 110), attend(run, numbers, options, true, 110)));
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(a_query_has_the_same_bits_for_any_chunking) {
  worker_pool workers(2);
  const latent_numbers numbers = random_numbers(6, 40, 32, 280);
  for_each_set(workers, [&](const execution& run) {
    for (const bool quantized : {false, true}) {
      cache::options options{.type = cache::scalar::f16};
      if (quantized) options.kv_quantization = cache::int8();
      const at::Tensor whole = attend(run, numbers, options, false, 280);
      for (const int chunk : {1, 13, 64, 200}) BOOST_TEST(same(attend(run, numbers, options, false, chunk), whole));
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::kernels
