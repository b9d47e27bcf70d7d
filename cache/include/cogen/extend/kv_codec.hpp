#pragma once

#include <cogen/detail/cache/view.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace cogen::cache {

/// Which numbers of a block share a scale.
enum class group_axis : std::uint8_t {
  token,    ///< some dimensions of one token
  channel,  ///< one dimension of some tokens
};

/// What a row of codes holds. Attention is fastest with keys by channel and values by token; the other orders work,
/// too.
enum class row_order : std::uint8_t { token, channel };

/// The parameters of the built-in codec, whose form kernels read directly.
struct group_format {
  int bits = 8;  ///< 8, 4 or 2
  group_axis axis = group_axis::token;
  row_order order = row_order::token;
  int group = 64;  ///< numbers that share a scale; by channel 32 or 64 tokens, by token at most that many dimensions

  friend bool operator==(const group_format&, const group_format&) = default;
};

/// Quantizes the keys or the values of 64 tokens of one head. Each block is quantized once.
///
/// Derive from it for another form; attention then dequantizes each block where it reads it. Immutable; thread-safe.
class codec {
 public:
  virtual ~codec() = default;

  virtual std::string name() const = 0;

  /// Bytes of one head's quantized block, a multiple of 64. Throws std::invalid_argument for a head_dim it cannot
  /// quantize.
  virtual std::int64_t quantized_bytes(int head_dim) const = 0;

  /// Quantizes `values` [64, head_dim] into quantized_bytes(head_dim) bytes.
  virtual void quantize(const float* values, int head_dim, std::byte* quantized) const = 0;

  /// Writes the quantized block's numbers to `values` [64, head_dim].
  virtual void dequantize(const std::byte* quantized, int head_dim, float* values) const = 0;

  /// Whether all numbers that such a block, from anywhere, stands for are finite, and what they are made of. Default:
  /// dequantizes it.
  virtual bool has_finite_numbers(const std::byte* quantized, int head_dim) const;

  /// The format of the built-in codec; null for any other.
  virtual const group_format* format() const noexcept { return nullptr; }
};

/// The built-in codec: each group of numbers becomes codes of `bits` bits, a scale and a minimum, `number = minimum +
/// code * scale`, rounded to nearest. Numbers beyond float16's range become the nearest in it, and NaN becomes the
/// minimum. (Liu et al., KIVI, arXiv:2402.02750, which takes keys by channel and values by token.) Throws
/// std::invalid_argument, naming the field, for a format that group_format does not allow. head_dim may be 1 to 2^22.
///
/// A row is all dimensions of one token, or the 64 tokens of one dimension. One head's block holds the groups' scales,
/// then their minimums, both float16 and rounded up to 64 bytes, then the rows of codes. Groups along rows are numbered
/// [group][row]; groups across them [group][element of the row]. A row's length is rounded up to a multiple of 128 /
/// bits elements, and the number of rows to a multiple of 4, padded with 0. Four rows lie together, as integer products
/// of bytes take them: with n codes to a byte, element i of row r is in byte 4 * (i % (elements / n)) + r % 4 of those
/// of its four rows, at bit bits * (i / (elements / n)).
std::shared_ptr<const codec> make_group_codec(const group_format& format);

/// How a cache quantizes all but the newest tokens of layers of full, sliding and chunked attention.
struct quantization {
  std::shared_ptr<const codec> keys;
  std::shared_ptr<const codec> values;
  int residual = 128;  ///< tokens that at least stay in full precision, counted back from each query
};

/// Eight bits for both: nearly lossless.
quantization int8();
/// Eight bits for keys, four for values: keys are more sensitive.
quantization int8_int4();
/// Four bits for both, keys by channel.
quantization int4();
/// Two bits for both, as in KIVI. Experimental: it costs visible accuracy.
quantization kivi2();

}  // namespace cogen::cache
