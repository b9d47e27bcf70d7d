#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// FNV-1a over strings, with a byte after each that no UTF-8 has. The same as in hashes.py.
class text_hash {
 public:
  void add(std::string_view part);
  std::string hexadecimal() const;  ///< of the upper half

 private:
  std::uint64_t state_ = 0xCBF29CE484222325;
};

/// 2,000 generated texts.
const std::vector<std::string>& hashed_texts();

/// Names each block of 20 texts whose hash is not the expected one, with its number; empty if all agree. `add` adds
/// what is made of one text.
std::string different_blocks(const std::vector<std::string>& expected,
                             const std::function<void(text_hash&, const std::string&)>& add);
