#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::json {

/// Many short strings from a file, one after the other in one piece of memory.
class string_list {
 public:
  void reserve(std::size_t strings) { ends_.reserve(strings); }

  void push_back(std::string_view string) {
    text_ += string;
    ends_.push_back(text_.size());
  }

  std::size_t size() const noexcept { return ends_.size(); }

  /// Valid until the next push_back.
  std::string_view operator[](std::size_t index) const noexcept {
    const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
    return std::string_view(text_).substr(begin, ends_[index] - begin);
  }

  std::vector<std::string> strings() const {
    std::vector<std::string> result;
    result.reserve(size());
    for (std::size_t index = 0; index < size(); ++index) result.emplace_back((*this)[index]);
    return result;
  }

 private:
  std::string text_;
  std::vector<std::size_t> ends_;
};

}  // namespace cogen::json
