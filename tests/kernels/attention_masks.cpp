// The ranges that attention reads, held against the masks that the same rules make.
#include "attention_oracle.hpp"
#include "kv_storage.hpp"
#include "network/kernels/attention.hpp"

#include <cogen/detail/cache/mask.hpp>
#include <cogen/extend/tensors.hpp>

#include <ATen/ops/arange.h>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>
#include <sstream>
#include <vector>

namespace cogen::kernels {
namespace {

constexpr cache::attention_span spans[] = {
    {},
    {.window = 1},
    {.window = 5},
    {.window = 63},
    {.window = 64},
    {.window = 65},
    {.window = 200},
    {.window = 256},
    {.chunk = 1},
    {.chunk = 7},
    {.chunk = 64},
    {.chunk = 100},
    {.window = 30, .chunk = 70},
    {.window = 300, .chunk = 128},
    {.window = 1, .sinks = 1},
    {.window = 20, .sinks = 4},
    {.window = 64, .sinks = 64},
    {.window = 61, .sinks = 63},
    {.window = 300, .sinks = 5},
    {.window = 50, .chunk = 90, .sinks = 9},
    {.causal = false},
    {.causal = false, .window = 10},
    {.causal = false, .window = 257},
    {.causal = false, .chunk = 48},
    {.causal = false, .chunk = 256},
    {.causal = false, .window = 40, .chunk = 130},
    {.causal = false, .window = 70, .sinks = 3},
    {.causal = false, .window = 70, .chunk = 80, .sinks = 64},
};

at::Tensor mask_of(const cache::attention_span& span, std::int64_t first, std::int64_t last, std::int64_t length) {
  return cache::to_dense(cache::rule_of(span), {.q_length = static_cast<int>(last - first),
                                                .q_offset = static_cast<int>(first),
                                                .kv_length = static_cast<int>(length)});
}

/// What queries [first, last) of a sequence read, and nothing else: every other byte is NaN.
class seen_storage {
 public:
  enum class place { row, forked, ring };

  seen_storage(const attention_numbers& numbers, const cache::attention_span& span, std::int64_t first,
               std::int64_t last, place where)
      : numbers_(numbers),
        span_(span),
        first_(first),
        last_(last),
        length_(span.causal ? last : numbers.length),
        storage_(stored(where)) {
    const at::Tensor seen = mask_of(span, first, last, length_).any(0);
    for (std::int64_t position = 0; position < length_; ++position)
      if (seen.const_data_ptr<bool>()[position]) write(position);
  }

  std::vector<float> attend(const execution& run) const {
    const std::int64_t width = numbers_.form.q_width();
    std::vector<float> out(static_cast<std::size_t>((last_ - first_) * width));
    token_rows row{storage_.view(), 0, last_ - first_, first_};
    row.cache.span = span_;
    attention(run, {&row, 1},
              {.q = {numbers_.q.data() + first_ * width, width},
               .out = {out.data(), width},
               .heads = numbers_.form.heads,
               .scale = scale,
               .sink_q = {numbers_.sink_q.data() + first_ * width, width}});
    return out;
  }

 private:
  kv_storage stored(place where) const {
    const auto [heads, kv_heads, head_dim] = numbers_.form;
    const std::int64_t stays = where == place::forked || span_.sinks > 0 ? 64 : 0;
    const std::int64_t oldest = std::max<std::int64_t>(stays, cache::first_seen(span_, static_cast<int>(first_)));
    const std::int64_t ring = std::max<std::int64_t>(1, (length_ + 63) / 64 - oldest / 64);
    return {cache::scalar::f32,
            kv_heads,
            head_dim,
            length_,
            where == place::row ? 0 : stays,
            where == place::ring ? ring : 0};
  }

  void write(std::int64_t position) {
    const auto [heads, kv_heads, head_dim] = numbers_.form;
    auto index = static_cast<std::size_t>(position * numbers_.form.kv_width());
    for (int head = 0; head < kv_heads; ++head)
      for (int dim = 0; dim < head_dim; ++dim, ++index) {
        storage_.set(false, position, head, dim, numbers_.k[index]);
        storage_.set(true, position, head, dim, numbers_.v[index]);
      }
  }

