#include "network/kernels/quantize_cuda.hpp"
#include "quantized_case.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>

namespace cogen::kernels::cuda {
namespace {

constexpr quantized_format int8_by_token{.bits = 8, .group = 64};
constexpr quantized_format int4_by_token{.bits = 4, .group = 32};
constexpr quantized_format int2_by_token{.bits = 2, .group = 32};
constexpr quantized_format int4_by_channel{.bits = 4, .by_channel = true, .group = 32};
constexpr quantized_format int2_by_channel{.bits = 2, .by_channel = true, .group = 64};

struct both_formats {
  quantized_format keys;
  quantized_format values;
};
constexpr both_formats all_formats[] = {{int8_by_token, int8_by_token},
                                        {int8_by_token, int4_by_token},
                                        {int4_by_channel, int4_by_token},
                                        {int2_by_channel, int2_by_token}};

BOOST_AUTO_TEST_SUITE(cuda_packed_test, *boost::unit_test::precondition(on_device))

BOOST_AUTO_TEST_CASE(blocks_hold_what_the_codec_defines_and_attention_reads_them) {
  for (const auto& [keys, values] : all_formats)
    for (const number type : half_types)
      for (const int head_dim : {64, 96, 128, 256}) {
        const quantized_case params{.keys = keys,
                                    .values = values,
                                    .type = type,
                                    .heads = 8,
                                    .head_dim = head_dim,
                                    .lengths = {1, 191, 192, 450, 704}};
        BOOST_TEST_CONTEXT(params.description()) {
          quantized_setup setup(params);
          device_stream stream;
          setup.append(60, stream);
          for (int slot = 0; slot < 5; ++slot) setup.check_gathered(slot);
          for (const int splits : {1, 3}) setup.attend(splits, 0, stream);
        }
      }
}

BOOST_AUTO_TEST_CASE(every_group_of_heads_reads_them) {
  for (const auto& [keys, values] : all_formats)
    for (const int group : {1, 3, 4, 8, 16, 20}) {
      const quantized_case params{
          .keys = keys, .values = values, .heads = 2 * group, .head_dim = 128, .lengths = {300, 704}};
      BOOST_TEST_CONTEXT(params.description()) {
        quantized_setup setup(params);
        device_stream stream;
        setup.append(60, stream);
        setup.attend(2, 0, stream);
      }
    }
}

BOOST_AUTO_TEST_CASE(blocks_are_the_same_however_tokens_arrive) {
  for (const int residual : {0, 50, 128}) {
    quantized_case params{.keys = int4_by_channel, .values = int4_by_token, .lengths = {320, 257}};
    params.residual = residual;
    params.longest = 320;
    quantized_setup chunks(params), single(params);
    device_stream stream;
    chunks.append(63, stream);
    single.append(1, stream);
    BOOST_TEST((chunks.blocks() == single.blocks()));
    chunks.check_gathered(0);
  }
}

// Queries of one step each read their own quantized length, whatever later ones have had quantized.
BOOST_AUTO_TEST_CASE(an_earlier_query_reads_what_its_own_length_says) {
  quantized_case params{
      .keys = int4_by_channel, .values = int4_by_token, .heads = 8, .head_dim = 128, .lengths = {704, 514}};
  quantized_setup setup(params);
  device_stream stream;
  setup.append(64, stream);
  for (const int back : {0, 1, 2, 3, 40, 60}) setup.attend(2, back, stream);
}

BOOST_AUTO_TEST_CASE(a_window_hides_old_blocks_and_their_places_are_used_again) {
  for (const auto& [keys, values] : all_formats)
    for (const int window : {100, 200, 300}) {
      const quantized_case params{.keys = keys,
                                  .values = values,
                                  .heads = 6,
                                  .head_dim = 128,
                                  .window = window,
                                  .quantized_ring = 6,
                                  .lengths = {90, 230, 500, 700}};
      BOOST_TEST_CONTEXT(params.description()) {
        quantized_setup setup(params);
        device_stream stream;
        setup.append(50, stream);
        for (int slot = 0; slot < 4; ++slot) setup.check_gathered(slot);
        for (const int splits : {1, 4}) setup.attend(splits, 0, stream);
      }
    }
}

BOOST_AUTO_TEST_CASE(results_do_not_depend_on_other_rows_but_on_the_number_of_splits) {
  const quantized_case together{.keys = int8_by_token, .values = int4_by_token, .lengths = {640, 100}};
  quantized_case alone = together;
  alone.lengths = {640};
  quantized_setup a(together), b(alone);
  device_stream stream;
  a.append(60, stream);
  b.append(60, stream);
  const std::vector<std::byte> row = b.attend(5, 0, stream), rows = a.attend(5, 0, stream);
  BOOST_TEST((std::vector<std::byte>(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(row.size())) == row));
}

// A layer, and a step of two rows over it whose operands stay where they are.
class repeated_step {
 public:
  explicit repeated_step(const quantized_case& c)
      : case_(c),
        setup_(c),
        slots_({0, 1}),
        positions_({0, 0}),
        qkv_(c.type, static_cast<std::size_t>(2 * c.width())),
        out_(c.type, static_cast<std::size_t>(2 * c.heads * c.head_dim)),
        workspace_(decode_workspace_bytes(2, c.heads, c.head_dim, splits)),
        counters_(no_counts(2 * c.heads)) {}

