#include <cogen/detail/cache/snapshot_codec.hpp>
#include <cogen/detail/half.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::cache {
namespace {

constexpr int group_size = 32;
constexpr int scale_bytes = 2;
constexpr float max_code = 126;
constexpr std::int8_t infinity = 127, minus_infinity = -127, no_number = -128;

std::int64_t row_bytes(const exported_run& run) { return std::int64_t{run.dims} * bytes_of(*run.type); }

std::int64_t quantized_row_bytes(int dims) {
  const std::int64_t groups = (dims + group_size - 1) / group_size;
  return groups * scale_bytes + dims;
}

std::int64_t quantized_bytes(const exported_run& run) {
  return run.type ? run.bytes / row_bytes(run) * quantized_row_bytes(run.dims) : run.bytes;
}

/// The upper half of a float is a bfloat16; rounded up to at least a 126th.
std::uint16_t scale_for(float most) {
  if (!(most > 0)) return 0;
  const auto bits = std::bit_cast<std::uint32_t>(most / max_code);
  return static_cast<std::uint16_t>(std::max(1U, (bits >> 16) + ((bits & 0xffffU) != 0)));
}

float as_float(std::uint16_t scale) { return std::bit_cast<float>(std::uint32_t{scale} << 16); }

std::int8_t code_of(float number, float scale) {
  if (std::isnan(number)) return no_number;
  if (std::isinf(number)) return number > 0 ? infinity : minus_infinity;
  if (scale == 0) return 0;
  return static_cast<std::int8_t>(std::clamp(std::nearbyint(number / scale), -max_code, max_code));
}

struct f32_format {
  using stored = float;
  static constexpr float largest = std::numeric_limits<float>::max();
  static float load(stored number) { return number; }
  static stored store(float number) { return number; }
};

struct f16_format {
  using stored = std::uint16_t;
  static constexpr float largest = f16_to_f32(0x7BFF);
  static float load(stored bits) { return f16_to_f32(bits); }
  static stored store(float number) { return f32_to_f16(number); }
};

struct bf16_format {
  using stored = std::uint16_t;
  static constexpr float largest = bf16_to_f32(0x7F7F);
  static float load(stored bits) { return bf16_to_f32(bits); }
  static stored store(float number) { return f32_to_bf16(number); }
};

float number_of(std::int8_t code, float scale, float largest) {
  if (code == no_number) return std::numeric_limits<float>::quiet_NaN();
  if (code == infinity) return std::numeric_limits<float>::infinity();
  if (code == minus_infinity) return -std::numeric_limits<float>::infinity();
  return std::clamp(static_cast<float>(code) * scale, -largest, largest);
}

/// Of `count` numbers those from `used` on become zeros.
template <class Format>
void quantize_group_into(const std::byte* numbers, int count, int used, std::byte* compressed) {
  float values[group_size] = {};
  float most = 0;
  for (int i = 0; i < used; ++i) {
    typename Format::stored number;
    std::memcpy(&number, numbers + i * static_cast<int>(sizeof(number)), sizeof(number));
    values[i] = Format::load(number);
    if (std::isfinite(values[i])) most = std::max(most, std::abs(values[i]));
  }
  const std::uint16_t scale = scale_for(most);
  std::memcpy(compressed, &scale, scale_bytes);
  for (int i = 0; i < count; ++i)
    compressed[scale_bytes + i] = std::bit_cast<std::byte>(code_of(values[i], as_float(scale)));
}

template <class Format>
void dequantize_group(const std::byte* compressed, int count, std::byte* numbers) {
  std::uint16_t scale = 0;
  std::memcpy(&scale, compressed, scale_bytes);
  for (int i = 0; i < count; ++i) {
    const auto code = std::bit_cast<std::int8_t>(compressed[scale_bytes + i]);
    const auto number = Format::store(number_of(code, as_float(scale), Format::largest));
    std::memcpy(numbers + i * static_cast<int>(sizeof(number)), &number, sizeof(number));
  }
}

/// Calls `visit(numbers, count, used, compressed)` for each group of a run.
template <class Format, class From, class To, class Visit>
void each_group(const exported_run& run, From* numbers, To* compressed, Visit visit) {
  for (const auto* end = numbers + run.bytes; numbers < end;)
    for (int done = 0; done < run.dims; done += group_size) {
      const int count = std::min(group_size, run.dims - done);
      visit(numbers, count, std::clamp(run.dims - run.unused - done, 0, count), compressed);
      numbers += count * static_cast<int>(sizeof(typename Format::stored));
      compressed += scale_bytes + count;
    }
}

template <class Format>
void compress_run(const exported_run& run, const std::byte* snapshot, std::byte* compressed) {
  each_group<Format>(run, snapshot, compressed, quantize_group_into<Format>);
}

template <class Format>
void decompress_run(const exported_run& run, const std::byte* compressed, std::byte* snapshot) {
  each_group<Format>(run, snapshot, compressed, [](std::byte* numbers, int count, int, const std::byte* group) {
    dequantize_group<Format>(group, count, numbers);
  });
}

template <class Visit>
void visit_format(scalar type, const Visit& visit) {
  if (type == scalar::f32)
    visit(f32_format());
  else if (type == scalar::f16)
    visit(f16_format());
  else
    visit(bf16_format());
}

/// Calls `visit(run, snapshot, compressed)` for each run, with its position on both sides.
template <class From, class To, class Visit>
void each_run(std::span<const exported_run> runs, From* snapshot, To* compressed, const Visit& visit) {
  for (const exported_run& run : runs) {
    visit(run, snapshot, compressed);
    snapshot += run.bytes;
    compressed += quantized_bytes(run);
  }
}

/// Whether none of the numbers has all these bits.
template <class Bits>
bool none_has(Bits wanted, std::span<const std::byte> numbers) {
  bool found = false;
  for (std::size_t offset = 0; offset + sizeof(Bits) <= numbers.size(); offset += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, numbers.data() + offset, sizeof(bits));
    found |= (bits & wanted) == wanted;
  }
  return !found;
}

