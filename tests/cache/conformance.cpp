// What every cache kind has to keep, run for each line of kinds.cpp.
#include "../repetitions.hpp"
#include "kinds.hpp"
#include "says.hpp"
#include "twin.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/nextafter.h>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace cogen::cache::test {

BOOST_AUTO_TEST_SUITE(conformance)
namespace {

namespace data = boost::unit_test::data;

constexpr int longest = 300;  // neither a multiple of a block nor of a page's worth of tokens

/// Different for every element, exact in every number format.
at::Tensor counted(int tokens, const kv_cache_spec& shape) {
  const at::Tensor result = at::empty({tokens, shape.kv_heads, shape.head_dim}, at::kFloat);
  for (std::int64_t i = 0; i < result.numel(); ++i) result.data_ptr<float>()[i] = static_cast<float>(i % 251) / 4;
  return result;
}

/// The tokens from `done` on of `total` in all, one after the other.
void append_some(layer& layer, const step& step, int total, int done) {
  const int count = step.tokens();
  if (layer.shape().kind == layer_kind::recurrent) {
    const state_view state = *layer.state(step.rows()[0].slot);
    for (std::int64_t i = 0; i < layer.shape().state; ++i) {
      state.next[i] = state.previous[i];
      for (int token = done; token < done + count; ++token)
        state.next[i] = state.next[i] * 0.5F + static_cast<float>(token + i);
    }
    return;
  }
  const at::Tensor k = counted(total, layer.shape());
  const at::Tensor v = (-k).narrow(2, 0, layer.shape().value_dim());
  append(layer, step, k.narrow(0, done, count), v.narrow(0, done, count));
}

/// All 16 bits of every number of a format.
at::Tensor every_pattern() { return at::arange(-0x8000, 0x8000, at::kShort); }

/// Every number of a 16-bit format, those halfway between two, and those beside them.
at::Tensor around_halves(at::ScalarType type) {
  const at::Tensor exact = every_pattern().view(type).to(at::kFloat);
  const at::Tensor ties = exact * 0.5F + exact.roll(1) * 0.5F;
  ties[0] = type == at::kHalf ? 65520.0F : 0x1.ffp127F;  // halfway to infinity
  const auto beside = [&](float end) { return at::nextafter(ties, at::full_like(ties, end)); };
  return at::cat({exact, ties, beside(INFINITY), beside(-INFINITY)});
}

/// Bit by bit; a NaN is any NaN.
bool same_numbers(const at::Tensor& a, const at::Tensor& b) {
  const auto bits = [](const at::Tensor& numbers) {
    return numbers.contiguous().masked_fill(numbers.isnan(), 0).view(at::kInt);
  };
  return at::equal(a.isnan(), b.isnan()) && at::equal(bits(a), bits(b));
}

void append_in_chunks(cache& cache, int slot, const std::vector<int>& chunks) {
  const int total = std::accumulate(chunks.begin(), chunks.end(), 0);
  int done = 0;
  for (const int chunk : chunks)
    for (const int end = done + chunk; done < end;) {
      const int count = std::min(end - done, cache.max_step_tokens());
      const step step({{.slot = slot, .count = count}});
      cache.reserve(step);
      for (int i = 0; i < cache.layers(); ++i) append_some(cache.layer(i), step, total, done);
      cache.advance(step);
      done += count;
    }
}

void check_slots_equal(const cache& cache, int a, int b) {
  BOOST_TEST_REQUIRE(cache.length(a) == cache.length(b));
  for (int i = 0; i < cache.layers(); ++i) {
    if (cache.layer(i).shape().kind == layer_kind::recurrent) {
      const auto numbers = static_cast<std::size_t>(cache.layer(i).shape().state) * sizeof(float);
      BOOST_TEST(std::memcmp(cache.layer(i).state(a)->previous, cache.layer(i).state(b)->previous, numbers) == 0);
      continue;
    }
    const kv_tensors first = tensors_of(cache.layer(i).to_dense(a, cache.length(a)));
    const kv_tensors second = tensors_of(cache.layer(i).to_dense(b, cache.length(b)));
    BOOST_TEST(at::equal(first.k, second.k));
    BOOST_TEST(at::equal(first.v, second.v));
  }
}

const std::vector<std::vector<int>>& chunkings() {
  static const std::vector<std::vector<int>> sizes{
      {64, 64, 64, 64, 44}, {63, 1, 1, 63, 2, 170},       {1, 128, 171},       {150, 150},
      {65, 65, 65, 65, 40}, std::vector<int>(longest, 1), {7, 57, 64, 1, 171}, {17, 283}};
  return sizes;
}

}  // namespace

