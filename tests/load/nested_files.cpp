// Files of models by depth and by breadth, on little stack: each is read, or refused in a sentence.
#include "../small_stack.hpp"
#include "formats/checkpoint/config_fields.hpp"
#include "readers.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

BOOST_AUTO_TEST_SUITE(nested_files)

namespace {

std::string times(std::string_view part, std::size_t count) {
  std::string text;
  for (; count > 0; --count) text += part;
  return text;
}

void check_is_survived(const std::function<void()>& read) { BOOST_CHECK_NO_THROW(cogen::test::on_small_stack(read)); }

template <typename Number>
std::string bytes_of(Number value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

/// Lists in lists, objects in objects, and as many members beside each other.
std::string nested(std::size_t depth) { return times("[", depth) + times("]", depth); }
std::string nested_objects(std::size_t depth) { return times(R"({"a":)", depth) + "1" + times("}", depth); }
std::string members(std::size_t count, std::string_view value) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i)
    text += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":" + std::string(value);
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(json_of_models_is_read_at_any_depth_and_breadth) {
  for (const std::size_t count : {60, 100, 100'000}) {
    for (const auto& text : {nested(count), nested_objects(count), "{\"a\":" + nested(count) + "}",
                             R"({"rope_scaling":)" + nested_objects(count) + "}",
                             R"({"text_config":)" + times(R"({"text_config":)", count) + "{}" + times("}", count) + "}",
                             R"({"layer_types":[)" + times("\"a\",", count) + R"("a"]})",
                             R"({"eos_token_id":[)" + times("1,", count) + "1]}", "{" + members(count, "{}") + "}",
                             R"({"weight_map":{)" + members(count, "\"a.safetensors\"") + "}}",
                             R"({"weight_map":)" + nested_objects(count) + "}"}) {
      check_is_survived([&] { read_as_config(text); });
      check_is_survived([&] { read_as_shard_index(text); });
      for (char file = '0'; file <= '9'; ++file) check_is_survived([&] { read_as_folder(file + text); });
    }
    for (const auto& header :
         {nested(count), nested_objects(count),
          "{" + members(count, R"({"dtype":"F32","shape":[0],"data_offsets":[0,0]})") + "}",
          R"({"a":{"dtype":"F32","shape":[)" + times("1,", count) + R"(1],"data_offsets":[0,4]}})"})
      check_is_survived([&] { read_as_safetensors(bytes_of(std::uint64_t{header.size()}) + header + "1234"); });
  }
}

BOOST_AUTO_TEST_CASE(metadata_is_read_at_any_depth_and_breadth) {
  const std::string begin = "GGUF" + bytes_of(std::uint32_t{3}) + bytes_of(std::uint64_t{0});
  const auto entry = [](const std::string& name, std::uint32_t type, const std::string& value) {
    return bytes_of(std::uint64_t{name.size()}) + name + bytes_of(type) + value;
  };
  constexpr std::uint32_t byte = 0, array = 9;
  for (const std::size_t count : {10, 60'000, 100'000}) {
    std::string arrays, entries;
    for (std::size_t i = 0; i < count; ++i) arrays += bytes_of(array) + bytes_of(std::uint64_t{1});
    for (std::size_t i = 0; i < count; ++i) entries += entry(std::to_string(i), byte, "1");
    check_is_survived([&] { read_as_gguf(begin + bytes_of(std::uint64_t{1}) + entry("a", array, arrays)); });
    check_is_survived([&] { read_as_gguf(begin + bytes_of(std::uint64_t{count}) + entries); });
  }
}

BOOST_AUTO_TEST_SUITE_END()
