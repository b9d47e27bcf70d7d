#include "network/kernels/attention.hpp"

#include "attention_oracle.hpp"
#include "kv_storage.hpp"

#include <cogen/detail/cache/mask.hpp>
#include <cogen/extend/tensors.hpp>

#include <ATen/ops/arange.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

namespace cogen::kernels {
namespace {

// One sequence with all its keys and values, and queries for all its positions.
struct sequence {
  attention_shape form;
  std::int64_t length;
  kv_storage storage;
  std::vector<float> q;

  sequence(const attention_shape& f, cache::scalar type, std::int64_t tokens, std::int64_t base, std::uint32_t seed)
      : form(f),
        length(tokens),
        storage(type, f.kv_heads, f.head_dim, tokens, base),
        q(random_floats(static_cast<std::size_t>(tokens * f.heads * f.head_dim), seed)) {
    const std::vector<float> numbers =
        random_floats(static_cast<std::size_t>(2 * tokens * f.kv_heads * f.head_dim), seed + 1);
    std::size_t next = 0;
    for (const bool value : {false, true})
      for (std::int64_t position = 0; position < tokens; ++position)
        for (int head = 0; head < f.kv_heads; ++head)
          for (int dim = 0; dim < f.head_dim; ++dim) storage.set(value, position, head, dim, numbers[next++]);
  }

  std::int64_t width() const { return form.q_width(); }

  // [kv_heads, length, head_dim], as stored.
  at::Tensor stored(bool value) const {
    std::vector<float> numbers;
    for (int head = 0; head < form.kv_heads; ++head)
      for (std::int64_t position = 0; position < length; ++position)
        for (int dim = 0; dim < form.head_dim; ++dim) numbers.push_back(storage.get(value, position, head, dim));
    return tensor(numbers, {form.kv_heads, length, form.head_dim});
  }

  // [length, heads, head_dim]: softmax(scale q k^T + mask) v, in double. Scores go through `adjust` first.
  template <class Adjust>
  at::Tensor expected(float scale, const Adjust& adjust) const {
    const int group = form.heads / form.kv_heads;
    const at::Tensor queries = tensor(q, {length, form.heads, form.head_dim}).transpose(0, 1);
    const at::Tensor keys = stored(false).repeat_interleave(group, 0);
    const at::Tensor values = stored(true).repeat_interleave(group, 0);
    const auto count = static_cast<int>(length);
    return attended(adjust(at::matmul(queries, keys.transpose(1, 2)) * static_cast<double>(scale)), values,
                    cache::to_dense(cache::causal(), {.q_length = count, .kv_length = count}));
  }

  at::Tensor expected(float scale) const {
    return expected(scale, [](const at::Tensor& scores) { return scores; });
  }

