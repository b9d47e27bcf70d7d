#include "cache_model.hpp"
#include "network/kernels/rope_cuda.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>

namespace cogen::kernels::cuda {
namespace {

constexpr int table_positions = 300;

double frequency(int pair, int pairs) { return std::pow(10000.0, -static_cast<double>(pair) / pairs); }

// Of the multiples [0, count) of `step` positions.
std::vector<float> turns(int pairs, int count, int step = 1) {
  if (pairs == 0) return std::vector<float>(1);
  std::vector<float> table;
  for (int multiple = 0; multiple < count; ++multiple)
    for (const bool sine : {false, true})
      for (int pair = 0; pair < pairs; ++pair) {
        const double angle = multiple * step * frequency(pair, pairs);
        table.push_back(static_cast<float>(sine ? std::sin(angle) : std::cos(angle)));
      }
  return table;
}

double rotated(const float* head, int dim, int pairs, int position) {
  if (dim >= 2 * pairs) return head[dim];
  const int pair = dim % pairs;
  const double angle = position * frequency(pair, pairs), a = head[pair], b = head[pair + pairs];
  return dim < pairs ? a * std::cos(angle) - b * std::sin(angle) : b * std::cos(angle) + a * std::sin(angle);
}

struct rope_case {
  layer_wish wish;
  number type;
  int heads;
  int pairs;
  std::vector<std::int32_t> slots;
  std::vector<std::int32_t> positions;
  int near = table_positions;  // that are looked up; others are turned on from there

  int multiples() const { return (table_positions + near - 1) / near; }
  std::size_t tokens() const { return slots.size(); }
  std::size_t q_width() const { return static_cast<std::size_t>(heads * wish.head_dim); }
  std::size_t kv_width() const { return static_cast<std::size_t>(wish.kv_heads * wish.head_dim); }
  std::size_t stride() const { return q_width() + 2 * kv_width() + 8; }
};

// What a step leaves behind.
struct rope_result {
  std::vector<std::byte> qkv, sink_q, layer;
  bool operator==(const rope_result&) const = default;
};

// Operands of one case on the device.
class rope_setup {
 public:
  explicit rope_setup(const rope_case& c)
      : case_(c),
        memory_(c.wish),
        device_(number::f32, turns(c.pairs, c.near)),
        host_(number::f32, turns(c.pairs, c.multiples(), c.near)),
        input_(rounded_to(c.type, random_source(400).normals(c.tokens() * c.stride()))),
        qkv_(c.type, input_),
        sink_q_(c.type, c.tokens() * c.q_width()),
        slots_(c.slots),
        positions_(c.positions) {}

  void run(cudaStream_t stream) const {
    rotate_and_append(memory_.layer(), {slots_.data(), positions_.data(), static_cast<int>(case_.tokens())},
                      {reinterpret_cast<const float*>(device_.data()), case_.near, case_.pairs,
                       reinterpret_cast<const float*>(host_.data()), case_.multiples()},
                      {qkv_.data(), static_cast<std::int64_t>(case_.stride()), case_.type, case_.heads, sink_q_.data()},
                      stream);
  }

  rope_result result() const { return {qkv_.bytes(), sink_q_.bytes(), memory_.device()}; }

  // The same tokens in other slots and at other positions.
  void restart(const std::vector<std::int32_t>& slots, const std::vector<std::int32_t>& positions) {
    slots_.write(slots);
    positions_.write(positions);
    qkv_.write(input_);
    sink_q_.poison();
    memory_.upload();
  }

