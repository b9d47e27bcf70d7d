#pragma once

#include "answers/grammar/distinct_rule.hpp"
#include "answers/grammar/json_equality.hpp"

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cogen::grammar {

/// What a bracket asks of what it encloses, where one rule or another may hold.
class bracket_rule {
 public:
  bracket_rule() = default;  ///< nothing has to differ
  explicit bracket_rule(const std::vector<const distinct_rule*>& rules);

  static bracket_rule unknown();  ///< something has to differ, perhaps

  bool is_distinct() const noexcept { return is_distinct_; }
  bool is_endless() const noexcept { return least_ == endless; }
  /// Whether there surely is another one when so many are there.
  bool has_more(std::size_t count) const noexcept { return count < least_; }
  /// All names that are listed; null if there are others, which are not known.
  const std::vector<std::string>* names() const noexcept { return names_; }
  /// Whether any others may come behind those of the names, the first ones, that are required.
  bool has_others() const noexcept { return has_others_; }
  std::size_t required() const noexcept { return required_; }

 private:
  static constexpr std::size_t endless = std::numeric_limits<std::size_t>::max();

  bool is_distinct_ = false;
  bool has_others_ = false;
  std::size_t required_ = 0;
  std::size_t least_ = endless;
  const std::vector<std::string>* names_ = nullptr;
};

/// Reads JSON from a bracket on in which items or names have to differ. A copy reads on by itself, as long as its
/// original and the text of that stay as they are.
class distinct_reader {
 public:
  /// Whether a text may go on without repeating anything.
  enum class prospect : std::uint8_t { open, closed, unknown };

  /// Whether a bracket is open. Behind the last one nothing is read.
  bool is_open() const noexcept { return !frames_.empty(); }

  /// `rule` is that of the bracket which the byte opens, if it opens one. The first byte has to.
  void read(char byte, const bracket_rule& rule);

  /// Whether something came again that has to differ.
  bool repeats() const noexcept { return repeats_; }
  prospect outlook() const;

  bool in_string() const noexcept { return speller_.in_string(); }
  /// The bytes after which what is being written may still become what was written before.
  std::bitset<256> matching_bytes() const;
  /// Whether it is in a string whose characters make no difference to what follows.
  bool in_free_string() const;

  /// What was read since the original was copied, or settled, as json_speller spells it.
  const std::string& news() const noexcept { return news_; }

  /// Takes in what was read. `text` has to be all of it, and to live until the next time.
  void settle(std::string_view text);

  /// What shares nothing with this. Its text has to be set by settle().
  distinct_reader clone() const;

 private:
  enum class place : std::uint8_t { before, within, behind };  // an item, or a name

  struct written {
    std::set<std::string> values = {};     // of items
    std::set<std::string> spellings = {};  // of items, or names

    std::size_t size() const noexcept { return spellings.size(); }
    bool has_beginning(std::string_view spelled) const;
    void add_next_bytes(const std::string& spelled, std::bitset<256>& bytes) const;
  };

  struct frame {
    bool is_object;
    bracket_rule rule;
    place position = place::before;
    std::size_t begin = 0;               // of the item or the name
    bool is_matching = false;            // it may still be a written one
    std::string spelled = {};            // as long as it is matching
    std::shared_ptr<written> done = {};  // what was settled
    written added = {};

    std::size_t count() const { return added.size() + (done ? done->size() : 0); }
    bool is_in_name() const { return is_object && position == place::within; }
    bool matches() const;
    void add_matching_bytes(std::bitset<256>& bytes) const;
    prospect outlook() const;
  };

  std::string text_from(std::size_t begin, std::size_t end) const;
  void begin_part(frame& in);
  void end_name(frame& in);
  void end_value(std::size_t end);
  void spell(std::string_view unit, bool in_string);
  void read_structure(char byte, const bracket_rule& rule);

  json_speller speller_ = {};
  std::vector<frame> frames_ = {};
  std::string_view text_ = {};
  std::string more_ = {};  // behind it
  std::string news_ = {};
  bool in_word_ = false;  // a number, true, false or null
  bool repeats_ = false;
};

}  // namespace cogen::grammar