  const attention_numbers& numbers_;
  cache::attention_span span_;
  std::int64_t first_;
  std::int64_t last_;
  std::int64_t length_;
  kv_storage storage_;
};

/// [length, heads, head_dim]
at::Tensor expected(const attention_numbers& numbers, const cache::attention_span& span) {
  const at::Tensor keys = numbers.shared(numbers.tokens(numbers.k)).transpose(1, 2) * static_cast<double>(scale);
  const at::Tensor values = numbers.shared(numbers.tokens(numbers.v));
  const at::Tensor is_sink = (at::arange(numbers.length) < span.sinks).expand({numbers.length, numbers.length});
  return attended(at::matmul(numbers.queries(numbers.q), keys), values,
                  mask_of(span, 0, numbers.length, numbers.length),
                  other_keys{is_sink, at::matmul(numbers.queries(numbers.sink_q), keys), values});
}

void check_chunks(const attention_numbers& numbers, const cache::attention_span& span, std::int64_t chunk,
                  const at::Tensor& truth, worker_pool& workers) {
  const bool may_ring = span.causal && (span.window > 0 || span.chunk > 0);
  for (std::int64_t first = 0; first < numbers.length; first += chunk == 1 ? 31 : chunk) {
    const std::int64_t last = std::min(first + chunk, numbers.length);
    using place = seen_storage::place;
    const seen_storage plain(numbers, span, first, last, place::row), forked(numbers, span, first, last, place::forked),
        ring(numbers, span, first, last, may_ring ? place::ring : place::row);
    for_each_set(workers, [&](const execution& run) {
      BOOST_TEST_CONTEXT("queries " << first << " to " << last) {
        const std::vector<float> out = plain.attend(run);
        BOOST_TEST(error_of(out, truth.slice(0, first, last)) < 3e-6);
        BOOST_TEST(same_bits(out.data(), forked.attend(run).data(), std::ssize(out)));
        BOOST_TEST(same_bits(out.data(), ring.attend(run).data(), std::ssize(out)));
      }
    });
  }
}

/// The bits of each query in chunks, alone and on several threads are those that it has in one call of all.
void check_bits(const attention_numbers& numbers, const cache::attention_span& span, worker_pool& single,
                worker_pool& several) {
  using place = seen_storage::place;
  std::map<instruction_set, std::vector<float>> whole;
  const seen_storage storage(numbers, span, 0, numbers.length, place::row);
  for_each_set(single, [&](const execution& run) { whole[run.set] = storage.attend(run); });
  for (const std::int64_t chunk : {1, 13, 64, 333})
    for (std::int64_t first = 0; first < numbers.length; first += chunk == 1 ? 29 : chunk) {
      const std::int64_t last = std::min(first + chunk, numbers.length);
      const seen_storage part(numbers, span, first, last, place::row);
      const std::int64_t count = (last - first) * numbers.form.q_width();
      for_each_set(single, [&](const execution& run) {
        execution other = run;
        other.workers = &several;
        const float* same = whole[run.set].data() + first * numbers.form.q_width();
        BOOST_TEST(same_bits(part.attend(run).data(), same, count), "queries " << first << " to " << last);
        BOOST_TEST(same_bits(part.attend(other).data(), same, count), "queries " << first << " to " << last);
      });
    }
}

std::ostream& print(std::ostream& out, const cache::attention_span& span) {
  return out << (span.causal ? "causal" : "not causal") << ", window " << span.window << ", chunk " << span.chunk
             << ", sinks " << span.sinks;
}

BOOST_AUTO_TEST_SUITE(attention_masks_test, *boost::unit_test::fixture<one_torch_thread>())

BOOST_AUTO_TEST_CASE(what_is_read_is_what_the_mask_shows) {
  worker_pool workers(2);
  for (const std::int64_t length : {1, 63, 64, 65, 255, 256, 257, 400}) {
    const attention_numbers numbers({.heads = 6, .kv_heads = 2, .head_dim = length % 2 ? 16 : 12}, length,
                                    static_cast<std::uint32_t>(length));
    for (const cache::attention_span& span : spans) {
      std::ostringstream rule;
      print(rule, span);
      const at::Tensor truth = expected(numbers, span);
      BOOST_TEST_CONTEXT(rule.str() << ", " << length << " tokens") {
        for (const std::int64_t chunk : {std::int64_t{1}, std::int64_t{50}, std::int64_t{64}, length})
          check_chunks(numbers, span, chunk, truth, workers);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(every_rule_keeps_the_bits_of_a_query_in_any_chunking_and_number_of_threads) {
  worker_pool single(1), three(3);
  const attention_numbers numbers({.heads = 3, .kv_heads = 1, .head_dim = 20}, 600, 5);
  for (const cache::attention_span& span : spans) {
    std::ostringstream rule;
    print(rule, span);
    BOOST_TEST_CONTEXT(rule.str()) { check_bits(numbers, span, single, three); }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels
