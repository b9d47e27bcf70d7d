// The compressed form of exported slots, against its documentation and over every kind of cache.
#include "says.hpp"
#include "twin.hpp"

#include <cogen/detail/cache/snapshot_codec.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

namespace cogen::cache {

std::ostream& operator<<(std::ostream& out, scalar type) { return out << bytes_of(type) << " bytes"; }

}  // namespace cogen::cache

namespace cogen::cache::test {

BOOST_AUTO_TEST_SUITE(snapshot_codec)
namespace {

namespace data = boost::unit_test::data;

const auto every_type = data::make({scalar::f32, scalar::f16, scalar::bf16});
constexpr int longest = 200;

template <class Number>
Number read_at(std::span<const std::byte> bytes, std::size_t index) {
  Number found;
  std::memcpy(&found, bytes.data() + index * sizeof(found), sizeof(found));
  return found;
}

double number_at(std::span<const std::byte> bytes, scalar type, std::size_t index) {
  if (type == scalar::f32) return read_at<float>(bytes, index);
  const auto half = read_at<std::uint16_t>(bytes, index);
  if (type == scalar::bf16) return std::bit_cast<float>(std::uint32_t{half} << 16);
  return static_cast<float>(c10::Half(half, c10::Half::from_bits()));
}

void put(std::vector<std::byte>& bytes, scalar type, float number) {
  const auto add = [&](const auto& value) {
    const auto raw = std::as_bytes(std::span(&value, 1));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  };
  if (type == scalar::f32) return add(number);
  type == scalar::f16 ? add(c10::Half(number)) : add(c10::BFloat16(number));
}

std::vector<std::byte> bytes_of_all(scalar type, const std::vector<float>& numbers) {
  std::vector<std::byte> bytes;
  for (const float number : numbers) put(bytes, type, number);
  return bytes;
}

std::vector<std::byte> compressed(std::span<const exported_run> runs, std::span<const std::byte> snapshot,
                                  int filler = 0) {
  std::vector<std::byte> output(static_cast<std::size_t>(compressed_bytes(runs)), std::byte(filler));
  compress(runs, snapshot, output);
  return output;
}

std::vector<std::byte> there_and_back(std::span<const exported_run> runs, std::span<const std::byte> snapshot) {
  std::vector<std::byte> back(snapshot.size(), std::byte(0x77));
  decompress(runs, compressed(runs, snapshot), back);
  return back;
}

/// By how much a number may be off beside others of its group, the type's own rounding included.
double allowed(double number, double group_maximum, scalar type) {
  const double scale = group_maximum / 126 * (1 + std::exp2(-7)) + std::exp2(-133);
  const double rounding = std::exp2(type == scalar::f32 ? -24 : type == scalar::f16 ? -11 : -8);
  return scale / 2 + rounding * (std::abs(number) + scale) + (type == scalar::f16 ? std::exp2(-25) : 0);
}

/// Every number of one run is as near as its group allows; infinities and NaN are where they were, and what means
/// nothing is 0.
void check_device(std::span<const std::byte> original, std::span<const std::byte> after, const exported_run& run) {
  const auto type = *run.type;
  const auto dims = static_cast<std::size_t>(run.dims);
  const auto count = static_cast<std::size_t>(run.bytes) / static_cast<std::size_t>(bytes_of(type));
  int wrong = 0;
  const auto used = dims - static_cast<std::size_t>(run.unused);
  for (std::size_t row = 0; row < count; row += dims) {
    for (auto i = row + used; i < row + dims; ++i) wrong += number_at(after, type, i) != 0;
    for (std::size_t begin = row; begin < row + used; begin += 32) {
      const auto end = std::min(begin + 32, row + used);
      double most = 0;
      for (auto i = begin; i < end; ++i)
        if (std::isfinite(number_at(original, type, i))) most = std::max(most, std::abs(number_at(original, type, i)));
      for (auto i = begin; i < end; ++i) {
        const double was = number_at(original, type, i), is = number_at(after, type, i);
        if (std::isnan(was))
          wrong += !std::isnan(is);
        else if (std::isinf(was))
          wrong += was != is;
        else
          wrong += !(std::abs(was - is) <= allowed(was, most, type));
      }
    }
  }
  BOOST_TEST(wrong == 0);
}

exported_run run_of(scalar type, int dims, std::size_t bytes) {
  return {.bytes = static_cast<std::int64_t>(bytes), .type = type, .dims = dims};
}

/// Of very different sizes from group to group, with zeros among them.
std::vector<float> some_numbers(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers;
  for (int i = 0; i < count; ++i)
    numbers.push_back(random() % 11 == 0 ? 0 : normal(random) * std::exp2(static_cast<float>(i / 16 % 13 - 8)));
  return numbers;
}

/// An export of a slot of a cache with random tokens in it.
struct exported {
  exported(const kind& kind, int length) : source(kind, 1, longest) {
    if (length > 0) source.append({{.slot = 0, .count = length}});
    bytes.resize(static_cast<std::size_t>(source.tested().exported_bytes(length)));
    source.tested().export_slot(0, bytes);
    runs = source.tested().exported_runs(length);
  }

