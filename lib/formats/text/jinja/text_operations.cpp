#include "formats/text/jinja/text_operations.hpp"

#include "formats/text/utf8.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <unordered_set>

namespace cogen::text::jinja {
namespace {

constexpr char32_t sharp_s = 0xDF;

void append_upper(std::string& output, char32_t c) {
  if (c == sharp_s) {
    output += "SS";
  } else {
    append_utf8(output, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
  }
}

void append_title(std::string& output, char32_t c) {
  if (c == sharp_s) {
    output += "Ss";
  } else {
    append_utf8(output, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))));
  }
}

void append_lower(std::string& output, char32_t c) {
  append_utf8(output, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
}

bool has_case(char32_t c) {
  auto code_point = static_cast<utf8proc_int32_t>(c);
  return utf8proc_tolower(code_point) != code_point || utf8proc_toupper(code_point) != code_point || c == sharp_s;
}

template <typename Append>
std::string with_each(std::string_view text, Append&& append) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    auto character = first_character(text);
    append(result, character.code_point);
    text.remove_prefix(character.length);
  }
  return result;
}

using character_set = std::unordered_set<char32_t>;

character_set set_of(std::string_view characters) {
  character_set set;
  for (; !characters.empty(); characters.remove_prefix(first_character(characters).length)) {
    set.insert(first_character(characters).code_point);
  }
  return set;
}

std::size_t begin_after(std::string_view text, const character_set& characters) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    auto character = first_character(text.substr(begin));
    if (!characters.contains(character.code_point)) break;
    begin += character.length;
  }
  return begin;
}

std::size_t end_before(std::string_view text, const character_set& characters) {
  auto end = text.size();
  while (end > 0) {
    auto begin = character_before(text, end);
    if (!characters.contains(first_character(text.substr(begin)).code_point)) break;
    end = begin;
  }
  return end;
}

struct bounds {
  std::size_t begin;
  std::size_t end;
};

std::vector<bounds> words(std::string_view text, std::int64_t limit) {
  std::vector<bounds> found;
  auto begin = begin_after_space(text);
  while (begin < text.size() && limit-- != 0) {
    auto end = begin;
    while (end < text.size()) {
      auto character = first_character(text.substr(end));
      if (is_python_space(character.code_point)) break;
      end += character.length;
    }
    found.push_back({begin, end});
    begin = end + begin_after_space(text.substr(end));
  }
  if (begin < text.size()) found.push_back({begin, end_before_space(text)});
  return found;
}

std::vector<bounds> words_from_right(std::string_view text, std::int64_t limit) {
  std::vector<bounds> found;
  auto end = end_before_space(text);
  while (end > 0 && limit-- != 0) {
    auto begin = end;
    while (begin > 0) {
      auto previous = character_before(text, begin);
      if (is_python_space(first_character(text.substr(previous)).code_point)) break;
      begin = previous;
    }
    found.push_back({begin, end});
    end = end_before_space(text.substr(0, begin));
  }
  auto rest = begin_after_space(text.substr(0, end));
  if (rest < end) found.push_back({rest, end});
  std::reverse(found.begin(), found.end());
  return found;
}

std::vector<bounds> separated(std::string_view text, std::string_view separator, std::int64_t limit) {
  std::vector<bounds> found;
  std::size_t begin = 0;
  for (auto position = first_place(text, separator); position != std::string_view::npos && limit-- != 0;
       position = first_place(text, separator, begin)) {
    found.push_back({begin, position});
    begin = position + separator.size();
  }
  found.push_back({begin, text.size()});
  return found;
}

/// As from the left in the text that is read backward: so its time grows as the text, however long the separator is.
std::vector<bounds> separated_from_right(std::string_view text, std::string_view separator, std::int64_t limit) {
  const std::string backward(text.rbegin(), text.rend());
  auto found = separated(backward, std::string(separator.rbegin(), separator.rend()), limit);
  std::reverse(found.begin(), found.end());
  for (auto& part : found) part = {text.size() - part.end, text.size() - part.begin};
  return found;
}

bool ends_line(char32_t c) {
  return c == '\n' || c == '\r' || c == '\v' || c == '\f' || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

}  // namespace