  void check() {
    const std::vector<float> now = qkv_.read(), inside = sink_q_.read();
    const std::vector<std::byte> untouched = memory_.host();
    memory_.download();
    std::size_t written = 0;
    for (std::size_t token = 0; token < case_.tokens(); ++token)
      written += check_token(token, now.data() + token * case_.stride(), inside.data() + token * case_.q_width());
    const std::vector<std::byte> bytes = memory_.host();
    const auto poisoned = static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), std::byte{0xff}));
    const std::size_t most = written * 2 * case_.kv_width() * static_cast<std::size_t>(bytes_of(case_.wish.type));
    BOOST_TEST(poisoned >= untouched.size() - most);  // nothing but the tokens' places was written
  }

 private:
  // How many places it should have in the cache: 1, or 0 for padding.
  std::size_t check_token(std::size_t token, const float* now, const float* inside) {
    const float* input = input_.data() + token * case_.stride();
    const std::size_t q = case_.q_width(), kv = case_.kv_width();
    const int dims = case_.wish.head_dim, slot = case_.slots[token], position = case_.positions[token];
    const bool padding = slot < 0;
    for (std::size_t index = q; index < case_.stride(); ++index) BOOST_REQUIRE(now[index] == input[index]);
    for (std::size_t index = 0; index < q; ++index) {
      const float* head = input + index / static_cast<std::size_t>(dims) * static_cast<std::size_t>(dims);
      const int dim = static_cast<int>(index) % dims;
      if (padding) {
        BOOST_REQUIRE(now[index] == input[index]);
      } else {
        near(now[index], rotated(head, dim, case_.pairs, position), case_.type);
      }
      if (padding || case_.wish.sinks == 0)
        BOOST_REQUIRE(std::isnan(inside[index]));
      else
        near(inside[index],
             rotated(head, dim, case_.pairs, std::min(position, case_.wish.sinks + case_.wish.window - 1)), case_.type);
    }
    if (padding) return 0;
    const std::vector<float> key = memory_.get(false, slot, position), value = memory_.get(true, slot, position);
    const std::vector<float> given = rounded_to(case_.wish.type, {input + q + kv, input + q + 2 * kv});
    BOOST_REQUIRE((value == given));
    for (std::size_t index = 0; index < kv; ++index)
      near(key[index],
           rotated(input + q + index / static_cast<std::size_t>(dims) * static_cast<std::size_t>(dims),
                   static_cast<int>(index) % dims, case_.pairs, position),
           case_.wish.type);
    return 1;
  }

  static void near(float value, double expected, number type) {
    const double half_step = type == number::fp8 ? 0x1p-4 : type == number::bf16 ? 0x1p-8 : 0x1p-11;
    BOOST_REQUIRE(std::abs(value - expected) <= (std::abs(expected) + 0.02) * half_step + 1e-6);
  }

  rope_case case_;
  layer_memory memory_;
  device_numbers device_;
  device_numbers host_;
  std::vector<float> input_;
  device_numbers qkv_;
  device_numbers sink_q_;
  device_array<std::int32_t> slots_;
  device_array<std::int32_t> positions_;
};

BOOST_AUTO_TEST_SUITE(cuda_rope_test, *boost::unit_test::precondition(on_device))

// A chunk of one slot, single tokens of others, and a padding row.
rope_case ragged(number type, number stored, int heads, int kv_heads, int head_dim, int pairs) {
  return {.wish = {.type = stored, .kv_heads = kv_heads, .head_dim = head_dim, .slots = 4, .places = 280},
          .type = type,
          .heads = heads,
          .pairs = pairs,
          .slots = {2, 2, 2, -1, 0, 3},
          .positions = {62, 63, 64, 5, 0, 277}};
}

BOOST_AUTO_TEST_CASE(queries_turn_in_place_and_keys_and_values_reach_their_slots) {
  struct shape {
    int heads, kv_heads, head_dim, pairs;
  };
  for (const auto& [heads, kv_heads, head_dim, pairs] :
       {shape{9, 3, 64, 32}, shape{6, 2, 96, 48}, shape{32, 8, 128, 64}, shape{4, 1, 256, 128}, shape{4, 2, 128, 16},
        shape{2, 2, 64, 0}, shape{3, 1, 40, 16}})
    for (const number type : half_types)
      for (const number stored : {type, number::fp8})
        BOOST_TEST_CONTEXT(name_of(type) << " kept as " << name_of(stored) << ", head_dim " << head_dim << ", pairs "
                                         << pairs) {
          rope_setup setup(ragged(type, stored, heads, kv_heads, head_dim, pairs));
          device_stream stream;
          setup.run(stream);
          setup.check();
        }
}

