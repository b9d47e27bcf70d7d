#include "formats/checkpoint/gguf_header.hpp"

#include "formats/checkpoint/header_cursor.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace cogen::load {
namespace {

constexpr std::uint32_t magic = 0x46554747;  // "GGUF"
constexpr std::uint64_t max_keys = 1 << 16;
constexpr std::uint64_t max_tensors = 1 << 20;
constexpr std::uint64_t max_array_elements = 1 << 28;
constexpr std::uint64_t max_array_strings = 1 << 24;
constexpr std::uint64_t max_name_bytes = (1 << 16) - 1;
constexpr std::uint64_t max_string_bytes = 1 << 26;
constexpr std::uint32_t max_gguf_dimensions = 4;
constexpr std::uint64_t largest_gguf_dimension = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t largest_alignment = 1 << 20;
constexpr std::uint64_t default_alignment = 32;
constexpr std::uint64_t smallest_entry = 8 + 4 + 1;           // key length, type, value
constexpr std::uint64_t smallest_tensor = 8 + 4 + 8 + 4 + 8;  // name length, dimensions, one of them, type, offset

// The numbers that GGUF gives to the types of metadata values.
enum class value_type : std::uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12,
};

template <class T>
struct type_tag {
  using type = T;
};

// Calls `use` with the C++ type of a scalar or string value.
template <class Use>
gguf_value with_type(std::uint32_t type, const header_cursor& cursor, Use use) {
  switch (static_cast<value_type>(type)) {
    case value_type::u8:
      return use(type_tag<std::uint8_t>());
    case value_type::i8:
      return use(type_tag<std::int8_t>());
    case value_type::u16:
      return use(type_tag<std::uint16_t>());
    case value_type::i16:
      return use(type_tag<std::int16_t>());
    case value_type::u32:
      return use(type_tag<std::uint32_t>());
    case value_type::i32:
      return use(type_tag<std::int32_t>());
    case value_type::u64:
      return use(type_tag<std::uint64_t>());
    case value_type::i64:
      return use(type_tag<std::int64_t>());
    case value_type::f32:
      return use(type_tag<float>());
    case value_type::f64:
      return use(type_tag<double>());
    case value_type::boolean:
      return use(type_tag<bool>());
    case value_type::string:
      return use(type_tag<std::string>());
    case value_type::array:
      cursor.refuse("arrays of arrays are not read");
  }
  cursor.refuse("value type {} is not one of GGUF's 0 to 12", type);
}

template <class T>
T read_number(header_cursor& cursor, type_tag<T>) {
  return cursor.number<T>("the value");
}

bool read_number(header_cursor& cursor, type_tag<bool>) {
  const auto value = cursor.number<std::uint8_t>("the value");
  if (value > 1) cursor.refuse("a boolean is {}; 0 or 1 is allowed", value);
  return value == 1;
}

template <class T>
gguf_value read_scalar(header_cursor& cursor, type_tag<T> tag) {
  return read_number(cursor, tag);
}

gguf_value read_scalar(header_cursor& cursor, type_tag<std::string>) {
  return cursor.text("the value", max_string_bytes);
}

template <class T>
gguf_value read_elements(header_cursor& cursor, type_tag<T>) {
  const auto count = cursor.count("the array's length", sizeof(T), max_array_elements);
  std::vector<T> values(static_cast<std::size_t>(count));
  cursor.bytes(std::as_writable_bytes(std::span(values)), "the array");
  return values;
}

gguf_value read_elements(header_cursor& cursor, type_tag<bool> tag) {
  const auto count = cursor.count("the array's length", 1, max_array_elements);
  std::vector<bool> values;
  for (std::uint64_t i = 0; i < count; ++i) values.push_back(read_number(cursor, tag));
  return values;
}

gguf_value read_elements(header_cursor& cursor, type_tag<std::string>) {
  const auto count = cursor.count("the array's length", sizeof(std::uint64_t), max_array_strings);
  json::string_list values;
  values.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < count; ++i) values.push_back(cursor.text("an array's string", max_string_bytes));
  return values;
}

gguf_value read_value(header_cursor& cursor) {
  const auto type = cursor.number<std::uint32_t>("the value's type");
  if (type != static_cast<std::uint32_t>(value_type::array)) {
    return with_type(type, cursor, [&](auto tag) { return read_scalar(cursor, tag); });
  }
  const auto element = cursor.number<std::uint32_t>("the array's type");
  return with_type(element, cursor, [&](auto tag) { return read_elements(cursor, tag); });
}