BOOST_DATA_TEST_CASE(append_in_any_chunking_equals_append_at_once, data::make(kinds()), kind) {
  for (const auto& chunks : cogen::test::thin(chunkings(), 2)) {
    cache cache = kind.make(mixed_shapes(), 2, longest);
    append_in_chunks(cache, 0, {longest});
    append_in_chunks(cache, 1, chunks);
    check_slots_equal(cache, 0, 1);
    if (kind.keeps_all)
      BOOST_TEST(at::equal(tensors_of(cache.layer(0).to_dense(0, longest)).k,
                           counted(longest, cache.layer(0).shape()).transpose(0, 1)));
  }
}

BOOST_DATA_TEST_CASE(slots_of_different_lengths_share_a_step, data::make(kinds()), kind) {
  twin twin(kind, 4, longest);
  twin.append({{.slot = 2, .count = 70}, {.slot = 0, .count = 1}});
  twin.check();
  twin.append({{.slot = 0, .count = 130}, {.slot = 3, .count = 64}, {.slot = 2, .count = 1}});
  twin.check();
  twin.append({{.slot = 3, .count = 1}, {.slot = 2, .count = 1}, {.slot = 0, .count = 1}});
  twin.check();
  BOOST_TEST(twin.length(1) == 0);
}

BOOST_DATA_TEST_CASE(new_tokens_are_read_before_they_count, data::make(kinds_that_keep_all()), kind) {
  cache cache = kind.make(mixed_shapes(), 1, longest);
  append_in_chunks(cache, 0, {70});
  const step step({{.slot = 0, .count = 66}});
  cache.reserve(step);
  const at::Tensor k = counted(66, cache.layer(0).shape());
  append(cache.layer(0), step, k, -k);
  BOOST_TEST(cache.length(0) == 70);
  BOOST_TEST(at::equal(tensors_of(cache.layer(0).to_dense(0, 136)).k.narrow(1, 70, 66), k.transpose(0, 1)));
}

BOOST_DATA_TEST_CASE(what_is_never_advanced_does_not_count, data::make(kinds()), kind) {
  twin twin(kind, 2, longest);
  twin.append({{.slot = 0, .count = 230}});
  cache& cache = twin.tested();
  const step step({{.slot = 0, .count = 64}, {.slot = 1, .count = 3}});
  cache.reserve(step);
  for (int i = 0; i < cache.layers(); ++i) {
    auto& layer = cache.layer(i);
    if (const auto state = layer.state(0)) {
      std::fill_n(state->next, layer.shape().state, 9.0F);
    } else {
      const at::Tensor k = counted(67, layer.shape());
      append(layer, step, k, k.narrow(2, 0, layer.shape().value_dim()));
    }
  }
  twin.check();
  twin.append({{.slot = 0, .count = 5}});
  twin.check();
}

