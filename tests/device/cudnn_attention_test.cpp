// Attention of prompts by cuDNN, against FlashAttention-2 and plain tensors.
#include "a_device.hpp"
#include "attention_step.hpp"
#include "network/backend/backend.hpp"
#include "network/backend/reference/reference_operators.hpp"

#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <cmath>
#include <ostream>
#include <vector>

namespace cogen::test {

namespace {

namespace data = boost::unit_test::data;

/// Too many queries for flash attention to split their keys. Rows of one token come first.
struct some_rows {
  std::vector<int> held;
  std::vector<int> counts;

  friend std::ostream& operator<<(std::ostream& out, const some_rows& rows) {
    return out << rows.counts.size() << " rows, the last of " << rows.counts.back() << " behind " << rows.held.back();
  }
};

const some_rows all_rows[] = {{{0}, {900}},
                              {{0}, {1024}},
                              {{700}, {901}},
                              {{0, 0, 0}, {800, 65, 128}},
                              {{3, 0, 64, 1000, 1}, {1, 600, 511, 129, 300}},
                              {{5, 9, 1, 77, 1500, 0, 333}, {1, 1, 1000, 2, 63, 64, 500}}};

const attention_heads all_heads[] = {{32, 8, 128, 2048}, {32, 4, 64, 2048}, {16, 16, 64, 2048}, {8, 1, 256, 2048}};

/// What is behind the slots' tokens is not a number.
void forget_the_rest(attention_step& step, const some_rows& rows) {
  for (int layer = 0; layer < step.memory.layers(); ++layer)
    for (const auto& plane : {step.memory.layer(layer).keys, step.memory.layer(layer).values})
      for (std::size_t row = 0; row < rows.held.size(); ++row) {
        const auto length = rows.held[row] + rows.counts[row];
        plane.select(0, static_cast<std::int64_t>(rows.held.size() - 1 - row))
            .narrow(0, length, plane.size(1) - length)
            .fill_(NAN);
      }
}

/// By how much a row is off, at most, of its own length.
double farthest_row(const at::Tensor& got, const at::Tensor& expected) {
  const auto reference = expected.to(at::kFloat);
  const auto off = (got.to(at::kFloat) - reference).norm(2, 1) / reference.norm(2, 1);
  return off.max().item<double>();
}

bool has_cudnn_attention() { return at::cuda::getCurrentDeviceProperties()->major >= 9; }

BOOST_AUTO_TEST_SUITE(cudnn_attention, *boost::unit_test::precondition(a_device()))

BOOST_DATA_TEST_CASE(prompts_are_attended_to_as_by_flash_attention_and_plain_tensors,
                     data::make(all_rows) * data::make(all_heads) * data::make({0, 100, 1}) *
                         data::make({at::kBFloat16, at::kHalf}),
                     rows, heads, window, type) {
  attention_step step(rows.held, rows.counts, {.window = window}, type, heads);
  const auto with = device::backend_named("cuda");
  const auto without = device::backend_named("cuda", {.cudnn = false});
  const auto like = at::TensorOptions(at::kCUDA).dtype(type);
  const int width = heads.queries * heads.dim;
  const device::qkv_rows numbers{at::randn({step.tokens, width + 2 * heads.keys * heads.dim}, like), {}};
  const auto attended = [&](device::operators& ops) {
    const auto out = at::full({step.tokens, width}, NAN, like);
    ops.attend(numbers, step.shape, step.rows, step.memory.layer(1), out);
    return out;
  };
  device::reference_operators plain;
  const auto expected = attended(plain);
  forget_the_rest(step, rows);
  const auto by_flash_attention = attended(*without->make_operators());
  const auto got = attended(*with->make_operators());
  BOOST_TEST(farthest_row(got, expected) < 1e-2);
  BOOST_TEST(farthest_row(got, by_flash_attention) < 1e-2);
  BOOST_TEST(without->prompt_attention().by_cudnn == 0);
  BOOST_TEST(without->prompt_attention().by_flash_attention == 1);
  const auto counts = with->prompt_attention();
  for (const auto& why : counts.refusals) BOOST_TEST_MESSAGE(why);
  BOOST_TEST(counts.by_cudnn == (has_cudnn_attention() ? 1 : 0));
  BOOST_TEST(counts.by_cudnn + counts.by_flash_attention == 1);
}

BOOST_AUTO_TEST_CASE(slots_that_are_no_runs_of_pages_are_attended_to_by_flash_attention) {
  const some_rows rows{{0}, {900}};
  attention_step step(rows.held, rows.counts, {}, at::kBFloat16, {32, 8, 128, 1000});
  const auto where = device::backend_named("cuda");
  const auto ops = where->make_operators();
  const auto like = at::TensorOptions(at::kCUDA).dtype(at::kBFloat16);
  const device::qkv_rows numbers{at::randn({step.tokens, 48 * 128}, like), {}};
  const auto out = at::full({step.tokens, 32 * 128}, NAN, like);
  for (int i = 0; i < 3; ++i) ops->attend(numbers, step.shape, step.rows, step.memory.layer(0), out);
  device::reference_operators plain;
  const auto expected = at::empty_like(out);
  plain.attend(numbers, step.shape, step.rows, step.memory.layer(0), expected);
  BOOST_TEST(distance(out, expected) < 1e-2);
  const auto counts = where->prompt_attention();
  BOOST_TEST(counts.by_cudnn == 0);
  BOOST_TEST(counts.by_flash_attention == 3);
  BOOST_TEST(counts.refusals.size() == (has_cudnn_attention() ? 1u : 0u));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
