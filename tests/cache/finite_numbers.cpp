// What is not finite in exported bytes from anywhere, over every kind of cache.
#include "twin.hpp"

#include <cogen/cache/device_cache.hpp>
#include <cogen/detail/cache/snapshot_codec.hpp>

#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace cogen::cache::test {

BOOST_AUTO_TEST_SUITE(finite_numbers)
namespace {

namespace data = boost::unit_test::data;

constexpr int longest = 200, length = 150;

/// NaN and infinities: in float32, and in each half in one of the 16-bit types.
constexpr std::uint32_t patterns[] = {0x7fff7fff, 0x7f800000, 0xff800000, 0x7c007c00, 0xfc00fc00, 0x7f807f80};

struct exported {
  explicit exported(const kind& kind) : source(kind, 2, longest) {
    source.append({{.slot = 0, .count = length}});
    bytes.resize(static_cast<std::size_t>(source.tested().exported_bytes(length)));
    source.tested().export_slot(0, bytes);
  }

  std::vector<std::byte> with(std::uint32_t pattern, std::size_t offset) const {
    auto forged = bytes;
    std::memcpy(forged.data() + offset, &pattern, sizeof(pattern));
    return forged;
  }

  twin source;
  std::vector<std::byte> bytes;
};

bool is_finite(const at::Tensor& numbers) { return at::isfinite(numbers).all().item<bool>(); }

/// What attention reads of a slot.
bool reads_finite_numbers(const cache& cache, int slot) {
  for (int index = 0; index < cache.layers(); ++index) {
    const auto& layer = cache.layer(index);
    if (layer.shape().kind == layer_kind::recurrent) continue;
    const kv_tensors tokens = tensors_of(layer.to_dense(slot, length));
    if (!is_finite(tokens.k) || !is_finite(tokens.v)) return false;
  }
  return true;
}

/// A codec that is not built in, around a built-in one.
class other_codec final : public codec {
 public:
  std::string name() const override { return "other"; }
  std::int64_t quantized_bytes(int head_dim) const override { return base_->quantized_bytes(head_dim); }
  void quantize(const float* values, int head_dim, std::byte* quantized) const override {
    base_->quantize(values, head_dim, quantized);
  }
  void dequantize(const std::byte* quantized, int head_dim, float* values) const override {
    base_->dequantize(quantized, head_dim, values);
  }

 private:
  std::shared_ptr<const codec> base_ = int8().keys;
};

}  // namespace

BOOST_DATA_TEST_CASE(what_is_taken_in_is_finite, data::make(kinds()), kind) {
  exported e(kind);
  auto& tested = e.source.tested();
  BOOST_TEST(tested.has_finite_numbers(e.bytes, length));
  std::minstd_rand random(7);
  int refused = 0;
  for (const auto pattern : patterns)
    for (int i = 0; i < 60; ++i) {
      const auto forged = e.with(pattern, random() % (e.bytes.size() / 4) * 4);
      if (!tested.has_finite_numbers(forged, length)) {
        ++refused;
        continue;
      }
      tested.import_slot(1, length, forged);
      BOOST_TEST(reads_finite_numbers(tested, 1));
      tested.clear(1);
    }
  BOOST_TEST(refused > 0);
}

/// In every layer, wherever it keeps its numbers.
BOOST_DATA_TEST_CASE(each_layer_is_looked_at, data::make(kinds()), kind) {
  exported e(kind);
  const auto& tested = e.source.tested();
  constexpr std::size_t parts = 8;
  for (std::size_t part = 0; part < parts; ++part) {
    bool refused = false;
    for (std::size_t offset = e.bytes.size() / parts * part / 4 * 4;
         !refused && offset + 4 <= e.bytes.size() / parts * (part + 1); offset += 4)
      refused = !tested.has_finite_numbers(e.with(0x7fff7fff, offset), length);
    BOOST_TEST((refused || kind.name.find("own codec") != std::string::npos), "part " << part);
  }
}

BOOST_AUTO_TEST_CASE(codes_of_any_codec_are_looked_at) {
  const other_codec other;
  const auto built_in = int8().keys;
  std::vector<float> numbers(64 * 64, 1.5F);
  for (const codec* each : {static_cast<const codec*>(&other), built_in.get()}) {
    std::vector<std::byte> block(static_cast<std::size_t>(each->quantized_bytes(64)));
    each->quantize(numbers.data(), 64, block.data());
    BOOST_TEST(each->has_finite_numbers(block.data(), 64));
    std::memcpy(block.data(), &patterns[0], sizeof(patterns[0]));
    BOOST_TEST(!each->has_finite_numbers(block.data(), 64));
  }
}