BOOST_DATA_TEST_CASE(truncate_to_every_length_it_can_return_to, data::make(kinds()), kind) {
  for (const int length :
       cogen::test::thin({0, 1, 63, 64, 65, 127, 128, 129, 192, 193, 256, 257, 284, 285, 299, longest}, 2)) {
    twin twin(kind, 2, longest);
    twin.append({{.slot = 0, .count = 33}, {.slot = 1, .count = longest}});
    if (!twin.tested().can_truncate(1, length)) {
      BOOST_CHECK_THROW(twin.tested().truncate(1, length), std::logic_error);
      twin.check();
      continue;
    }
    twin.truncate(1, length);
    twin.check();
    if (length == longest) continue;
    twin.append({{.slot = 1, .count = std::min(66, longest - length)}, {.slot = 0, .count = 1}});
    twin.check();
  }
}

BOOST_DATA_TEST_CASE(a_slot_is_copied_from_any_token_to_any_other, data::make(kinds_that_keep_all()), kind) {
  for (const int begin : cogen::test::thin({0, 1, 63, 64, 150}, 2))
    for (const int end : {begin, begin + 1, begin + 50, longest}) {
      twin twin(kind, 3, longest);
      twin.append({{.slot = 0, .count = longest}, {.slot = 1, .count = 150}, {.slot = 2, .count = 5}});
      twin.copy(0, 1, begin, end);
      twin.check();
      if (end < longest) twin.append({{.slot = 1, .count = 1}, {.slot = 2, .count = 1}});
      twin.check();
    }
}

BOOST_DATA_TEST_CASE(a_tail_follows_its_base, data::make(kinds_that_keep_all()), kind) {
  twin twin(kind, 3, longest);
  twin.append({{.slot = 0, .count = 150}});
  twin.share_prefix(1, 0, 128);
  twin.check();
  twin.append({{.slot = 1, .count = 40}, {.slot = 0, .count = 20}});
  twin.check();
  twin.copy(1, 2, 0, 168);
  twin.check();
  twin.clear(1);
  twin.clear(0);
  twin.check();
}

BOOST_DATA_TEST_CASE(cutting_within_a_base_leaves_the_base_as_it_is, data::make(kinds_that_keep_all()), kind) {
  for (const int length : cogen::test::thin({0, 1, 63, 64, 100, 127, 128, 129, 140}, 2)) {
    twin twin(kind, 2, longest);
    twin.append({{.slot = 0, .count = 170}});
    twin.share_prefix(1, 0, 128);
    twin.append({{.slot = 1, .count = 12}});
    twin.truncate(1, length);
    twin.check();
    twin.append({{.slot = 1, .count = 60}});
    twin.check();
    twin.truncate(0, length / 64 * 64);
    twin.check();
  }
}

BOOST_DATA_TEST_CASE(a_slot_is_exported_and_imported_bit_by_bit, data::make(kinds()), kind) {
  for (const int length : {1, 63, 64, 65, longest - 1}) {
    twin twin(kind, 3, longest);
    twin.append({{.slot = 0, .count = length}});
    twin.move(0, 2);
    twin.check();
    twin.clear(0);
    twin.append({{.slot = 2, .count = 1}});
    twin.check();
  }
}

BOOST_DATA_TEST_CASE(an_export_holds_the_base_too, data::make(kinds_that_keep_all()), kind) {
  twin twin(kind, 3, longest);
  twin.append({{.slot = 0, .count = 128}});
  twin.share_prefix(1, 0, 64);
  twin.append({{.slot = 1, .count = 70}});
  twin.move(1, 2);
  twin.clear(1);
  twin.clear(0);
  twin.check();
}

BOOST_DATA_TEST_CASE(an_empty_slot_is_exported_as_nothing, data::make(kinds()), kind) {
  twin twin(kind, 2, longest);
  twin.move(0, 1);
  twin.check();
}

BOOST_DATA_TEST_CASE(mask_sizes_follow_the_slot, data::make(kinds_that_keep_all()), kind) {
  twin twin(kind, 2, longest);
  twin.append({{.slot = 1, .count = 90}});
  for (int i = 0; i < twin.tested().layers(); ++i) {
    const auto& layer = twin.tested().layer(i);
    BOOST_TEST(layer.mask_sizes(0, 7).kv_length == 7);
    BOOST_TEST(layer.mask_sizes(1, 7).kv_length == 97);
    BOOST_TEST(layer.mask_sizes(1, 7).kv_offset == 0);
    BOOST_TEST(layer.mask_sizes(1, 7).sinks == 0);
  }
}

