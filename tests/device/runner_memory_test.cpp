// What steps take beside the caches, in numbers.
#include "engine/runner/runner_memory.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>

namespace cogen::test {

namespace {

using detail::runner_bytes;
using detail::runner_shape;

constexpr std::int64_t mebibyte = 1 << 20;

/// Llama 3 8B in bfloat16.
const runner_shape eight_billion{.step_tokens = 2048,
                                 .logits_rows = 64,
                                 .vocabulary = 128256,
                                 .scratch_bytes = 4 * 4096 + 2 * (6144 + 4096 + 14336),
                                 .hidden = 4096,
                                 .qkv = 6144,
                                 .attended = 4096,
                                 .inner = 14336,
                                 .number_bytes = 2};

BOOST_AUTO_TEST_SUITE(runner_memory)

BOOST_AUTO_TEST_CASE(a_large_model_leaves_what_its_steps_take) {
  const auto scratch = 2048 * eight_billion.scratch_bytes;                    // 128 MiB
  const auto logits = std::int64_t{64} * 128256 * 4;                          // 31 MiB
  const auto temporary = std::int64_t{2048} * 2 * (4096 + 2 * 14336 + 4096);  // 144 MiB
  const auto matrix = std::int64_t{4096} * 2 * 2 * 14336;                     // 224 MiB
  const auto bytes = runner_bytes(eight_billion, 8192);
  BOOST_TEST(bytes > scratch + logits + temporary + matrix + 3 * 32 * mebibyte);
  BOOST_TEST(bytes < scratch + logits + temporary + matrix + 512 * mebibyte);
  BOOST_TEST(bytes == runner_bytes(eight_billion, 131072));
}

BOOST_AUTO_TEST_CASE(attention_in_fixed_parts_takes_memory_of_its_own) {
  auto invariant = eight_billion;
  invariant.batch_invariant = true;
  BOOST_TEST(runner_bytes(invariant, 8192) - runner_bytes(eight_billion, 8192) == 64 * mebibyte);
}

BOOST_AUTO_TEST_CASE(a_context_that_is_unpacked_counts_by_its_length) {
  auto packed = eight_billion;
  packed.unpacked_bytes = 2 * 8 * 128 * 2;
  BOOST_TEST(runner_bytes(packed, 131072) - runner_bytes(eight_billion, 131072) == 512 * mebibyte);
}

/// Where its blocks have smaller matrices.
BOOST_AUTO_TEST_CASE(as_many_outputs_count_as_are_unpacked_at_a_time) {
  const auto bytes = [](std::int64_t vocabulary) {
    return runner_bytes({.vocabulary = vocabulary, .hidden = 576, .qkv = 960, .inner = 1536, .number_bytes = 2}, 0);
  };
  BOOST_TEST(bytes(8000) - bytes(4000) == 4000 * 576 * 2);
  BOOST_TEST(bytes(16384) - bytes(8000) == 8384 * 576 * 2);
  BOOST_TEST(bytes(49152) == bytes(16384));
  BOOST_TEST(bytes(2000) == bytes(3000));
}

BOOST_AUTO_TEST_CASE(more_of_anything_takes_more) {
  const auto bytes = runner_bytes(eight_billion, 8192);
  for (const auto number :
       {&runner_shape::step_tokens, &runner_shape::encoder_tokens, &runner_shape::logits_rows,
        &runner_shape::vocabulary, &runner_shape::scratch_bytes, &runner_shape::hidden, &runner_shape::attended,
        &runner_shape::inner, &runner_shape::number_bytes, &runner_shape::ranks}) {
    auto more = eight_billion;
    more.*number = 2 * more.*number + 1;
    BOOST_TEST(runner_bytes(more, 8192) > bytes);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
