#include "answers/grammar/regex_syntax.hpp"

#include "answers/grammar/grammar_error.hpp"
#include "answers/grammar/regex_intersection.hpp"
#include "answers/grammar/unicode_property.hpp"
#include "formats/json/printable.hpp"
#include "formats/text/utf8.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace cogen::grammar {
namespace {

using kind = regex_node::kind;

constexpr std::size_t max_pattern_bytes = 16384;
constexpr std::uint64_t max_pattern_repetitions = 100'000;
constexpr int max_groups = 32;

const character_set decimal_digits = {{'0', '9'}};
const character_set space = {{'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
                             {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
const character_set line_ends = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

regex_node anything() { return repeat_of(of_set(character_set::full()), {}); }

class regex_parser {
 public:
  regex_parser(std::string_view pattern, regex_match match) : pattern_(pattern), rest_(pattern), match_(match) {}

  regex_node run() {
    if (pattern_.size() > max_pattern_bytes)
      throw grammar_error("a pattern of " + std::to_string(pattern_.size()) + " bytes exceeds the limit of " +
                          std::to_string(max_pattern_bytes));
    if (!text::is_utf8(pattern_)) refuse("is not UTF-8");
    auto result = alternatives_of(place::top);
    if (!rest_.empty()) refuse("has a ) without its (");
    return result;
  }

 private:
  [[noreturn]] void refuse(const std::string& problem) const {
    throw grammar_error("the pattern " + cogen::json::in_quotes(pattern_) + " " + problem);
  }

  [[noreturn]] void refuse_support(const std::string& feature) const {
    refuse("uses " + feature + ", which is not supported");
  }

  bool take(std::string_view beginning) {
    if (!rest_.starts_with(beginning)) return false;
    rest_.remove_prefix(beginning.size());
    return true;
  }

  char32_t take_character() {
    if (rest_.empty()) refuse("ends too early");
    const auto next = text::first_character(rest_);
    rest_.remove_prefix(next.length);
    return next.code_point;
  }

  /// Where alternatives stand: those at the top and in a lookahead there have anchors of their own.
  enum class place : std::uint8_t { top, lookahead, group };

  /// What has to follow, or must not, from a part of a sequence on to the end of the text.
  struct lookahead {
    std::size_t part;
    bool negated;
    regex_node condition;
  };

  regex_node alternatives_of(place where, bool at_start = true) {
    regex_node result{.type = kind::alternatives};
    const bool may_be_anywhere = where == place::top && match_ == regex_match::search;
    do {
      const bool starts = where != place::group && at_start && take_all("^");
      std::vector<lookahead> lookaheads;
      auto part = sequence_of(where == place::top ? &lookaheads : nullptr, starts || !may_be_anywhere);
      const bool ends = where != place::group && take_all("$");
      if (!rest_.empty() && rest_.front() != '|' && rest_.front() != ')') refuse_support("^ or $ inside");
      if ((may_be_anywhere || where == place::lookahead) && !ends) part.parts.push_back(anything());
      part = with_lookaheads(std::move(part), lookaheads);
      if (may_be_anywhere && !starts) part.parts.insert(part.parts.begin(), anything());
      result.parts.push_back(std::move(part));
    } while (take("|"));
    return any_of(std::move(result.parts));
  }

  bool take_all(std::string_view anchor) {
    bool taken = false;
    while (take(anchor)) taken = true;
    return taken;
  }

  regex_node sequence_of(std::vector<lookahead>* lookaheads, bool at_start) {
    regex_node result{.type = kind::sequence};
    while (!rest_.empty() && std::string_view("|)^$").find(rest_.front()) == std::string_view::npos) {
      const bool negated = rest_.starts_with("(?!");
      if (lookaheads && (take("(?=") || take("(?!"))) {
        auto inside = in_group([&] { return alternatives_of(place::lookahead, at_start && result.parts.empty()); });
        lookaheads->push_back({result.parts.size(), negated, std::move(inside)});
      } else {
        result.parts.push_back(repeat_of(atom()));
      }
    }
    return result;
  }

  /// From the last one on, each holds for all that follows it.
  regex_node with_lookaheads(regex_node node, std::vector<lookahead>& lookaheads) const {
    for (; !lookaheads.empty(); lookaheads.pop_back()) {
      auto& [part, negated, condition] = lookaheads.back();
      const auto begin = node.parts.begin() + static_cast<std::ptrdiff_t>(part);
      const auto rest = grammar::sequence_of({begin, node.parts.end()});
      auto both = negated ? intersection({rest}, {condition}) : intersection({rest, condition}, {});
      node.parts.erase(begin, node.parts.end());
      if (!both) refuse("has a lookahead that leaves nothing");
      node.parts.push_back(std::move(*both));
    }
    return node;
  }

  template <typename Read>
  regex_node in_group(const Read& read) {
    if (++depth_ > max_groups) refuse("nests more than " + std::to_string(max_groups) + " groups");
    auto inside = read();
    --depth_;
    if (!take(")")) refuse("has a ( without its )");
    return inside;
  }

  regex_node repeat_of(regex_node part) {
    const auto times = quantifier();
    if (!times) return part;
    take("?");  // matches the same texts
    if (quantifier()) refuse("repeats a repetition");
    return grammar::repeat_of(std::move(part), *times);
  }

  std::optional<repetition> quantifier() {
    if (take("*")) return repetition{};
    if (take("+")) return repetition{1, repetition::unlimited};
    if (take("?")) return repetition{0, 1};
    if (!begins_counts() || !take("{")) return std::nullopt;
    repetition times{number(), 0};
    times.max = !take(",") ? times.min : rest_.starts_with('}') ? repetition::unlimited : number();
    take("}");
    if (times.max < times.min) refuse("has the bounds of a repetition out of order");
    return times;
  }

  /// A { that begins no counts is a character, as in patterns without the flag `u`.
  bool begins_counts() const {
    if (!rest_.starts_with('{')) return false;
    const auto inside = rest_.substr(1, rest_.find('}') - 1);
    const auto digits = inside.substr(0, inside.find(','));
    const auto are_digits = [](std::string_view text) {
      return std::ranges::all_of(
          text, [](char character) { return decimal_digits.contains(static_cast<unsigned char>(character)); });
    };
    const bool ends = rest_.find('}') != std::string_view::npos;
    const auto more = inside.substr(std::min(inside.size(), digits.size() + 1));
    return ends && !digits.empty() && are_digits(digits) && are_digits(more);
  }

  std::uint64_t number() {
    std::uint64_t value = 0;
    while (!rest_.empty() && decimal_digits.contains(static_cast<unsigned char>(rest_.front()))) {
      value = value * 10 + static_cast<std::uint64_t>(rest_.front() - '0');
      if (value > max_pattern_repetitions)
        refuse("repeats more than " + std::to_string(max_pattern_repetitions) + " times");
      rest_.remove_prefix(1);
    }
    return value;
  }

  regex_node atom() {
    if (take("(")) return group();
    if (take("[")) return of_set(bracket());
    if (take(".")) return of_set(line_ends.complement());
    if (take("\\")) return of_set(escape(false));
    if (std::string_view("*+?").find(rest_.front()) != std::string_view::npos || begins_counts())
      refuse("repeats nothing");
    const auto character = take_character();
    return of_set({{character, character}});
  }

  regex_node group() {
    if (take("?")) {
      if (take("=") || take("!")) refuse_support("a lookahead inside a group");
      if (take("<=") || take("<!")) refuse_support("a lookbehind");
      if (take("<")) {
        rest_.remove_prefix(std::min(rest_.size(), rest_.find('>')));
        if (!take(">")) refuse("has a group whose name does not end");
      } else if (!take(":")) {
        refuse_support("(?" + cogen::json::printable(rest_.substr(0, 1)));
      }
    }
    return in_group([&] { return alternatives_of(place::group); });
  }

  character_set bracket() {
    character_set set;
    const bool negated = take("^");
    while (!take("]")) {
      const auto first = class_part();
      if (rest_.size() < 2 || rest_[0] != '-' || rest_[1] == ']') {
        set.add(first);
        continue;
      }
      take("-");
      add_range(set, first, class_part());
    }
    return negated ? set.complement() : set;
  }

  character_set class_part() {
    if (take("\\")) return escape(true);
    const auto character = take_character();
    return {{character, character}};
  }

  void add_range(character_set& set, const character_set& first, const character_set& last) const {
    const auto single = [](const character_set& characters) {
      return characters.ranges().size() == 1 && characters.ranges()[0].first == characters.ranges()[0].last;
    };
    if (!single(first) || !single(last)) refuse("has a class of characters at an end of a range");
    if (last.ranges()[0].first < first.ranges()[0].first) refuse("has the ends of a range out of order");
    set.add({first.ranges()[0].first, last.ranges()[0].first});
  }

  character_set escape(bool in_class) {
    const auto character = take_character();
    switch (character) {
      case 'd':
        return decimal_digits;
      case 'D':
        return decimal_digits.complement();
      case 'w':
        return word_characters;
      case 'W':
        return word_characters.complement();
      case 's':
        return space;
      case 'S':
        return space.complement();
      case 'b':
        if (in_class) return {{'\b', '\b'}};
        refuse_support("\\b");
      case 'B':
        refuse_support("\\B");
      case 'k':
        refuse_support("a reference to a group");
      case 'p':
        return property();
      case 'P':
        return property().complement();
      default:
        return singleton(escaped_character(character));
    }
  }

  character_set property() {
    if (!take("{")) refuse("has a \\p without its { and }");
    const auto name = rest_.substr(0, rest_.find('}'));
    rest_.remove_prefix(name.size());
    if (!take("}")) refuse("has a \\p without its { and }");
    auto characters = characters_with(name);
    if (!characters) refuse_support("the Unicode property " + cogen::json::in_quotes(name));
    return std::move(*characters);
  }

  static character_set singleton(char32_t character) { return {{character, character}}; }

  char32_t escaped_character(char32_t character) {
    switch (character) {
      case 't':
        return '\t';
      case 'n':
        return '\n';
      case 'v':
        return '\v';
      case 'f':
        return '\f';
      case 'r':
        return '\r';
      case 'x':
        return hexadecimal(2);
      case 'u':
        return take("{") ? braced() : utf16();
      case 'c':
        return take_character() % 32;
      case '0':
        return 0;
      default:
        break;
    }
    if (character >= '1' && character <= '9') refuse_support("a reference to a group");
    const bool is_letter = (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z');
    if (is_letter) refuse(std::string("has the unknown escape \\") + static_cast<char>(character));
    return character;
  }

  char32_t hexadecimal(int count) {
    char32_t value = 0;
    for (int i = 0; i < count; ++i) value = value * 16 + hexadecimal_digit();
    return value;
  }

  char32_t hexadecimal_digit() {
    const auto character = take_character();
    if (character >= '0' && character <= '9') return character - '0';
    if (character >= 'a' && character <= 'f') return character - 'a' + 10;
    if (character >= 'A' && character <= 'F') return character - 'A' + 10;
    refuse("has an escape with too few hexadecimal digits");
  }

  char32_t braced() {
    char32_t value = 0;
    while (!take("}")) {
      value = value * 16 + hexadecimal_digit();
      if (value > 0x10FFFF) refuse("names a character above U+10FFFF");
    }
    return value;
  }

  char32_t utf16() {
    const auto high = hexadecimal(4);
    if (high < 0xD800 || high > 0xDBFF || !take("\\u")) return high;
    return 0x10000 + ((high - 0xD800) << 10) + (hexadecimal(4) - 0xDC00);
  }

  std::string_view pattern_;
  std::string_view rest_;
  regex_match match_;
  int depth_ = 0;
};

const character_set escaped_in_json = {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};

using places = std::set<std::size_t>;

/// Where matches end that begin at one of these places.
places ends_of(const regex_node& node, std::u32string_view text, const places& starts);

places ends_of_repeat(const regex_node& node, std::u32string_view text, places starts) {
  places ends;
  if (node.times.min == 0) ends = starts;
  for (std::uint64_t count = 1; count <= node.times.max && !starts.empty(); ++count) {
    auto next = ends_of(node.parts.front(), text, starts);
    if (count >= node.times.min) {
      const auto previous = ends.size();
      ends.insert(next.begin(), next.end());
      if (ends.size() == previous) break;
    }
    if (next == starts) {  // each repetition may be empty
      ends.insert(next.begin(), next.end());
      break;
    }
    starts = std::move(next);
  }
  return ends;
}

places ends_of(const regex_node& node, std::u32string_view text, const places& starts) {
  places ends;
  switch (node.type) {
    case kind::set:
      for (const auto place : starts)
        if (place < text.size() && node.set.contains(text[place])) ends.insert(place + 1);
      return ends;
    case kind::sequence:
      ends = starts;
      for (const auto& part : node.parts) ends = ends_of(part, text, ends);
      return ends;
    case kind::alternatives:
      for (const auto& part : node.parts) ends.merge(ends_of(part, text, starts));
      return ends;
    case kind::repeat:
      return ends_of_repeat(node, text, starts);
  }
  return ends;
}

}  // namespace

std::uint64_t times_at_most(std::uint64_t left, std::uint64_t right) {
  if (left == 0 || right == 0) return 0;
  return left > repetition::unlimited / right ? repetition::unlimited : left * right;
}

std::uint64_t plus_at_most(std::uint64_t left, std::uint64_t right) {
  return left > repetition::unlimited - right ? repetition::unlimited : left + right;
}

regex_node of_set(character_set set) { return {.type = kind::set, .set = std::move(set)}; }

regex_node of_text(std::string_view utf8) {
  regex_node result;
  while (!utf8.empty()) {
    const auto next = text::first_character(utf8);
    result.parts.push_back(of_set({{next.code_point, next.code_point}}));
    utf8.remove_prefix(next.length);
  }
  return result;
}

regex_node sequence_of(std::vector<regex_node> parts) { return {.type = kind::sequence, .parts = std::move(parts)}; }

regex_node any_of(std::vector<regex_node> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  return {.type = kind::alternatives, .parts = std::move(parts)};
}

regex_node repeat_of(regex_node part, repetition times) {
  regex_node result{.type = kind::repeat, .times = times};
  result.parts.push_back(std::move(part));
  return result;
}

regex_node parse_regex(std::string_view pattern, regex_match match) { return regex_parser(pattern, match).run(); }

bool matches(const regex_node& node, std::string_view utf8) {
  std::u32string text;
  while (!utf8.empty()) {
    const auto next = text::first_character(utf8);
    text += next.code_point;
    utf8.remove_prefix(next.length);
  }
  return ends_of(node, text, {0}).contains(text.size());
}

repetition lengths_of(const regex_node& node) {
  if (node.type == kind::set) return {1, 1};
  if (node.type == kind::repeat) {
    const auto inner = lengths_of(node.parts.front());
    return {times_at_most(inner.min, node.times.min), times_at_most(inner.max, node.times.max)};
  }
  if (node.type == kind::alternatives) {
    repetition total{repetition::unlimited, 0};
    for (const auto& part : node.parts) {
      const auto inner = lengths_of(part);
      total = {std::min(total.min, inner.min), std::max(total.max, inner.max)};
    }
    return total;
  }
  repetition total{0, 0};
  for (const auto& part : node.parts) {
    const auto inner = lengths_of(part);
    total = {plus_at_most(total.min, inner.min), plus_at_most(total.max, inner.max)};
  }
  return total;
}

namespace {

/// Characters as themselves, if the set has some.
void add_set(std::vector<regex_node>& ways, const std::string& prefix, character_set set) {
  if (set.empty()) return;
  if (prefix.empty()) return ways.push_back(of_set(std::move(set)));
  ways.push_back(sequence_of({of_text(prefix), of_set(std::move(set))}));
}

/// Their shortest escapes: a letter each, or two digits.
void add_escapes(std::vector<regex_node>& ways, const character_set& set) {
  character_set letters, digits[2];
  for (const auto& [first, last] : escaped_in_json.ranges())
    for (auto character = first; character <= last; ++character) {
      if (!set.contains(character)) continue;
      const auto spelled = json_spelling(character);
      const auto end = static_cast<char32_t>(static_cast<unsigned char>(spelled.back()));
      (spelled.size() == 2 ? letters : digits[character / 16]).add({end, end});
    }
  add_set(ways, "\\", letters);
  std::vector<regex_node> by_number;
  add_set(by_number, "0", digits[0]);
  add_set(by_number, "1", digits[1]);
  if (!by_number.empty()) ways.push_back(sequence_of({of_text("\\u00"), any_of(std::move(by_number))}));
}

}  // namespace

regex_node in_json(const regex_node& node) {
  if (node.type != kind::set) {
    auto spelled = node;
    for (auto& part : spelled.parts) part = in_json(part);
    return spelled;
  }
  auto plain = node.set;
  plain.remove(escaped_in_json);
  std::vector<regex_node> ways;
  add_set(ways, "", plain);
  add_escapes(ways, node.set);
  return ways.empty() ? node : any_of(std::move(ways));
}

}  // namespace cogen::grammar