  twin source;
  std::vector<std::byte> bytes;
  std::vector<exported_run> runs;
};

}  // namespace

BOOST_DATA_TEST_CASE(a_number_is_off_by_half_a_scale_of_its_group_at_most,
                     every_type* data::make({1, 2, 5, 16, 31, 32, 33, 64, 80, 130}), type, dims) {
  const auto snapshot = bytes_of_all(type, some_numbers(dims * 64, static_cast<unsigned>(dims)));
  const exported_run run = run_of(type, dims, snapshot.size());
  check_device(snapshot, there_and_back({&run, 1}, snapshot), run);
}

BOOST_DATA_TEST_CASE(numbers_at_the_ends_of_their_type_stay_finite_and_near, every_type, type) {
  const float most = type == scalar::f16 ? 65504 : type == scalar::bf16 ? 3.3895314e38F : 3.4028235e38F;
  const float least = type == scalar::f16 ? std::exp2(-24.F) : std::exp2(-133.F);
  const auto snapshot = bytes_of_all(type, {most, -most, most / 2, 1, least, -least, 0, least * 3, 0, 0, 0, 0});
  const exported_run run = run_of(type, 4, snapshot.size());
  const auto back = there_and_back({&run, 1}, snapshot);
  check_device(snapshot, back, run);
  for (std::size_t i = 0; i < 12; ++i) BOOST_TEST(std::isfinite(number_at(back, type, i)));
  for (std::size_t i = 8; i < 12; ++i) BOOST_TEST(number_at(back, type, i) == 0);
}

BOOST_DATA_TEST_CASE(what_is_not_finite_comes_back_where_it_was_and_harms_no_other, every_type, type) {
  constexpr float endless = std::numeric_limits<float>::infinity(), none = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> with{1, endless, -0.5, none, -endless, 0.25, none, none, none, endless, none, none};
  const std::vector<float> without{1, 0, -0.5, 0, 0, 0.25, 0, 0, 0, 0, 0, 0};
  const auto snapshot = bytes_of_all(type, with);
  const exported_run run = run_of(type, 6, snapshot.size());
  const auto back = there_and_back({&run, 1}, snapshot);
  const auto plain = there_and_back({&run, 1}, bytes_of_all(type, without));
  check_device(snapshot, back, run);
  for (std::size_t i = 0; i < with.size(); ++i)
    if (std::isfinite(with[i])) BOOST_TEST(number_at(back, type, i) == number_at(plain, type, i));
}

BOOST_AUTO_TEST_CASE(rows_do_not_depend_on_each_other) {
  auto numbers = some_numbers(3 * 40, 1);
  const exported_run run = run_of(scalar::bf16, 40, 3 * 40 * 2);
  const auto first = there_and_back({&run, 1}, bytes_of_all(scalar::bf16, numbers));
  std::fill(numbers.begin() + 40, numbers.end(), 1e30F);
  const auto second = there_and_back({&run, 1}, bytes_of_all(scalar::bf16, numbers));
  BOOST_TEST(std::equal(first.begin(), first.begin() + 80, second.begin()));
  BOOST_TEST(!std::equal(first.begin() + 80, first.end(), second.begin() + 80));
}

BOOST_AUTO_TEST_CASE(it_takes_a_byte_for_each_number_and_two_for_each_group) {
  const auto bytes = [](scalar type, int dims) {
    const exported_run run = run_of(type, dims, static_cast<std::size_t>(100 * dims * bytes_of(type)));
    return compressed_bytes({&run, 1});
  };
  BOOST_TEST(bytes(scalar::bf16, 64) == 100 * 68);  // of 128: 0.53
  BOOST_TEST(bytes(scalar::f16, 128) == 100 * 136);
  BOOST_TEST(bytes(scalar::f32, 64) == 100 * 68);
  BOOST_TEST(bytes(scalar::bf16, 80) == 100 * 86);
  BOOST_TEST(bytes(scalar::bf16, 16) == 100 * 18);
  const exported_run own{.bytes = 17};
  BOOST_TEST(compressed_bytes({&own, 1}) == 17);
}

BOOST_AUTO_TEST_CASE(opaque_bytes_stay_and_compression_is_deterministic) {
  std::vector<std::byte> snapshot(7, std::byte(0xff));
  const auto numbers = bytes_of_all(scalar::f16, some_numbers(30, 2));
  snapshot.insert(snapshot.end(), numbers.begin(), numbers.end());
  snapshot.insert(snapshot.end(), 5, std::byte(0xfe));
  const std::vector<exported_run> runs{{.bytes = 7}, run_of(scalar::f16, 10, numbers.size()), {.bytes = 5}};
  const auto back = there_and_back(runs, snapshot);
  BOOST_TEST(std::equal(snapshot.begin(), snapshot.begin() + 7, back.begin()));
  BOOST_TEST(std::equal(snapshot.end() - 5, snapshot.end(), back.end() - 5));
  check_device(numbers, std::span(back).subspan(7, numbers.size()), runs[1]);
  BOOST_TEST((compressed(runs, snapshot, 0) == compressed(runs, snapshot, 0xaa)));
}

BOOST_AUTO_TEST_CASE(another_number_of_bytes_is_refused) {
  const std::vector<exported_run> runs{run_of(scalar::bf16, 32, 64), {.bytes = 6}};
  std::vector<std::byte> snapshot(70), output(40);
  const auto named = says({"70 bytes", "takes 40 packed"});
  BOOST_CHECK_EXCEPTION(compress(runs, std::span(snapshot).first(69), output), std::invalid_argument, named);
  BOOST_CHECK_EXCEPTION(compress(runs, snapshot, std::span(output).first(39)), std::invalid_argument, named);
  BOOST_CHECK_EXCEPTION(decompress(runs, std::span(output).first(39), snapshot), std::invalid_argument, named);
  BOOST_CHECK_NO_THROW(compress(runs, snapshot, output));
}

BOOST_AUTO_TEST_CASE(runs_that_go_on_with_the_same_are_one) {
  std::vector<exported_run> runs;
  append(runs, {.bytes = 8});
  append(runs, {.bytes = 0, .type = scalar::f32, .dims = 4});
  append(runs, {.bytes = 3});
  append(runs, run_of(scalar::f32, 4, 16));
  append(runs, run_of(scalar::f32, 4, 32));
  append(runs, run_of(scalar::f32, 8, 32));
  append(runs, run_of(scalar::bf16, 8, 32));
  BOOST_TEST((runs == std::vector{exported_run{.bytes = 11}, run_of(scalar::f32, 4, 48), run_of(scalar::f32, 8, 32),
                                  run_of(scalar::bf16, 8, 32)}));
}

BOOST_DATA_TEST_CASE(an_export_is_what_its_runs_say_and_compresses_within_its_bound, data::make(kinds()), kind) {
  const cache cache = kind.make(mixed_shapes(), 1, longest);
  const slot_footprint terms = cache.compressed_terms();
  for (int length = 0; length <= longest; ++length) {
    const auto runs = cache.exported_runs(length);
    std::int64_t bytes = 0;
    for (const auto& run : runs) {
      bytes += run.bytes;
      BOOST_TEST_REQUIRE((!run.type || (run.type == kind.type && run.bytes % (run.dims * bytes_of(*run.type)) == 0)));
    }
    BOOST_TEST(bytes == cache.exported_bytes(length));
    BOOST_TEST(compressed_bytes(runs) <= terms(length), "at " << length);
  }
}

BOOST_DATA_TEST_CASE(tokens_in_full_precision_come_back_near_and_all_else_as_it_was, data::make(kinds()), kind) {
  for (const int length : {0, 1, 65, longest - 1}) {
    const exported e(kind, length);
    const auto back = there_and_back(e.runs, e.bytes);
    std::size_t offset = 0;
    for (const auto& run : e.runs) {
      const auto size = static_cast<std::size_t>(run.bytes);
      const auto original = std::span(e.bytes).subspan(offset, size), after = std::span(back).subspan(offset, size);
      offset += size;
      if (run.type)
        check_device(original, after, run);
      else
        BOOST_TEST(std::ranges::equal(original, after));
    }
  }
}

BOOST_AUTO_TEST_CASE(only_tokens_that_are_never_quantized_are_compressed) {
  const auto quantizes = [](const std::string& name) {
    const auto found = std::ranges::find(kinds(), name, &kind::name);
    const auto runs = found->make(mixed_shapes(), 1, longest).exported_runs(150);
    return std::ranges::any_of(runs, [](const auto& run) { return run.type.has_value(); });
  };
  for (const char* name :
       {"static f16", "dynamic bf16", "sliding f32", "chunked f32", "sinks f16", "offloaded f32", "hybrid"})
    BOOST_TEST(quantizes(name), name);
  for (const char* name : {"int8", "sliding int8", "an own codec", "offloaded int8", "recurrent", "own f32"})
    BOOST_TEST(!quantizes(name), name);
}

BOOST_AUTO_TEST_CASE(an_encoder_input_stays_as_it_is_and_counts_at_its_longest) {
  const kv_cache_spec shapes[] = {{.kv_heads = 2, .head_dim = 64},
                                  {.kind = layer_kind::cross, .kv_heads = 2, .head_dim = 64}};
  const cache with(shapes, {.type = scalar::bf16, .max_sequence_length = longest, .max_encoder_length = 100});
  const cache without({shapes, 1}, {.type = scalar::bf16, .max_sequence_length = longest});
  const auto runs = with.exported_runs(70, 99);
  const auto alone = without.exported_runs(70);
  BOOST_TEST_REQUIRE(runs.size() == alone.size() + 1);
  BOOST_TEST(std::equal(alone.begin(), alone.end(), runs.begin()));
  BOOST_TEST(!runs.back().type);
  BOOST_TEST(runs.back().bytes == with.exported_bytes(0, 99));
  BOOST_TEST(compressed_bytes(runs) <= with.compressed_terms()(70));
  BOOST_TEST(with.compressed_terms()(70) == without.compressed_terms()(70) + with.exported_bytes(0, 100));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::cache::test
