#pragma once

#include "../test_data.hpp"

#include <boost/json.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace cogen::test {

/// A copy of a golden's folder, to be altered; removed at the end.
class golden_copy {
 public:
  explicit golden_copy(const std::string& golden) {
    std::filesystem::copy(golden_folder(golden), folder_, std::filesystem::copy_options::recursive);
  }
  golden_copy(const golden_copy&) = delete;
  golden_copy& operator=(const golden_copy&) = delete;
  ~golden_copy() { std::filesystem::remove_all(folder_); }

  const std::filesystem::path& path() const { return folder_; }

  void alter_config(const std::function<void(boost::json::object&)>& alter) const {
    std::ifstream in(folder_ / "config.json");
    auto config = boost::json::parse(std::string(std::istreambuf_iterator<char>(in), {})).as_object();
    in.close();
    alter(config);
    std::ofstream(folder_ / "config.json") << boost::json::serialize(config);
  }

  /// Sets the upper half of a float32, or all of a bfloat16.
  void set_number(const std::string& weight, std::size_t index, std::uint16_t bits) const {
    auto whole = weights();
    const auto entry = whole.find("\"" + weight + "\":");
    if (entry == std::string::npos) throw std::logic_error("no weight " + weight);
    const auto offsets = whole.find("\"data_offsets\":[", entry) + 16;
    const auto type = whole.find("\"dtype\":\"", entry) + 9;
    const std::size_t lower = whole.compare(type, 3, "F32") == 0 ? 2 : 0;
    const auto offset = data_begin(whole) + std::stoull(whole.substr(offsets)) + (2 + lower) * index + lower;
    whole.at(offset) = static_cast<char>(bits & 0xff);
    whole.at(offset + 1) = static_cast<char>(bits >> 8);
    write(whole);
  }

  /// Replaces text in the header of the weights by as much other text.
  void change_header(const std::string& text, const std::string& replacement) const {
    auto whole = weights();
    const auto position = whole.find(text);
    if (position >= data_begin(whole) || text.size() != replacement.size())
      throw std::logic_error("cannot replace " + text);
    write(whole.replace(position, text.size(), replacement));
  }

 private:
  static std::size_t data_begin(const std::string& whole) {
    std::size_t header = 0;
    for (std::size_t byte = 8; byte-- > 0;) header = header << 8 | static_cast<unsigned char>(whole.at(byte));
    return 8 + header;
  }

  std::string weights() const {
    std::ifstream in(folder_ / "model.safetensors", std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& whole) const {
    std::ofstream(folder_ / "model.safetensors", std::ios::binary) << whole;
  }

  static std::filesystem::path new_folder() {
    static int count = 0;
    return std::filesystem::temp_directory_path() /
           ("cogen-models-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
  }

  const std::filesystem::path folder_ = new_folder();
};

}  // namespace cogen::test
