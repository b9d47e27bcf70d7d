#include "formats/checkpoint/safetensors_header.hpp"

#include "formats/checkpoint/message.hpp"
#include "formats/json/events.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

namespace cogen::load {
namespace {

constexpr std::uint64_t length_bytes = 8;
constexpr std::uint64_t largest_header = 100'000'000;
constexpr std::size_t max_dimensions = 16;
constexpr std::int64_t largest_dimension = std::numeric_limits<std::uint32_t>::max();

constexpr std::pair<std::string_view, element_type> known_types[] = {
    {"F64", element_type::f64},      {"F32", element_type::f32},         {"F16", element_type::f16},
    {"BF16", element_type::bf16},    {"I64", element_type::i64},         {"I32", element_type::i32},
    {"I16", element_type::i16},      {"I8", element_type::i8},           {"U64", element_type::u64},
    {"U32", element_type::u32},      {"U16", element_type::u16},         {"U8", element_type::u8},
    {"BOOL", element_type::boolean}, {"F8_E4M3", element_type::f8_e4m3}, {"F8_E8M0", element_type::f8_e8m0}};

// One tensor's entry while it is read.
struct tensor_entry {
  std::optional<element_type> type;
  std::optional<std::vector<std::int64_t>> shape;
  std::optional<std::vector<std::int64_t>> offsets;
};

// Takes exactly the nesting that the format has; the first thing elsewhere is refused, so nothing else is ever stored.
class header_reader final : public json::events {
 public:
  explicit header_reader(std::string_view file) : file_(file) {}

  safetensors_header take() { return std::move(header_); }

  void begin_object() override {
    if (place_ == place::outside) {
      place_ = place::top;
    } else if (place_ == place::top && name_ == "__metadata__") {
      if (std::exchange(saw_metadata_, true)) refuse(file_, "'__metadata__' is there twice");
      place_ = place::metadata;
    } else if (place_ == place::top) {
      entry_ = {};
      place_ = place::tensor;
    } else {
      unexpected("an object");
    }
  }

  void end_object() override {
    if (place_ == place::tensor) finish_tensor();
    place_ = place_ == place::top ? place::outside : place::top;
  }

  void key(std::string_view key) override { (place_ == place::top ? name_ : field_) = key; }

  void begin_array() override {
    if (place_ == place::tensor && field_ == "shape" && !entry_.shape) {
      entry_.shape.emplace();
      place_ = place::shape;
    } else if (place_ == place::tensor && field_ == "data_offsets" && !entry_.offsets) {
      entry_.offsets.emplace();
      place_ = place::offsets;
    } else {
      unexpected("an array");
    }
  }

  void end_array() override { place_ = place::tensor; }

  void integer(std::int64_t value) override {
    if (place_ == place::shape) return add_dimension(value);
    if (place_ == place::offsets) return add_offset(value);
    unexpected("a number");
  }

  void text(std::string_view value) override {
    if (place_ == place::metadata) return add_metadata(value);
    if (place_ == place::tensor && field_ == "dtype" && !entry_.type) return set_type(value);
    unexpected("a string");
  }

  void real(double value) override { unexpected(fmt::format("the number {}", value)); }
  void boolean(bool) override { unexpected("a boolean"); }
  void null() override { unexpected("null"); }

 private:
  enum class place { outside, top, metadata, tensor, shape, offsets };

  [[noreturn]] void unexpected(std::string_view kind) const {
    if (place_ == place::outside) refuse(file_, "the header is {}; an object belongs there", kind);
    if (place_ == place::top)
      refuse(file_, "entry {} of the header is {}; an object belongs there", in_quotes(name_), kind);
    refuse(file_,
           "entry {} of the header has {} at {}; once each 'dtype' (string), 'shape' and 'data_offsets' (arrays "
           "of integers), and strings under '__metadata__', belong there",
           in_quotes(name_), kind, in_quotes(field_));
  }

  void add_dimension(std::int64_t value) {
    if (value < 0 || value > largest_dimension) {
      refuse(file_, "tensor {} has a dimension of {}; 0 to {} is allowed", in_quotes(name_), value, largest_dimension);
    }
    if (entry_.shape->size() == max_dimensions) {
      refuse(file_, "tensor {} has more than {} dimensions", in_quotes(name_), max_dimensions);
    }
    entry_.shape->push_back(value);
  }

  void add_offset(std::int64_t value) {
    if (value < 0) refuse(file_, "tensor {} has offset {}; 0 or more is allowed", in_quotes(name_), value);
    if (entry_.offsets->size() == 2) refuse(file_, "tensor {} has more than two data_offsets", in_quotes(name_));
    entry_.offsets->push_back(value);
  }