  // Queries [first, last) in one call.
  std::vector<float> attend(const execution& run, std::int64_t first, std::int64_t last, float scale, float softcap = 0,
                            const std::vector<float>& slopes = {}, const std::vector<float>& sink_logits = {}) const {
    std::vector<float> out(static_cast<std::size_t>((last - first) * width()));
    const token_rows row{storage.view(), 0, last - first, first};
    attention(run, {&row, 1},
              {.q = {q.data() + first * width(), width()},
               .out = {out.data(), width()},
               .heads = form.heads,
               .scale = scale,
               .softcap = softcap,
               .slopes = slopes.empty() ? nullptr : slopes.data(),
               .sink_logits = sink_logits.empty() ? nullptr : sink_logits.data()});
    return out;
  }
};

BOOST_AUTO_TEST_SUITE(attention_test, *boost::unit_test::fixture<one_torch_thread>())

BOOST_AUTO_TEST_CASE(agrees_with_the_oracle_for_every_shape_and_number_format) {
  worker_pool workers(2);
  constexpr attention_shape shapes[] = {{9, 3, 64}, {6, 2, 24}, {4, 4, 20}, {8, 1, 128}, {3, 1, 7}, {50, 1, 16}};
  for (const attention_shape& form : shapes)
    for (const cache::scalar type : all_scalars) {
      const sequence prompt(form, type, 150, 0, 1);
      const at::Tensor expected = prompt.expected(0.3F);
      for_each_set(workers, [&](const execution& run) {
        BOOST_TEST_CONTEXT("heads " << form.heads << ", dimensions " << form.head_dim) {
          BOOST_TEST(error_of(prompt.attend(run, 0, 150, 0.3F), expected) < 2e-6);
        }
      });
    }
}

BOOST_AUTO_TEST_CASE(agrees_with_the_oracle_over_several_spans) {
  worker_pool workers(3);
  const sequence prompt({6, 2, 32}, cache::scalar::f32, 1100, 512, 3);
  const at::Tensor expected = prompt.expected(0.2F);
  for_each_set(workers, [&](const execution& run) {
    BOOST_TEST(error_of(prompt.attend(run, 0, 1100, 0.2F), expected) < 2e-6);
    const at::Tensor last = expected.slice(0, 1099, 1100);
    BOOST_TEST(error_of(prompt.attend(run, 1099, 1100, 0.2F), last) < 2e-6);
  });
}

// They take e^logit of what a softmax sums up.
BOOST_AUTO_TEST_CASE(logits_of_sinks_take_a_share_without_a_value) {
  worker_pool workers(3);
  for (const attention_shape& form : {attention_shape{6, 2, 24}, attention_shape{50, 1, 16}}) {
    const sequence prompt(form, cache::scalar::f32, 700, 512, 6);
    const auto logits = random_floats(static_cast<std::size_t>(form.heads), 7, 6.0F);
    at::Tensor shares;  // [heads, query]
    const at::Tensor without = prompt.expected(0.3F, [&](const at::Tensor& scores) {
      const at::Tensor future = at::ones({700, 700}, at::kBool).triu(1);
      const at::Tensor sums = scores.to(at::kDouble).masked_fill(future, -INFINITY).logsumexp(at::IntArrayRef{2});
      shares = at::sigmoid(sums - tensor(logits, {form.heads, 1}).to(at::kDouble));
      return scores;
    });
    const at::Tensor expected = without * shares.t().unsqueeze(2);
    for_each_set(workers, [&](const execution& run) {
      BOOST_TEST(error_of(prompt.attend(run, 0, 700, 0.3F, 0, {}, logits), expected) < 3e-6);
      const at::Tensor last = expected.slice(0, 699, 700);
      BOOST_TEST(error_of(prompt.attend(run, 699, 700, 0.3F, 0, {}, logits), last) < 3e-6);
    });
  }
}

BOOST_AUTO_TEST_CASE(scores_are_capped_and_then_weighed_by_distance) {
  worker_pool workers(2);
  const sequence prompt({6, 2, 24}, cache::scalar::f32, 700, 0, 5);
  const std::vector<float> slopes{0.5F, 0.25F, 0.125F, 0.0625F, 0.03F, 0.01F};
  constexpr float cap = 0.7F;  // of scores with a standard deviation of about 1
  const at::Tensor positions = at::arange(700, at::kDouble);
  const at::Tensor distances = positions.unsqueeze(0) - positions.unsqueeze(1);  // [query, key]
  const at::Tensor expected = prompt.expected(0.3F, [&](const at::Tensor& scores) {
    const at::Tensor weights = tensor(slopes, {6, 1, 1}).to(at::kDouble);
    return cap * at::tanh(scores.to(at::kDouble) / cap) + weights * distances;
  });
  for_each_set(workers, [&](const execution& run) {
    BOOST_TEST(error_of(prompt.attend(run, 0, 700, 0.3F, cap, slopes), expected) < 3e-6);
    const at::Tensor last = expected.slice(0, 699, 700);
    BOOST_TEST(error_of(prompt.attend(run, 699, 700, 0.3F, cap, slopes), last) < 3e-6);
  });
}

BOOST_AUTO_TEST_CASE(a_query_has_the_same_bits_for_any_chunking_and_number_of_threads) {
  worker_pool single(1), three(3);
  for (const cache::scalar type : all_scalars)
    for_each_set(single, [&](const execution& run) {
      const sequence prompt({6, 2, 40}, type, 1000, 0, 7);
      const std::vector<float> whole = prompt.attend(run, 0, 1000, 0.2F);
      for (worker_pool* workers : {&single, &three}) {
        execution other = run;
        other.workers = workers;
        for (const std::int64_t chunk : {1, 13, 64, 333})
          for (std::int64_t first = 0; first < 1000; first += chunk == 1 ? 77 : chunk) {
            const std::int64_t last = std::min<std::int64_t>(first + chunk, 1000);
            const std::vector<float> part = prompt.attend(other, first, last, 0.2F);
            BOOST_REQUIRE(
                same_bits(part.data(), whole.data() + first * prompt.width(), (last - first) * prompt.width()));
          }
      }
    });
}

BOOST_AUTO_TEST_CASE(a_base_changes_no_bit) {
  worker_pool workers(2);
  for (const std::int64_t base : {64, 320, 576}) {
    const sequence plain({6, 2, 64}, cache::scalar::f16, 600, 0, 9),
        forked({6, 2, 64}, cache::scalar::f16, 600, base, 9);
    for_each_set(workers, [&](const execution& run) {
      BOOST_TEST(plain.attend(run, 590, 600, 0.1F) == forked.attend(run, 590, 600, 0.1F));
      BOOST_TEST(plain.attend(run, 599, 600, 0.1F) == forked.attend(run, 599, 600, 0.1F));
    });
  }
}

BOOST_AUTO_TEST_CASE(a_row_has_the_same_bits_in_any_batch) {
  worker_pool single(1), two(2), four(4);  // the longest row alone is cut for two, others too for four
  const attention_shape form{6, 3, 24};
  std::vector<std::unique_ptr<sequence>> sequences;
  std::vector<token_rows> rows;
  std::vector<float> q;
  std::int64_t tokens = 0;
  for (const auto& [length, count] : {std::pair(5, 1), std::pair(1500, 1), std::pair(130, 130), std::pair(64, 3),
                                      std::pair(700, 20), std::pair(900, 1)}) {
    sequences.push_back(
        std::make_unique<sequence>(form, cache::scalar::bf16, length, 0, static_cast<std::uint32_t>(length)));
    rows.push_back({sequences.back()->storage.view(), tokens, count, length - count});
    const std::size_t first = static_cast<std::size_t>((length - count) * sequences.back()->width());
    q.insert(q.end(), sequences.back()->q.begin() + static_cast<std::ptrdiff_t>(first), sequences.back()->q.end());
    tokens += count;
  }
  const std::int64_t width = form.heads * form.head_dim;
  for_each_set(single, [&](const execution& run) {
    for (worker_pool* workers : {&single, &two, &four}) {
      execution other = run;
      other.workers = workers;
      std::vector<float> out = q;  // in place
      attention(other, rows, {.q = {out.data(), width}, .out = {out.data(), width}, .heads = 6, .scale = 0.2F});
      for (std::size_t index = 0; index < rows.size(); ++index) {
        const std::vector<float> alone =
            sequences[index]->attend(run, rows[index].offset, sequences[index]->length, 0.2F);
        BOOST_TEST(same_bits(out.data() + rows[index].first * width, alone.data(), rows[index].count * width));
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(large_scores_do_not_overflow) {
  worker_pool workers(1);
  const sequence prompt({2, 1, 16}, cache::scalar::f32, 300, 0, 11);
  const at::Tensor expected = prompt.expected(40.0F);
  for_each_set(workers,
               [&](const execution& run) { BOOST_TEST(error_of(prompt.attend(run, 0, 300, 40.0F), expected) < 1e-4); });
}

BOOST_AUTO_TEST_CASE(a_sequence_that_is_not_finite_shows_it) {
  worker_pool workers(1);
  sequence prompt({2, 1, 16}, cache::scalar::f32, 100, 0, 11);
  prompt.storage.set(false, 10, 0, 3, std::nanf(""));
  for_each_set(workers, [&](const execution& run) {
    const std::vector<float> out = prompt.attend(run, 0, 100, 0.2F);
    BOOST_TEST(!std::isnan(out[0]));
    BOOST_TEST(std::isnan(out[static_cast<std::size_t>(99 * prompt.width())]));
  });
}

BOOST_AUTO_TEST_CASE(impossible_shapes_are_refused) {
  worker_pool workers(1);
  const sequence prompt({4, 2, 16}, cache::scalar::f32, 10, 0, 1);
  const execution run{&workers, instruction_set::portable};
  const token_rows row{prompt.storage.view(), 0, 1, 0};
  std::vector<float> out(200);
  BOOST_CHECK_THROW(
      attention(run, {&row, 1},
                {.q = {prompt.q.data(), prompt.width()}, .out = {out.data(), prompt.width()}, .heads = 3}),
      std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(emulations_compute_the_same_bits) {
  worker_pool workers(2);
  for (const cache::scalar type : all_scalars) {
    const sequence prompt({6, 2, 40}, type, 600, 0, 7);
    check_emulations(workers, [&](const execution& run) { return prompt.attend(run, 0, 600, 0.2F); });
    check_emulations(workers, [&](const execution& run) { return prompt.attend(run, 599, 600, 0.2F); });
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels
