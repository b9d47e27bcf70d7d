#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::load {

/// Many short strings in one piece of memory: the tokens of a vocabulary take a third of what separate ones do.
class string_array {
 public:
  void reserve(std::size_t strings) { ends_.reserve(strings); }

  void push_back(std::string_view string) {
    bytes_ += string;
    ends_.push_back(bytes_.size());
  }

  std::size_t size() const noexcept { return ends_.size(); }

  /// Valid until the next push_back().
  std::string_view operator[](std::size_t index) const noexcept {
    const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
    return std::string_view(bytes_).substr(begin, ends_[index] - begin);
  }

  std::vector<std::string> strings() const {
    std::vector<std::string> all;
    all.reserve(size());
    for (std::size_t index = 0; index < size(); ++index) all.emplace_back((*this)[index]);
    return all;
  }

 private:
  std::string bytes_;
  std::vector<std::uint64_t> ends_;
};

}  // namespace cogen::load