void read_metadata(header_cursor& cursor, std::uint64_t count, gguf_header& header) {
  for (std::uint64_t i = 0; i < count; ++i) {
    cursor.enter(fmt::format("metadata entry {}", i));
    auto key = cursor.text("the key", max_name_bytes);
    cursor.enter(fmt::format("metadata entry {} ({})", i, in_quotes(key)));
    if (key.empty()) cursor.refuse("the key is empty");
    header.values.push_back(read_value(cursor));
    header.keys.push_back(std::move(key));
  }
}

// The types that GGML numbers, and those of them that are read.
struct ggml_type {
  std::uint32_t number;
  std::string_view name;
  std::optional<element_type> read_as = std::nullopt;
};

constexpr ggml_type ggml_types[] = {{0, "F32", element_type::f32},          {1, "F16", element_type::f16},
                                    {2, "Q4_0", element_type::q4_0},        {3, "Q4_1", element_type::q4_1},
                                    {6, "Q5_0", element_type::q5_0},        {7, "Q5_1", element_type::q5_1},
                                    {8, "Q8_0", element_type::q8_0},        {9, "Q8_1"},
                                    {10, "Q2_K", element_type::q2_k},       {11, "Q3_K", element_type::q3_k},
                                    {12, "Q4_K", element_type::q4_k},       {13, "Q5_K", element_type::q5_k},
                                    {14, "Q6_K", element_type::q6_k},       {15, "Q8_K"},
                                    {16, "IQ2_XXS", element_type::iq2_xxs}, {17, "IQ2_XS", element_type::iq2_xs},
                                    {18, "IQ3_XXS", element_type::iq3_xxs}, {19, "IQ1_S", element_type::iq1_s},
                                    {20, "IQ4_NL", element_type::iq4_nl},   {21, "IQ3_S", element_type::iq3_s},
                                    {22, "IQ2_S", element_type::iq2_s},     {23, "IQ4_XS", element_type::iq4_xs},
                                    {24, "I8", element_type::i8},           {25, "I16", element_type::i16},
                                    {26, "I32", element_type::i32},         {27, "I64", element_type::i64},
                                    {28, "F64", element_type::f64},         {29, "IQ1_M", element_type::iq1_m},
                                    {30, "BF16", element_type::bf16},       {34, "TQ1_0", element_type::tq1_0},
                                    {35, "TQ2_0", element_type::tq2_0},     {39, "MXFP4", element_type::mxfp4},
                                    {40, "NVFP4", element_type::nvfp4},     {41, "Q1_0", element_type::q1_0},
                                    {42, "Q2_0", element_type::q2_0}};

element_type known_type(const header_cursor& cursor, std::uint32_t number) {
  const auto* type = std::ranges::find(ggml_types, number, &ggml_type::number);
  const bool is_known = type != std::end(ggml_types);
  if (is_known && type->read_as) return *type->read_as;
  cursor.refuse(
      "GGML type {} ({}) is not read; F32, F16, BF16, F64, I8 to I64, Q1_0, Q2_0, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K "
      "to Q6_K, IQ1_S to IQ4_XS, TQ1_0, TQ2_0, MXFP4 and NVFP4 are",
      number, is_known ? type->name : "unknown");
}

std::vector<std::int64_t> read_shape(header_cursor& cursor) {
  const auto dimensions = cursor.number<std::uint32_t>("the number of dimensions");
  if (dimensions < 1 || dimensions > max_gguf_dimensions) {
    cursor.refuse("it has {} dimensions; 1 to {} are read", dimensions, max_gguf_dimensions);
  }
  std::vector<std::int64_t> shape(dimensions);
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    const auto size = cursor.number<std::uint64_t>("a dimension");
    if (size < 1 || size > largest_gguf_dimension) {
      cursor.refuse("dimension {} is {}; 1 to {} is allowed", i, size, largest_gguf_dimension);
    }
    shape[dimensions - 1 - i] = static_cast<std::int64_t>(size);
  }
  return shape;
}