/// What is not finite has all bits of its exponent; in e4m3fn those of its fraction, too.
bool are_finite(scalar type, std::span<const std::byte> numbers) {
  switch (type) {
    case scalar::f32:
      return none_has<std::uint32_t>(0x7f800000, numbers);
    case scalar::f16:
      return none_has<std::uint16_t>(0x7c00, numbers);
    case scalar::bf16:
      return none_has<std::uint16_t>(0x7f80, numbers);
    case scalar::fp8:
      return none_has<std::uint8_t>(0x7f, numbers);
  }
  return true;
}

void check(std::span<const exported_run> runs, std::size_t snapshot, std::size_t compressed) {
  std::int64_t bytes = 0;
  for (const exported_run& run : runs) bytes += run.bytes;
  const auto wanted = compressed_bytes(runs);
  if (std::cmp_not_equal(snapshot, bytes) || std::cmp_not_equal(compressed, wanted))
    throw std::invalid_argument("cache: a snapshot of " + std::to_string(bytes) + " bytes takes " +
                                std::to_string(wanted) + " packed; there are " + std::to_string(snapshot) + " and " +
                                std::to_string(compressed));
}

}  // namespace

void append(std::vector<exported_run>& runs, const exported_run& next) {
  if (next.bytes == 0) return;
  const bool goes_on = !runs.empty() && runs.back().type == next.type && runs.back().dims == next.dims &&
                       runs.back().unused == next.unused;
  if (goes_on)
    runs.back().bytes += next.bytes;
  else
    runs.push_back(next);
}

bool are_finite(std::span<const exported_run> runs, std::span<const std::byte> exported) {
  for (const exported_run& run : runs) {
    const auto bytes = static_cast<std::size_t>(run.bytes);
    if (bytes > exported.size()) return true;
    if (run.type && !are_finite(*run.type, exported.first(bytes))) return false;
    exported = exported.subspan(bytes);
  }
  return true;
}

std::int64_t compressed_bytes(std::span<const exported_run> runs) {
  std::int64_t bytes = 0;
  for (const exported_run& run : runs) bytes += quantized_bytes(run);
  return bytes;
}

void compress(std::span<const exported_run> runs, std::span<const std::byte> snapshot,
              std::span<std::byte> compressed) {
  check(runs, snapshot.size(), compressed.size());
  each_run(runs, snapshot.data(), compressed.data(),
           [](const exported_run& run, const std::byte* source, std::byte* target) {
             if (!run.type) return void(std::copy_n(source, run.bytes, target));
             visit_format(*run.type, [&](auto format) { compress_run<decltype(format)>(run, source, target); });
           });
}

void decompress(std::span<const exported_run> runs, std::span<const std::byte> compressed,
                std::span<std::byte> snapshot) {
  check(runs, snapshot.size(), compressed.size());
  each_run(runs, snapshot.data(), compressed.data(),
           [](const exported_run& run, std::byte* target, const std::byte* source) {
             if (!run.type) return void(std::copy_n(source, run.bytes, target));
             visit_format(*run.type, [&](auto format) { decompress_run<decltype(format)>(run, source, target); });
           });
}

}  // namespace cogen::cache