BOOST_AUTO_TEST_CASE(bytes_of_eight_bits_have_one_number_that_is_none) {
  const exported_run run{.bytes = 2, .type = scalar::fp8, .dims = 1};
  for (int code = 0; code < 256; ++code) {
    const std::byte bytes[] = {std::byte(0), std::byte(code)};
    BOOST_TEST(are_finite({&run, 1}, bytes) == ((code & 0x7f) != 0x7f));
  }
}

/// The position from which a ring holds tokens is the file's, too.
BOOST_AUTO_TEST_CASE(rings_hold_what_they_need_whatever_a_file_says) {
  for (const char* name : {"sliding f32", "sliding of two tokens", "chunked f32", "sinks f16", "dynamic sliding bf16",
                           "sliding latent", "sliding int8"}) {
    const auto found = std::ranges::find(kinds(), std::string(name), &kind::name);
    exported e(*found);
    auto& tested = e.source.tested();
    for (const std::int64_t oldest : {std::numeric_limits<std::int64_t>::max(), std::int64_t{1} << 32,
                                      std::int64_t{std::numeric_limits<int>::max()}, std::int64_t{length},
                                      std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
      auto forged = e.bytes;
      std::memcpy(forged.data(), &oldest, sizeof(oldest));
      tested.import_slot(1, length, forged);
      for (int index = 0; index < tested.layers(); ++index) {
        const auto& layer = tested.layer(index);
        const auto wanted = tensors_of(layer.to_dense(0, length)), given = tensors_of(layer.to_dense(1, length));
        BOOST_TEST(wanted.k.equal(given.k), name << " from " << oldest);
        BOOST_TEST(wanted.v.equal(given.v), name << " from " << oldest);
      }
      tested.clear(1);
    }
  }
}

BOOST_AUTO_TEST_CASE(devices_look_at_what_they_write) {
  const kv_cache_spec shapes[] = {{.kv_heads = 2, .head_dim = 8},
                                  {.kind = layer_kind::recurrent, .state = 6},
                                  {.kv_heads = 1, .head_dim = 8},
                                  {.kind = layer_kind::cross, .kv_heads = 1, .head_dim = 8}};
  device_cache cache(shapes, {.type = at::kBFloat16, .max_sequence_length = 32, .max_encoder_length = 16});
  // Of each row of 16 numbers the second layer and the encoder input have 8.
  const std::size_t row = 32, tokens = 5, source = 3;
  const auto states = 4 * tokens * row, encoded = states + 24;
  std::vector<std::byte> bytes(encoded + 2 * source * row);
  const auto with = [&](std::size_t offset, std::size_t count) {
    auto forged = bytes;
    std::fill_n(forged.begin() + static_cast<std::ptrdiff_t>(offset), count, std::byte(0xff));
    return cache.has_finite_numbers(forged, static_cast<int>(tokens), static_cast<int>(source));
  };
  BOOST_TEST(with(0, 0));
  for (const std::size_t offset : {std::size_t{0}, row - 2, tokens * row, 2 * tokens * row, 3 * tokens * row + 14,
                                   states, states + 20, encoded, encoded + row + 14})
    BOOST_TEST(!with(offset, offset == states || offset == states + 20 ? 4 : 2), "at " << offset);
  for (const std::size_t offset : {2 * tokens * row + 16, 3 * tokens * row + 30, encoded + 16})
    BOOST_TEST(with(offset, 2));
}

BOOST_AUTO_TEST_CASE(devices_look_at_blocks_that_are_due) {
  const kv_cache_spec shape{.kv_heads = 1, .head_dim = 16};
  const std::int64_t plane = 8, head = 2 * plane;
  device_cache cache(
      {&shape, 1},
      {.type = at::kFloat,
       .max_sequence_length = 512,
       .quantization = device_quantization{.residual = 64,
                                           .head_bytes = head,
                                           .head = {{{.bytes = 4, .type = scalar::f32, .dims = 1}, {.bytes = 4}},
                                                    {{.bytes = 4, .type = scalar::f32, .dims = 1}, {.bytes = 4}}}},
       .ring = 256});
  constexpr int held = 200;  // of which 128 are read quantized, and 192 have blocks
  std::size_t exact = 2 * std::size_t{held} * 16 * 4;
  std::vector<std::byte> bytes(exact + 3 * head);
  const auto with = [&](std::size_t offset) {
    auto forged = bytes;
    std::fill_n(forged.begin() + static_cast<std::ptrdiff_t>(offset), 4, std::byte(0xff));
    return cache.has_finite_numbers(forged, held, 0);
  };
  BOOST_TEST(cache.has_finite_numbers(bytes, held, 0));
  for (const std::size_t offset : {std::size_t{0}, exact - 4, exact, exact + 8, exact + 16, exact + 24})
    BOOST_TEST(!with(offset), offset);
  for (const std::size_t offset : {exact + 4, exact + 12, exact + 32, exact + 40}) BOOST_TEST(with(offset), offset);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::cache::test