BOOST_AUTO_TEST_CASE(a_ring_wraps_behind_its_sinks_and_queries_for_sinks_stay_inside) {
  for (const number stored : {number::bf16, number::fp8}) {
    rope_case params = ragged(number::bf16, stored, 8, 2, 64, 32);
    params.wish.ring = 96;
    params.wish.sinks = 4;
    params.wish.window = 50;
    params.positions = {99, 100, 101, 5, 3, 277};
    rope_setup setup(params);
    device_stream stream;
    setup.run(stream);
    setup.check();
  }
}

BOOST_AUTO_TEST_CASE(positions_beyond_the_table_are_turned_on_from_it) {
  for (const int near : {1, 50, 64, 100})
    for (const number type : half_types) {
      rope_case params = ragged(type, type, 6, 2, 64, 32);
      params.near = near;
      rope_setup setup(params);
      device_stream stream;
      setup.run(stream);
      setup.check();
    }
}

BOOST_AUTO_TEST_CASE(numbers_beyond_fp8_become_its_largest) {
  layer_memory memory({.type = number::fp8, .kv_heads = 1, .head_dim = 64, .places = 1});
  std::vector<float> qkv(3 * 64, 1000.0F);
  qkv[2 * 64] = -1000.0F;
  const device_numbers rows(number::bf16, qkv);
  const device_array<std::int32_t> zero({0});
  rotate_and_append(memory.layer(), {zero.data(), zero.data(), 1}, {},
                    {.qkv = rows.data(), .stride = 3 * 64, .heads = 1}, nullptr);
  require(cudaDeviceSynchronize());
  memory.download();
  BOOST_TEST(memory.get(false, 0, 0)[0] == 448.0F);
  BOOST_TEST(memory.get(true, 0, 0)[0] == -448.0F);
}

BOOST_AUTO_TEST_CASE(a_position_beyond_all_tables_gives_nan_to_its_own_token_alone) {
  rope_case params = ragged(number::bf16, number::bf16, 2, 1, 64, 32);
  params.wish.places = 400;
  params.positions[5] = 300;
  const rope_setup setup(params);
  device_stream stream;
  setup.run(stream);
  const std::vector<float> now = decoded(number::bf16, setup.result().qkv);
  BOOST_TEST(std::isnan(now[5 * params.stride()]));
  BOOST_TEST(!std::isnan(now[4 * params.stride()]));
}

BOOST_AUTO_TEST_CASE(a_replayed_graph_reads_slots_and_positions_anew) {
  rope_case params = ragged(number::bf16, number::fp8, 8, 2, 128, 64);
  params.wish.sinks = 4;
  params.wish.window = 50;
  rope_setup captured(params), eager(params);
  device_stream stream;
  const captured_graph graph(stream, [&](cudaStream_t capture) { captured.run(capture); });
  captured.restart({1, 0, -1, 3, 2, 2}, {7, 250, 0, 64, 63, 64});
  eager.restart({1, 0, -1, 3, 2, 2}, {7, 250, 0, 64, 63, 64});
  graph.replay(stream);
  eager.run(stream);
  BOOST_TEST((captured.result() == eager.result()));
}

BOOST_AUTO_TEST_CASE(shapes_that_it_cannot_take_are_refused) {
  kv_layer layer{.kv_heads = 1, .head_dim = 64};
  const auto refused = [&](const rotation& turn, const qkv_rows& rows) {
    BOOST_CHECK_THROW(rotate_and_append(layer, {}, turn, rows, nullptr), std::invalid_argument);
  };
  refused({.pairs = 12}, {.heads = 1});
  refused({.pairs = 40}, {.heads = 1});
  refused({}, {.stride = 4, .heads = 1});
  refused({}, {.type = number::f32, .heads = 1});
  refused({}, {.type = number::f16, .heads = 1});
  layer.sinks = 4;
  refused({}, {.heads = 1});
  layer.sinks = 0;
  layer.head_dim = 60;
  refused({}, {.heads = 1});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels::cuda
