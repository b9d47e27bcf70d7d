#pragma once

#include <initializer_list>
#include <string>
#include <vector>

namespace cogen::grammar {

/// Characters, as ranges of code points that Unicode calls scalar values: surrogates are never among them.
class character_set {
 public:
  struct range {
    char32_t first;
    char32_t last;

    friend bool operator==(const range&, const range&) = default;
  };

  character_set() = default;
  character_set(std::initializer_list<range> ranges);

  static character_set full();

  void add(range added);
  void add(const character_set& added);
  void remove(const character_set& removed);
  character_set complement() const;

  bool empty() const noexcept { return ranges_.empty(); }
  bool contains(char32_t character) const noexcept;
  const std::vector<range>& ranges() const noexcept { return ranges_; }  ///< ascending, none touching the next

  friend bool operator==(const character_set&, const character_set&) = default;

 private:
  std::vector<range> ranges_;
};

/// What \w stands for in a pattern.
inline const character_set word_characters = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};

}  // namespace cogen::grammar