BOOST_DATA_TEST_CASE(values_are_rounded_to_nearest_even, data::make(kinds_that_keep_all()), kind) {
  const kv_cache_spec shape{.kv_heads = 1, .head_dim = 4};
  cache cache = kind.make({&shape, 1}, 1, 64);
  const step step({{.slot = 0, .count = 1}});
  cache.reserve(step);
  const float tie = kind.type == scalar::bf16 ? 0x1p-8F : 0x1p-11F;  // half of the last place at 1
  std::vector<float> exact{1 + tie, 1 + 3 * tie, 1 + tie * 1.5F, -1 - tie};
  const std::vector<float> rounded{1, 1 + 4 * tie, 1 + 2 * tie, -1};
  const head_rows k{.data = exact.data(), .heads = 1, .tokens = 1, .dims = 4, .head_stride = 4, .token_stride = 4};
  cache.layer(0).append(step, k, k);
  const keys_values kept = cache.layer(0).to_dense(0, 1);
  const std::vector<float>& wanted = kind.type == scalar::f32 ? exact : rounded;
  BOOST_TEST(std::equal(wanted.begin(), wanted.end(), kept.k.row(0, 0)));
  BOOST_TEST(std::equal(wanted.begin(), wanted.end(), kept.v.row(0, 0)));
}

BOOST_DATA_TEST_CASE(every_number_is_rounded_as_libtorch_does, data::make(kinds_that_keep_all()), kind) {
  const kv_cache_spec shape{.kv_heads = 2, .head_dim = 128};
  const at::Tensor k = around_halves(kind.type == scalar::bf16 ? at::kBFloat16 : at::kHalf).view({-1, 2, 128});
  const at::Tensor v = k.flip(0);
  const int tokens = static_cast<int>(k.size(0));
  cache cache = kind.make({&shape, 1}, 1, tokens);
  const step step({{.slot = 0, .count = tokens}});
  cache.reserve(step);
  append(cache.layer(0), step, k, v);
  const auto stored = [&](const at::Tensor& tensor) {
    return tensor.transpose(0, 1).to(tensor_type(kind.type)).to(at::kFloat);
  };
  const kv_tensors kept = tensors_of(cache.layer(0).to_dense(0, tokens));
  BOOST_TEST(same_numbers(kept.k, stored(k)));
  BOOST_TEST(same_numbers(kept.v, stored(v)));
}

BOOST_DATA_TEST_CASE(every_half_is_read_as_it_is, data::make(kinds_in_place()), kind) {
  if (bytes_of(kind.type) != 2) return;
  const kv_cache_spec shape{.kv_heads = 2, .head_dim = 128};
  cache cache = kind.make({&shape, 1}, 1, 256);
  cache.reserve(step({{.slot = 0, .count = 256}}));
  const kv_view view = *cache.layer(0).view(0, 256);
  const at::Tensor bits = every_pattern().view({2, 256, 128});
  const auto* pattern = bits.const_data_ptr<std::int16_t>();
  for (int head = 0; head < 2; ++head)
    for (int position = 0; position < 256; ++position)
      for (int dim = 0; dim < 128; ++dim, ++pattern) {
        std::memcpy(view.key(position, head) + 2 * 64 * dim, pattern, 2);
        std::memcpy(view.value(position, head) + 2 * dim, pattern, 2);
      }
  const kv_tensors kept = tensors_of(cache.layer(0).to_dense(0, 256));
  const at::Tensor wanted = bits.view(tensor_type(kind.type)).to(at::kFloat);
  BOOST_TEST(same_numbers(kept.k, wanted));
  BOOST_TEST(same_numbers(kept.v, wanted));
}