std::uint64_t byte_count(const header_cursor& cursor, const std::vector<std::int64_t>& shape, element_type type) {
  const auto [block_elements, block_bytes] = layout(type);
  if (shape.back() % block_elements != 0) {
    cursor.refuse("rows of {} elements are no whole number of {} blocks of {}", shape.back(), to_string(type),
                  block_elements);
  }
  auto bytes = static_cast<std::uint64_t>(block_bytes);
  const auto multiply = [&](std::int64_t factor) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(factor), &bytes)) {
      cursor.refuse("its size [{}] in {} does not fit 64 bits", fmt::join(shape, ", "), to_string(type));
    }
  };
  multiply(shape.back() / block_elements);
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) multiply(shape[i]);
  return bytes;
}

// `begin` counts from the start of the data until place_tensors() moves it.
tensor_info read_tensor_info(header_cursor& cursor, std::uint64_t number) {
  cursor.enter(fmt::format("tensor {}", number));
  tensor_info tensor;
  tensor.name = cursor.text("the name", max_name_bytes);
  cursor.enter(fmt::format("tensor {}", in_quotes(tensor.name)));
  if (tensor.name.empty()) cursor.refuse("the name is empty");
  tensor.shape = read_shape(cursor);
  tensor.type = known_type(cursor, cursor.number<std::uint32_t>("the type"));
  tensor.bytes = byte_count(cursor, tensor.shape, tensor.type);
  tensor.begin = cursor.number<std::uint64_t>("the offset");
  return tensor;
}

std::uint64_t alignment_of(const gguf_header& header, const input_file& file) {
  const auto key = std::ranges::find(header.keys, "general.alignment");
  if (key == header.keys.end()) return default_alignment;
  const auto* value = std::get_if<std::uint32_t>(&header.values[static_cast<std::size_t>(key - header.keys.begin())]);
  if (value == nullptr) refuse(file.name(), "general.alignment has another type than UINT32");
  if (!std::has_single_bit(*value) || *value > largest_alignment) {
    refuse(file.name(), "general.alignment is {}; powers of two from 1 to {} are allowed", *value, largest_alignment);
  }
  return *value;
}

std::uint64_t aligned(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

// Each tensor begins where the one before it ended, at the next multiple of the alignment, and the last ends the file.
void place_tensors(gguf_header& header, const input_file& file, std::uint64_t header_size) {
  const auto alignment = alignment_of(header, file);
  const auto data = aligned(header_size, alignment);
  std::uint64_t end = data;
  for (auto& tensor : header.tensors) {
    const auto expected = aligned(end, alignment);
    if (tensor.begin != expected - data) {
      refuse(file.name(), "tensor {} has offset {}; the tensor before it and an alignment of {} make it {}",
             in_quotes(tensor.name), tensor.begin, alignment, expected - data);
    }
    if (expected > file.size() || tensor.bytes > file.size() - expected) {
      refuse(file.name(), "tensor {} needs {} bytes at byte {}; the file has {} bytes", in_quotes(tensor.name),
             tensor.bytes, expected, file.size());
    }
    tensor.begin = expected;
    end = expected + tensor.bytes;
  }
  if (file.size() > aligned(end, alignment)) {
    refuse(file.name(), "has {} bytes; its last tensor ends at byte {}", file.size(), end);
  }
}

std::uint32_t read_version(header_cursor& cursor) {
  if (cursor.number<std::uint32_t>("the magic number") != magic)
    cursor.refuse("this is not a GGUF file: it does not begin with 'GGUF'");
  const auto version = cursor.number<std::uint32_t>("the version");
  if (version != 0 && (version & 0xFFFF) == 0)
    cursor.refuse("this is a big-endian GGUF file; little-endian ones are read");
  if (version != 2 && version != 3) cursor.refuse("GGUF version {} is not read; 2 and 3 are", version);
  return version;
}

}  // namespace

gguf_header read_gguf_header(const input_file& file) {
  header_cursor cursor(file);
  gguf_header header;
  header.version = read_version(cursor);
  const auto tensors = cursor.count("the number of tensors", smallest_tensor, max_tensors);
  const auto entries = cursor.count("the number of metadata entries", smallest_entry, max_keys);
  read_metadata(cursor, entries, header);
  for (std::uint64_t i = 0; i < tensors; ++i) header.tensors.push_back(read_tensor_info(cursor, i));
  place_tensors(header, file, cursor.position());
  return header;
}

}  // namespace cogen::load
