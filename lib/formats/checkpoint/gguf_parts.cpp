#include "formats/checkpoint/gguf_parts.hpp"

#include "formats/checkpoint/message.hpp"
#include "formats/checkpoint/name_index.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

namespace cogen::load {
namespace {

constexpr std::int64_t max_parts = 4096;

// Metadata of a part, under "split.".
struct split_keys {
  std::int64_t number = 0;  // from 0
  std::int64_t count = 1;
  std::optional<std::int64_t> tensors;  // of all parts
};

std::optional<std::int64_t> split_key(const gguf_part& part, std::string_view key, std::int64_t most) {
  const auto found = std::ranges::find(part.header.keys, key);
  if (found == part.header.keys.end()) return std::nullopt;
  const auto value = as_integer(part.header.values[static_cast<std::size_t>(found - part.header.keys.begin())]);
  if (!value || *value < 0 || *value > most) {
    refuse(part.file.name(), "{} is {}; an integer from 0 to {} is allowed", key,
           value ? std::to_string(*value) : "of another type", most);
  }
  return value;
}

split_keys split_keys_of(const gguf_part& part) {
  constexpr std::int64_t max_tensors = std::int64_t{1} << 31;
  return {.number = split_key(part, "split.no", max_parts).value_or(0),
          .count = split_key(part, "split.count", max_parts).value_or(1),
          .tensors = split_key(part, "split.tensors.count", max_tensors)};
}

std::string ending_of(std::int64_t number, std::int64_t count) {
  return fmt::format("-{:05}-of-{:05}.gguf", number + 1, count);
}

// The path of a part, from that of another one.
std::filesystem::path part_path(const std::filesystem::path& other, std::int64_t number, std::int64_t count) {
  const auto name = other.filename().string();
  return other.parent_path() /
         (name.substr(0, name.size() - ending_of(number, count).size()) + ending_of(number, count));
}

void check_first(const gguf_part& part, const split_keys& keys) {
  const bool named_so = part.file.path().filename().string().ends_with(ending_of(keys.number, keys.count));
  if (keys.number != 0) {
    refuse(part.file.name(), "is part {} of {} of a model; the first part is named{}", keys.number + 1, keys.count,
           named_so ? ", " + part_path(part.file.path(), 0, keys.count).filename().string() : "");
  }
  if (!named_so) {
    refuse(part.file.name(),
           "is the first of {} parts of a model; its name does not end in {}, as the others' names do", keys.count,
           ending_of(0, keys.count));
  }
}

void check_later(const gguf_part& part, std::int64_t number, std::int64_t count) {
  const auto keys = split_keys_of(part);
  if (keys.number != number || keys.count != count) {
    refuse(part.file.name(), "says that it is part {} of {}; its name says part {} of {}", keys.number + 1, keys.count,
           number + 1, count);
  }
}

gguf_part open_later(const std::filesystem::path& first, std::int64_t number, std::int64_t count) {
  const auto path = part_path(first, number, count);
  if (!is_there(path)) {
    refuse(first.string(), "part {} of {} is missing: there is no {}", number + 1, count,
           in_quotes(path.filename().string()));
  }
  gguf_part part(path);
  check_later(part, number, count);
  return part;
}

void number_files(std::vector<gguf_part>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (auto& tensor : parts[i].header.tensors) tensor.file = static_cast<std::uint32_t>(i);
  }
}

void check_tensor_count(const std::vector<gguf_part>& parts, std::optional<std::int64_t> expected) {
  std::size_t tensors = 0;
  for (const auto& part : parts) tensors += part.header.tensors.size();
  if (expected && !std::cmp_equal(tensors, *expected)) {
    refuse(parts.front().file.name(), "split.tensors.count is {}; its {} parts hold {} tensors", *expected,
           parts.size(), tensors);
  }
}

bool holds(const gguf_part& part, std::string_view name) {
  return std::ranges::find(part.header.tensors, name, &tensor_info::name) != part.header.tensors.end();
}

// Within one part it is found where its table is made.
void check_names(const std::vector<gguf_part>& parts) {
  std::vector<std::string_view> names;
  for (const auto& part : parts) {
    for (const auto& tensor : part.header.tensors) names.push_back(tensor.name);
  }
  const auto twice = name_index(std::move(names)).duplicate();
  if (!twice) return;
  const auto has_it = [&](const gguf_part& part) { return holds(part, *twice); };
  const auto first = std::ranges::find_if(parts, has_it);
  const auto second = std::find_if(first + 1, parts.end(), has_it);
  if (second == parts.end()) return;
  refuse(second->file.name(), "tensor {} is in {} too", in_quotes(*twice),
         in_quotes(first->file.path().filename().string()));
}

// The number that `text` ends in behind `separator`, which is cut off with it.
std::optional<std::int64_t> cut_number(std::string_view& text, std::string_view separator) {
  constexpr std::size_t digits = 5;
  if (text.size() < digits + separator.size()) return std::nullopt;
  const auto number = text.substr(text.size() - digits);
  std::int64_t value = 0;
  if (std::from_chars(number.data(), number.data() + digits, value).ptr != number.data() + digits) return std::nullopt;
  text.remove_suffix(digits);
  if (!text.ends_with(separator)) return std::nullopt;
  text.remove_suffix(separator.size());
  return value;
}

}  // namespace

std::vector<gguf_part> open_gguf_parts(const std::filesystem::path& path) {
  std::vector<gguf_part> parts;
  parts.emplace_back(path);
  const auto keys = split_keys_of(parts.front());
  if (keys.count <= 1) return parts;
  check_first(parts.front(), keys);
  for (std::int64_t number = 1; number < keys.count; ++number) parts.push_back(open_later(path, number, keys.count));
  number_files(parts);
  check_names(parts);
  check_tensor_count(parts, keys.tensors);
  return parts;
}

bool is_later_gguf_part(const std::filesystem::path& path) {
  const auto stem = path.stem().string();
  std::string_view rest = stem;
  const auto count = cut_number(rest, "-of-");
  const auto number = cut_number(rest, "-");
  return count && number && *number > 1 && *number <= *count;
}

}  // namespace cogen::load
