#include "hashed_texts.hpp"

#include "../test_data.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value_to.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace {

constexpr std::size_t block_size = 20;

}  // namespace

void text_hash::add(std::string_view part) {
  const auto mix = [&](unsigned char byte) { state_ = (state_ ^ byte) * 0x100000001B3; };
  for (char byte : part) mix(static_cast<unsigned char>(byte));
  mix(0xFF);
}

std::string text_hash::hexadecimal() const {
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(state_ >> 32));
  return digits;
}

const std::vector<std::string>& hashed_texts() {
  static const auto texts = [] {
    std::ifstream file(cogen::test::test_data() / "text/texts.json");
    std::ostringstream content;
    content << file.rdbuf();
    return boost::json::value_to<std::vector<std::string>>(boost::json::parse(content.str()));
  }();
  return texts;
}

std::string different_blocks(const std::vector<std::string>& expected,
                             const std::function<void(text_hash&, const std::string&)>& add) {
  const auto& texts = hashed_texts();
  const auto blocks = (texts.size() + block_size - 1) / block_size;
  if (expected.size() != blocks) return "there are " + std::to_string(expected.size()) + " hashes";
  std::string different;
  for (std::size_t block = 0; block < blocks; ++block) {
    text_hash hash;
    const auto end = std::min(texts.size(), (block + 1) * block_size);
    for (auto i = block * block_size; i < end; ++i) add(hash, texts[i]);
    if (hash.hexadecimal() != expected[block]) different += " " + std::to_string(block);
  }
  return different;
}