  void add_metadata(std::string_view value) {
    if (!header_.metadata.emplace(field_, value).second) {
      refuse(file_, "'__metadata__' has {} twice", in_quotes(field_));
    }
  }

  void set_type(std::string_view value) {
    const auto known = std::ranges::find(known_types, value, &std::pair<std::string_view, element_type>::first);
    if (known == std::end(known_types)) {
      refuse(file_,
             "tensor {} has dtype {}; F64, F32, F16, BF16, F8_E4M3, F8_E8M0, I8 to I64, U8 to U64 and BOOL are read",
             in_quotes(name_), in_quotes(value));
    }
    entry_.type = known->second;
  }

  void finish_tensor() {
    if (!entry_.type) refuse(file_, "tensor {} has no 'dtype'", in_quotes(name_));
    if (!entry_.shape) refuse(file_, "tensor {} has no 'shape'", in_quotes(name_));
    if (!entry_.offsets || entry_.offsets->size() != 2)
      refuse(file_, "tensor {} has no two 'data_offsets'", in_quotes(name_));
    const auto first = (*entry_.offsets)[0];
    const auto last = (*entry_.offsets)[1];
    if (first > last) refuse(file_, "tensor {} has data_offsets [{}, {}]", in_quotes(name_), first, last);
    header_.tensors.push_back({.name = name_,
                               .type = *entry_.type,
                               .shape = std::move(*entry_.shape),
                               .bytes = static_cast<std::uint64_t>(last - first),
                               .begin = static_cast<std::uint64_t>(first)});
    check_size(header_.tensors.back());
  }

  void check_size(const tensor_info& tensor) const {
    std::int64_t bytes = layout(tensor.type).bytes;
    for (const auto dimension : tensor.shape) {
      if (__builtin_mul_overflow(bytes, dimension, &bytes)) {
        refuse(file_, "tensor {} of [{}] in {} does not fit 64 bits", in_quotes(name_), fmt::join(tensor.shape, ", "),
               to_string(tensor.type));
      }
    }
    if (static_cast<std::uint64_t>(bytes) != tensor.bytes) {
      refuse(file_, "tensor {} of [{}] in {} takes {} bytes; its data_offsets give {}", in_quotes(name_),
             fmt::join(tensor.shape, ", "), to_string(tensor.type), bytes, tensor.bytes);
    }
  }

  std::string_view file_;
  place place_ = place::outside;
  bool saw_metadata_ = false;
  std::string name_;
  std::string field_;
  tensor_entry entry_;
  safetensors_header header_;
};

std::string read_header_text(const input_file& file) {
  std::uint64_t length = 0;
  if (file.size() < length_bytes) refuse(file.name(), "has {} bytes; a safetensors file has at least 8", file.size());
  file.read(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > largest_header)
    refuse(file.name(), "the header has {} bytes; at most {} are read", length, largest_header);
  if (length > file.size() - length_bytes) {
    refuse(file.name(), "the header has {} bytes; {} remain in the file", length, file.size() - length_bytes);
  }
  std::string text(static_cast<std::size_t>(length), '\0');
  file.read(length_bytes, std::as_writable_bytes(std::span(text)));
  return text;
}

void check_ends(std::string_view text, std::string_view file) {
  if (!text.starts_with('{')) refuse(file, "the header does not begin with '{{'");
  const auto last = text.find_last_not_of(' ');
  if (text[last] != '}') refuse(file, "the header does not end with '}}' and spaces");
}

// Each tensor begins where the one before it ended, and the last ends with the file.
void place_tensors(std::vector<tensor_info>& tensors, const input_file& file, std::uint64_t data) {
  std::ranges::sort(tensors, {},
                    [](const tensor_info& t) { return std::tuple(t.begin, t.bytes, std::string_view(t.name)); });
  std::uint64_t end = 0;
  for (auto& tensor : tensors) {
    if (tensor.begin != end) {
      refuse(file.name(), "tensor {} begins at {}; the tensor before it ends at {}", in_quotes(tensor.name),
             tensor.begin, end);
    }
    end = tensor.begin + tensor.bytes;
    tensor.begin += data;
  }
  if (end != file.size() - data) {
    refuse(file.name(), "the tensors take {} bytes; {} follow the header", end, file.size() - data);
  }
}

}  // namespace

safetensors_header read_safetensors_header(const input_file& file) {
  const auto text = read_header_text(file);
  check_ends(text, file.name());
  header_reader reader(file.name());
  read_json([&] { json::walk(text, file.name(), reader); });
  auto header = reader.take();
  place_tensors(header.tensors, file, length_bytes + text.size());
  return header;
}

}  // namespace cogen::load