BOOST_DATA_TEST_CASE(a_full_slot_refuses_one_more_and_nothing_changes, data::make(kinds_that_keep_all()), kind) {
  twin twin(kind, 3, longest);
  twin.append({{.slot = 0, .count = 10}, {.slot = 2, .count = longest}});
  const std::int64_t committed = twin.tested().committed_bytes();
  const step step({{.slot = 0, .count = 290}, {.slot = 1, .count = 1}, {.slot = 2, .count = 1}});
  const auto says_what_and_where = [](const std::length_error& error) {
    return std::strcmp(error.what(), "cache: slot 2 would hold 301 tokens, the limit is 300") == 0;
  };
  BOOST_CHECK_EXCEPTION(twin.tested().reserve(step), std::length_error, says_what_and_where);
  for (int i = 0; i < twin.tested().layers(); ++i)
    BOOST_CHECK_EXCEPTION(twin.tested().layer(i).reserve(step), std::length_error, says_what_and_where);
  BOOST_TEST(twin.tested().committed_bytes() == committed);
  twin.check();
}

BOOST_DATA_TEST_CASE(new_rows_of_another_shape_are_refused, data::make(kinds()), kind) {
  cache cache = kind.make(mixed_shapes(), 1, longest);
  auto& layer = cache.layer(0);
  if (layer.shape().kind == layer_kind::recurrent) return;
  const step step({{.slot = 0, .count = 3}});
  cache.reserve(step);
  const int dims = layer.shape().head_dim, value_dim = layer.shape().value_dim();
  const keys_values good = make_keys_values(2, 3, dims, layer.shape().latent_dim);
  const auto refused = [&](const head_rows& k, const head_rows& v, const std::string& wanted, const std::string& got) {
    BOOST_CHECK_EXCEPTION(layer.append(step, k, v), std::invalid_argument, says({wanted, "it is " + got}));
  };
  const std::string wanted = "k has to be [2, 3, " + std::to_string(dims) + "]";
  const std::string wanted_value = "v has to be [2, 3, " + std::to_string(value_dim) + "]";
  for (const auto& [heads, tokens, less] : {std::array{2, 4, 0}, {2, 2, 0}, {3, 2, 0}, {1, 3, 0}, {2, 3, 1}}) {
    const auto shape = [heads = heads, tokens = tokens](int last) {
      return "[" + std::to_string(heads) + ", " + std::to_string(tokens) + ", " + std::to_string(last) + "]";
    };
    const keys_values bad = make_keys_values(heads, tokens, dims);
    refused(bad.k.first_dims(dims - less), good.v, wanted, shape(dims - less));
    refused(good.k, bad.v.first_dims(value_dim - less), wanted_value, shape(value_dim - less));
  }
  refused({}, good.v, wanted, "[0, 0, 0]");
  refused(good.k, {}, wanted_value, "[0, 0, 0]");
}

BOOST_DATA_TEST_CASE(memory_follows_use, data::make(kinds()), kind) {
  twin twin(kind, 3, longest);
  cache& cache = twin.tested();
  BOOST_TEST(cache.committed_bytes() == 0);
  twin.append({{.slot = 0, .count = 65}, {.slot = 1, .count = 64}});
  BOOST_TEST(cache.committed_bytes() > 0);
  BOOST_TEST(cache.committed_bytes() <= cache.footprint(65) + cache.footprint(64));
  twin.append({{.slot = 0, .count = longest - 65}});
  BOOST_TEST(cache.committed_bytes() <= cache.footprint(longest) + cache.footprint(64));
  twin.clear(0);
  BOOST_TEST(cache.committed_bytes() <= cache.footprint(64));
  twin.clear(1);
  BOOST_TEST(cache.committed_bytes() == 0);
}

