#pragma once

#include <cogen/cache/view.hpp>

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

/// What a row of codes holds. Attention reads keys by channel and values by token; the other way round works, slower.
enum class row_order : std::uint8_t { token, channel };

/// How a codec of the built-in form packs: kernels read that form as it is.
struct group_format {
  int bits = 8;  ///< 8, 4 or 2
  group_axis axis = group_axis::token;
  row_order order = row_order::token;
  int group = 64;  ///< numbers that share a scale: by channel 32 or 64 tokens, by token at most that many dimensions

  friend bool operator==(const group_format&, const group_format&) = default;
};

/// How the keys or the values of 64 tokens of one head are packed. A block is packed once and never again.
///
/// Derive from it for a form of your own: attention then unpacks each block where it needs it. Immutable; any thread
/// may call.
class codec {
 public:
  virtual ~codec() = default;

  virtual std::string name() const = 0;

  /// Bytes of one head's packed block, a multiple of 64. Throws std::invalid_argument for a head_dim it cannot pack.
  virtual std::int64_t quantized_bytes(int head_dim) const = 0;

  /// Packs `values` [64, head_dim] into quantized_bytes(head_dim) bytes.
  virtual void quantize(const float* values, int head_dim, std::byte* into) const = 0;

  /// What the packed bytes stand for: `values` [64, head_dim].
  virtual void dequantize(const std::byte* quantized, int head_dim, float* values) const = 0;

  /// The form, where it is the built-in one; null otherwise.
  virtual const group_format* format() const noexcept { return nullptr; }
};

/// The built-in form: each group of numbers becomes codes of `bits` bits, a scale and a minimum, `number = minimum +
/// code * scale`, rounded to nearest; beyond float16's range the nearest number in it, and the minimum where there is
/// none (NaN). (Liu et al., KIVI, arXiv:2402.02750, which takes keys by channel and values by token.) Throws
/// std::invalid_argument, naming the field, for another form than group_format allows; head_dim may be 1 to 2^22.
///
/// A row is all dimensions of one token, or the 64 tokens of one dimension. One head's block holds the groups' scales,
/// then their minimums, float16, then the rows of codes; each of the three is rounded up to 64 bytes. Groups that lie
/// along rows are numbered [row][group]; groups that lie across them [group][element of the row]. A row has its length
/// rounded up to a multiple of 128 / bits elements, the ones beyond being 0; with n codes to a byte, element i is in
/// byte i % (elements / n) of its row, at bit bits * (i / (elements / n)).
std::shared_ptr<const codec> make_group_codec(const group_format& format);

/// How a cache keeps the tokens of full and sliding attention but the newest ones.
struct quantization {
  std::shared_ptr<const codec> keys;
  std::shared_ptr<const codec> values;
  int residual = 128;  ///< tokens that stay in full precision at least, counted back from each query
};

/// Eight bits for both: nearly lossless.
quantization int8();
/// Eight bits for keys, four for values: keys need the bits more.
quantization int8_int4();
/// Four bits for both, keys by channel.
quantization int4();
/// Two bits for both, as in KIVI. Experimental: it costs accuracy that shows.
quantization kivi2();

}  // namespace cogen::cache