  void steer(std::int32_t position, const std::vector<float>& qkv) {
    slots_.write({position % 3 == 0 ? -1 : 0, 1});
    positions_.write({position - position / 3 - 1, position});
    qkv_.write(qkv);
    out_.poison();
  }

  void launch(cudaStream_t stream) const {
    const new_tokens step{slots_.data(), positions_.data(), 2};
    rotate_and_append(setup_.layer(), step, {}, {qkv_.data(), case_.width(), case_.type, case_.heads}, stream);
    decode_attention(setup_.layer(), step,
                     {.q = qkv_.data(),
                      .q_stride = case_.width(),
                      .type = case_.type,
                      .heads = case_.heads,
                      .scale = 0.1F,
                      .out = out_.data(),
                      .workspace = workspace_.data(),
                      .counters = counters_.data(),
                      .splits = splits},
                     stream);
  }

  std::vector<std::byte> result() const { return out_.bytes(); }
  std::vector<std::byte> blocks() const { return setup_.blocks(); }

 private:
  static constexpr int splits = 3;
  quantized_case case_;
  quantized_setup setup_;
  device_array<std::int32_t> slots_, positions_;
  device_numbers qkv_, out_;
  device_bytes workspace_;
  device_array<std::int32_t> counters_;
};

BOOST_AUTO_TEST_CASE(a_replayed_graph_appends_packs_and_attends_as_single_launches_do) {
  const quantized_case params{.keys = int4_by_channel, .values = int4_by_token, .residual = 64, .lengths = {1, 1}};
  repeated_step replayed(params), eager(params);
  device_stream stream;
  const captured_graph graph(stream, [&](cudaStream_t capture) { replayed.launch(capture); });
  random_source random(800);
  for (std::int32_t position = 0; position < 300; ++position) {
    const std::vector<float> qkv = random.normals(static_cast<std::size_t>(2 * params.width()));
    replayed.steer(position, qkv);
    eager.steer(position, qkv);
    graph.replay(stream);
    eager.launch(stream);
    BOOST_TEST((replayed.result() == eager.result()));
  }
  BOOST_TEST((replayed.blocks() == eager.blocks()));
}

BOOST_AUTO_TEST_CASE(forms_that_it_cannot_take_are_refused) {
  kv_layer usual{.kv_heads = 1, .head_dim = 64, .ring = 256};
  usual.quantized.keys = int4_by_channel;
  usual.quantized.values = int4_by_token;
  BOOST_TEST(supports_quantization(usual));
  const auto refused = [](const kv_layer& layer) {
    BOOST_TEST(!supports_quantization(layer));
    BOOST_CHECK_THROW(quantize_due_blocks(layer, {}, nullptr), std::invalid_argument);
    BOOST_TEST(!supports_decode_attention(layer, layer.type, 4));
  };
  kv_layer other = usual;
  other.ring = 100;
  refused(other);
  other = usual;
  other.sinks = 4;
  other.window = 100;
  refused(other);
  other = usual;
  other.quantized.values = int2_by_token;
  refused(other);
  other = usual;
  other.quantized.values = int4_by_channel;
  refused(other);
  other = usual;
  other.quantized.keys.group = 16;
  refused(other);
  other = usual;
  other.type = number::fp8;
  refused(other);
  other = usual;
  other.head_dim = 80;
  refused(other);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels::cuda
