#include "attention_case.hpp"
#include "network/kernels/attention_cuda.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>

namespace cogen::kernels::cuda {
namespace {

BOOST_AUTO_TEST_SUITE(cuda_attention_test, *boost::unit_test::precondition(on_device))

void check(const attention_case& params) {
  BOOST_TEST_CONTEXT(params.description()) {
    attention_setup setup(params);
    device_stream stream;
    setup.run(stream);
    setup.check();
  }
}

BOOST_AUTO_TEST_CASE(agrees_with_the_definition_for_every_type_and_shape) {
  for (const number type : half_types)
    for (const number stored : {type, number::fp8})
      for (const int head_dim : {64, 96, 128, 256})
        for (const int group : {1, 3, 4, 8, 16, 20})
          for (const int splits : {1, 3})
            check({.wish = {.type = stored, .kv_heads = 2, .head_dim = head_dim, .slots = 5, .places = 260},
                   .type = type,
                   .heads = 2 * group,
                   .splits = splits,
                   .slots = {3, -1, 0, 4, 1},
                   .positions = {63, 9, 0, 258, 64}});
}

BOOST_AUTO_TEST_CASE(agrees_with_the_definition_for_every_length) {
  for (const number stored : {number::bf16, number::fp8})
    for (const int splits : {1, 2, 7, 64})
      check({.wish = {.type = stored, .kv_heads = 1, .head_dim = 128, .slots = 9, .places = 8192},
             .heads = 4,
             .splits = splits,
             .slots = {0, 1, 2, 3, 4, 5, 6, 7, 8},
             .positions = {0, 14, 15, 16, 62, 63, 64, 999, 8190}});
}

BOOST_AUTO_TEST_CASE(a_window_hides_what_is_older) {
  for (const int window : {1, 20, 64, 100})
    for (const int splits : {1, 4})
      check({.wish = {.kv_heads = 2, .head_dim = 64, .slots = 6, .places = 400, .window = window},
             .heads = 6,
             .splits = splits,
             .slots = {0, 1, 2, 3, 4, 5},
             .positions = {0, window - 1, window, window + 1, 399, 200}});
}

BOOST_AUTO_TEST_CASE(a_ring_is_read_where_it_wraps) {
  for (const number stored : {number::bf16, number::fp8})
    for (const int ring : {100, 112, 128})
      for (const int splits : {1, 3})
        check({.wish = {.type = stored, .kv_heads = 2, .head_dim = 128, .slots = 6, .ring = ring, .window = 100},
               .heads = 8,
               .splits = splits,
               .slots = {0, 1, 2, 3, 4, 5},
               .positions = {5, ring - 1, ring, 10 * ring + 3, 999, 64}});
}

BOOST_AUTO_TEST_CASE(sinks_are_seen_by_queries_of_their_own) {
  for (const number stored : {number::bf16, number::fp8})
    for (const int sinks : {1, 4, 16, 64})
      for (const int splits : {1, 3})
        check({.wish = {.type = stored,
                        .kv_heads = 2,
                        .head_dim = 128,
                        .slots = 7,
                        .ring = 128,
                        .sinks = sinks,
                        .window = 100},
               .heads = 8,
               .splits = splits,
               .slots = {0, 1, 2, 3, 4, 5, 6},
               .positions = {0, sinks - 1, sinks, sinks + 99, sinks + 100, 999, 130}});
}

BOOST_AUTO_TEST_CASE(a_row_is_the_same_to_the_bit_alone_and_among_others) {
  for (const number stored : {number::bf16, number::fp8})
    for (const int splits : {1, 5}) {
      const attention_case params{
          .wish = {.type = stored, .kv_heads = 2, .head_dim = 128, .slots = 4, .places = 1200, .window = 900},
          .heads = 8,
          .splits = splits,
          .slots = {2, 0, -1, 3, 1},
          .positions = {1100, 64, 3, 777, 0}};
      attention_setup setup(params);
      device_stream stream;
      setup.run(stream);
      const std::vector<std::byte> together = setup.result();
      for (int row = 0; row < 5; ++row) {
        setup.restart();
        setup.run_row(row, stream);
        BOOST_TEST((setup.row_of(setup.result(), row) == setup.row_of(together, row)));
      }
    }
}

BOOST_AUTO_TEST_CASE(parts_have_as_many_blocks_as_they_must) {
  for (const number stored : {number::bf16, number::fp8})
    for (const int min_blocks : {2, 4})
      for (const int window : {0, 300})
        check({.wish = {.type = stored, .kv_heads = 2, .head_dim = 64, .slots = 7, .places = 1200, .window = window},
               .heads = 8,
               .splits = 5,
               .min_blocks = min_blocks,
               .slots = {0, 1, 2, 3, 4, 5, 6},
               .positions = {0, 63, 127, 128, 256, 700, 1199}});
}

// Slots of more places, and rows of any number, have the same keys in the same parts.
BOOST_AUTO_TEST_CASE(fixed_splits_leave_a_row_the_same_in_slots_of_any_length) {
  std::vector<std::byte> first;
  for (const int places : {1200, 2400, 20000}) {
    attention_case params{.wish = {.kv_heads = 2, .head_dim = 64, .slots = 3, .places = places},
                          .heads = 8,
                          .splits = fixed_splits(places),
                          .min_blocks = min_fixed_blocks,
                          .slots = {0, 1, 2},
                          .positions = {1100, 700, 64}};
    attention_setup setup(params);
    device_stream stream;
    setup.run(stream);
    if (first.empty()) first = setup.result();
    BOOST_TEST((setup.result() == first), places << " places");
  }
}

BOOST_AUTO_TEST_CASE(fixed_splits_are_enough_for_parts_of_the_least_size) {
  BOOST_TEST(fixed_splits(1) == 1);
  BOOST_TEST(fixed_splits(1 << 20) == 32);
  for (int length = 1; length <= 32 * min_fixed_blocks * 64; ++length)
    BOOST_TEST((fixed_splits(length) == 32 || fixed_splits(length) * min_fixed_blocks * 64 >= length + 64 - 1));
}

BOOST_AUTO_TEST_CASE(a_replayed_graph_reads_slots_and_positions_anew) {
  for (const int splits : {1, 6}) {
    attention_case params{.wish = {.kv_heads = 2, .head_dim = 64, .slots = 5, .ring = 192, .sinks = 4, .window = 128},
                          .heads = 6,
                          .splits = splits,
                          .slots = {0, 1, 2, 3, 4},
                          .positions = {700, 64, 3, 500, 130}};
    attention_setup setup(params);
    device_stream stream;
    const captured_graph graph(stream, [&](cudaStream_t capture) { setup.run(capture); });
    setup.steer({4, -1, 1, 0, -1}, {130, 1, 63, 700, 0});
    graph.replay(stream);
    const std::vector<std::byte> replayed = setup.result();
    setup.restart();
    setup.run(stream);
    BOOST_TEST((setup.result() == replayed));
  }
}

BOOST_AUTO_TEST_CASE(what_it_cannot_take_is_refused) {
  const kv_layer usual{.kv_heads = 2, .head_dim = 64};
  const auto refused = [](const kv_layer& layer, const decode_operands& operands) {
    BOOST_CHECK_THROW(decode_attention(layer, {}, operands, nullptr), std::invalid_argument);
  };
  kv_layer other = usual;
  other.head_dim = 80;
  refused(other, {.heads = 2});
  BOOST_TEST(!supports_decode_attention(other, number::bf16, 2));
  other = usual;
  other.type = number::f32;
  refused(other, {.heads = 2});
  other = usual;
  other.ring = 8;
  refused(other, {.heads = 2});
  other = usual;
  other.sinks = 4;
  refused(other, {.heads = 2});
  refused(usual, {.heads = 3});
  refused(usual, {.type = number::f16, .heads = 2});
  refused(usual, {.q_stride = 4, .heads = 2});
  refused(usual, {.heads = 2, .splits = 2});
  refused(usual, {.heads = 2, .splits = 0});
  refused(usual, {.heads = 2, .min_blocks = 0});
}

BOOST_AUTO_TEST_CASE(suggested_splits_stay_within_what_there_is_to_split) {
  BOOST_TEST(suggested_splits(1, 8, 8192, 132) == 64);
  BOOST_TEST(suggested_splits(1, 8, 100, 132) == 2);
  BOOST_TEST(suggested_splits(1000, 8, 8192, 132) == 1);
  BOOST_TEST(suggested_splits(64, 8, 8192, 132) == 4);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels::cuda