std::size_t first_place(std::string_view text, std::string_view part, std::size_t start) {
  if (start > text.size()) return std::string_view::npos;
  auto* found = memmem(text.data() + start, text.size() - start, part.data(), part.size());
  if (!found) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

std::size_t last_place(std::string_view text, std::string_view part) {
  constexpr std::size_t short_part = 16;
  if (part.size() <= short_part) return text.rfind(part);
  const std::string reversed(text.rbegin(), text.rend());
  const auto position = first_place(reversed, std::string(part.rbegin(), part.rend()));
  return position == std::string_view::npos ? position : text.size() - position - part.size();
}

std::string upper(std::string_view text) { return with_each(text, append_upper); }
std::string lower(std::string_view text) { return with_each(text, append_lower); }

std::string title(std::string_view text) {
  bool begins_word = true;
  return with_each(text, [&](std::string& output, char32_t c) {
    begins_word ? append_title(output, c) : append_lower(output, c);
    begins_word = !has_case(c);
  });
}

std::string title_words(std::string_view text) {
  constexpr std::u32string_view openings = U"-({[<";
  bool begins_word = true;
  return with_each(text, [&](std::string& output, char32_t c) {
    begins_word ? append_upper(output, c) : append_lower(output, c);
    begins_word = is_python_space(c) || openings.find(c) != std::u32string_view::npos;
  });
}

std::string capitalize(std::string_view text) {
  bool is_first = true;
  return with_each(text, [&](std::string& output, char32_t c) {
    is_first ? append_title(output, c) : append_lower(output, c);
    is_first = false;
  });
}

std::string swapped_case(std::string_view text) {
  return with_each(text, [](std::string& output, char32_t c) {
    utf8proc_islower(static_cast<utf8proc_int32_t>(c)) ? append_upper(output, c) : append_lower(output, c);
  });
}

std::string case_folded(std::string_view text) {
  utf8proc_uint8_t* folded = nullptr;
  auto size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                           static_cast<utf8proc_ssize_t>(text.size()), &folded, UTF8PROC_CASEFOLD);
  std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(folded, std::free);
  return size < 0 ? std::string(text) : std::string(reinterpret_cast<char*>(folded), static_cast<std::size_t>(size));
}

bool is_printable(char32_t c) {
  if (c == ' ') return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

traced_text stripped(const traced_text& text, std::optional<std::string_view> characters, sides where) {
  std::string_view bytes = text.bytes();
  std::size_t begin = 0;
  auto end = bytes.size();
  auto set = set_of(characters.value_or(""));
  if (where.left) begin = characters ? begin_after(bytes, set) : begin_after_space(bytes);
  auto rest = bytes.substr(begin);
  if (where.right) end = begin + (characters ? end_before(rest, set) : end_before_space(rest));
  return text.part(begin, end);
}

std::vector<value> split(renderer& run, const traced_text& text, std::optional<std::string_view> separator,
                         std::int64_t limit, bool from_right) {
  if (separator && separator->empty()) run.fail("a text cannot be split at an empty text");
  std::vector<bounds> found;
  if (separator) {
    found =
        from_right ? separated_from_right(text.bytes(), *separator, limit) : separated(text.bytes(), *separator, limit);
  } else {
    found = from_right ? words_from_right(text.bytes(), limit) : words(text.bytes(), limit);
  }
  run.charge(found.size() * sizeof(value));
  std::vector<value> parts;
  for (auto [begin, end] : found) parts.push_back(run.make_text(text.part(begin, end)));
  return parts;
}

value replaced(renderer& run, const traced_text& text, const traced_text& old, const traced_text& replacement,
               std::int64_t limit) {
  traced_text result;
  std::size_t begin = 0;
  std::size_t position = 0;
  for (; limit != 0 && position <= text.size(); --limit) {
    position = first_place(text.bytes(), old.bytes(), position);
    if (position == std::string::npos) break;
    run.charge(position - begin + replacement.content_bytes());
    run.visit(1);
    result.append(text.part(begin, position));
    result.append(replacement);
    begin = position + old.size();
    if (!old.empty()) {
      position = begin;
    } else {
      position += position < text.size() ? first_character(std::string_view(text.bytes()).substr(position)).length : 1;
    }
  }
  result.append(text.part(std::min(begin, text.size()), text.size()));
  return run.make_text(std::move(result));
}

traced_text escaped(renderer& run, const traced_text& text) {
  constexpr std::string_view special = "&<>'\"";
  constexpr std::array<std::string_view, special.size()> entities{"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
  run.look_at(text.size());
  traced_text result;
  std::size_t begin = 0;
  for (auto position = text.bytes().find_first_of(special); position != std::string::npos;
       position = text.bytes().find_first_of(special, begin)) {
    run.charge(position - begin + entities.back().size());
    result.append(text.part(begin, position));
    result.append(entities[special.find(text.bytes()[position])], text.part(position, position + 1).is_trusted());
    begin = position + 1;
  }
  result.append(text.part(begin, text.size()));
  return result;
}

std::vector<value> lines_of(renderer& run, const traced_text& text, bool keep_ends) {
  std::vector<value> lines;
  std::string_view bytes = text.bytes();
  std::size_t begin = 0;
  for (std::size_t position = 0; position < bytes.size();) {
    auto character = first_character(bytes.substr(position));
    auto next = position + character.length;
    if (ends_line(character.code_point)) {
      if (bytes.substr(position).starts_with("\r\n")) ++next;
      lines.push_back(run.make_text(text.part(begin, keep_ends ? next : position)));
      begin = next;
    }
    position = next;
  }
  if (begin < bytes.size()) lines.push_back(run.make_text(text.part(begin, bytes.size())));
  return lines;
}

}  // namespace cogen::text::jinja
