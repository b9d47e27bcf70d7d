// What llama.cpp's converter of schemas needs of its common.cpp, which needs much more itself.
#include "common.h"

std::string string_join(const std::vector<std::string>& values, const std::string& separator) {
  std::string result;
  for (std::size_t i = 0; i < values.size(); ++i) result += (i > 0 ? separator : "") + values[i];
  return result;
}

std::vector<std::string> string_split(const std::string& text, const std::string& delimiter) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (auto end = text.find(delimiter); end != std::string::npos; end = text.find(delimiter, begin)) {
    parts.push_back(text.substr(begin, end - begin));
    begin = end + delimiter.size();
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::string string_repeat(const std::string& text, std::size_t count) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}