BOOST_DATA_TEST_CASE(memory_is_what_the_footprint_says, data::make(kinds_in_place()), kind) {
  twin twin(kind, 3, longest);
  cache& cache = twin.tested();
  twin.append({{.slot = 0, .count = 65}, {.slot = 1, .count = 64}});
  BOOST_TEST(cache.committed_bytes() == cache.footprint(65) + cache.footprint(64));
  twin.truncate(0, 64);
  BOOST_TEST(cache.committed_bytes() == 2 * cache.footprint(64));
  twin.clear(0);
  BOOST_TEST(cache.committed_bytes() == cache.footprint(64));
}

BOOST_DATA_TEST_CASE(a_kernel_may_write_through_the_view, data::make(kinds_in_place()), kind) {
  twin twin(kind, 2, longest);
  twin.append({{.slot = 0, .count = 120}});
  twin.tested().share_prefix(1, 0, 64);
  const step step({{.slot = 1, .count = 70}});
  cache& cache = twin.tested();
  cache.reserve(step);
  const auto& layer = cache.layer(2);
  const kv_view view = *layer.view(1, 134);
  BOOST_TEST_REQUIRE(view.ranges == 2);
  const auto number = static_cast<std::size_t>(bytes_of(view.type));
  const auto dims = static_cast<std::size_t>(view.head_dim);
  for (int head = 0; head < view.kv_heads; ++head)
    for (int position = 64; position < 134; ++position) {
      for (std::size_t dim = 0; dim < dims; ++dim)
        std::memset(view.key(position, head) + dim * 64 * number, position - 64, number);
      std::memset(view.value(position, head), position - 63, dims * number);
    }
  cache.advance(step);
  const kv_tensors tokens = dense_tensors(layer, 1, 134);
  for (int position = 64; position < 134; ++position) {
    const auto everywhere = [&](const at::Tensor& tensor, int value) {
      const auto bytes = bytes_in(tensor.narrow(1, position, 1));
      return std::all_of(bytes.begin(), bytes.end(), [&](std::byte byte) { return byte == std::byte(value); });
    };
    BOOST_TEST(everywhere(tokens.k, position - 64));
    BOOST_TEST(everywhere(tokens.v, position - 63));
  }
}

BOOST_DATA_TEST_CASE(a_view_ends_where_room_ends, data::make(kinds_in_place()), kind) {
  cache cache = kind.make(mixed_shapes(), 2, longest);
  append_in_chunks(cache, 0, {10});
  BOOST_TEST(cache.layer(0).view(0, 0)->ranges == 0);
  BOOST_TEST(cache.layer(0).view(0, 64)->ranges == 1);
  BOOST_CHECK_THROW(cache.layer(0).view(0, 65), std::out_of_range);
  BOOST_CHECK_THROW(cache.layer(0).view(0, -1), std::out_of_range);
  BOOST_CHECK_THROW(cache.layer(0).view(1, 1), std::out_of_range);
  BOOST_CHECK_THROW(cache.layer(0).view(2, 0), std::out_of_range);
  append_in_chunks(cache, 1, {longest});
  BOOST_CHECK_THROW(cache.layer(0).view(1, longest + 1), std::out_of_range);
}

BOOST_DATA_TEST_CASE(addresses_never_move, data::make(kinds_in_place()), kind) {
  twin twin(kind, 3, longest);
  twin.append({{.slot = 1, .count = 1}});
  const std::byte* first = twin.tested().layer(1).view(1, 1)->range[0].data;
  twin.append({{.slot = 0, .count = longest}, {.slot = 1, .count = 150}, {.slot = 2, .count = 70}});
  twin.clear(2);
  twin.truncate(1, 3);
  twin.append({{.slot = 1, .count = longest - 3}});
  BOOST_TEST(twin.tested().layer(1).view(1, longest)->range[0].data == first);
  twin.clear(1);
  twin.append({{.slot = 1, .count = 2}});
  BOOST_TEST(twin.tested().layer(1).view(1, 2)->range[0].data == first);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::cache::test
