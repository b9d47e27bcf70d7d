// Filters that fit a text into lines and widths.
#include "formats/text/character_class.hpp"
#include "formats/text/jinja/callables.hpp"
#include "formats/text/jinja/conversions.hpp"
#include "formats/text/jinja/format_spec.hpp"
#include "formats/text/jinja/text_operations.hpp"
#include "formats/text/pattern.hpp"
#include "formats/text/utf8.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cogen::text::jinja {
namespace {

const traced_text& required_text(renderer& run, const value& input, const char* callee) {
  if (auto* text = input.text()) return *text;
  run.fail(std::string("'") + callee + "' needs a text, not " + kind_of(input));
}

value indent(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "indent", {"width", "first", "blank"});
  constexpr std::int64_t widest = 1000;
  auto width = bound.find(0) && bound.find(0)->text()
                   ? *bound.find(0)->text()
                   : traced_text(std::string(std::clamp<std::int64_t>(bound.integer(0, 4), 0, widest), ' '), true);
  bool indents_blank = bound.flag(2, false);
  run.charge(required_text(run, input, "indent").footprint());
  auto text = required_text(run, input, "indent");
  text.append("\n", true);
  auto lines = lines_of(run, text, false);
  traced_text result;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto& line = *lines[i].text();
    if (i > 0) result.append("\n", true);
    bool indents = i == 0 ? bound.flag(1, false) : indents_blank || !line.empty();
    run.charge(line.content_bytes() + width.content_bytes());
    if (indents) result.append(width);
    result.append(line);
  }
  return text.is_markup() ? result.as_markup() : result;
}

value center(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "center", {"width"});
  arguments width;
  width.positional.push_back(bound.find(0) ? bound.at(0) : value(std::int64_t{80}));
  return call_method(run, run.make_text(as_text(run, input)), "center", width);
}

std::size_t offset_of(std::string_view text, std::size_t characters) {
  std::size_t offset = 0;
  for (; characters > 0 && offset < text.size(); --characters) offset += first_character(text.substr(offset)).length;
  return offset;
}

value truncate(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "truncate", {"length", "killwords", "end", "leeway"});
  auto size = *find_filter("length")(run, input, {}).integer();
  auto end = bound.find(2) ? required_text(run, bound.at(2), "truncate") : traced_text("...", true);
  auto length = bound.integer(0, 255);
  auto leeway = bound.find(3) && !bound.find(3)->is_none() ? bound.integer(3, 0) : 5;
  auto kept = length - static_cast<std::int64_t>(character_count(end.bytes()));
  if (kept < 0 || leeway < 0) run.fail("'truncate' needs a length of at least its end, and a leeway of at least 0");
  if (size <= length + leeway) return input;
  const auto& text = required_text(run, input, "truncate");
  auto cut = text.part(0, offset_of(text.bytes(), static_cast<std::size_t>(kept)));
  auto space = bound.flag(1, false) ? std::string::npos : cut.bytes().rfind(' ');
  auto result = space == std::string::npos ? cut : cut.part(0, space);
  result.append(end);
  return run.make_text(std::move(result));
}

value word_count(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "wordcount", {});
  auto text = as_text(run, input);
  std::int64_t count = 0;
  bool is_in_word = false;
  for (std::string_view rest = text.bytes(); !rest.empty();) {
    auto character = first_character(rest);
    auto is_word = is_word_character(character.code_point);
    count += is_word && !is_in_word;
    is_in_word = is_word;
    rest.remove_prefix(character.length);
  }
  return count;
}

value file_size(renderer& run, const value& input, const arguments& given) {
  constexpr std::array<std::string_view, 8> decimal{"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"};
  constexpr std::array<std::string_view, 8> binary{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"};
  bound_arguments bound(run, given, "filesizeformat", {"binary"});
  auto number = input.text() ? find_filter("float")(run, input, {.positional = {value(none{})}, .named = {}}) : input;
  if (!number.number()) run.fail("'filesizeformat' needs a number, not " + kind_of(input));
  auto bytes = *number.number();
  bool is_binary = bound.flag(0, false);
  double base = is_binary ? 1024 : 1000;
  if (bytes == 1) return trusted_text("1 Byte");
  if (bytes < base) return trusted_text(std::to_string(static_cast<std::int64_t>(bytes)) + " Bytes");
  double unit = base * base;
  std::size_t prefix = 0;
  for (; prefix + 1 < decimal.size() && !(bytes < unit); ++prefix) unit *= base;
  auto size = digits_of(base * bytes / unit, 'f', 1, false);
  return trusted_text(size + " " + std::string(is_binary ? binary[prefix] : decimal[prefix]));
}

/// Python's textwrap.wrap() of one line.
class line_wrapper {
 public:
  struct settings {
    std::size_t width;
    bool breaks_words;
    bool breaks_at_hyphens;
  };

  line_wrapper(renderer& run, settings options) : run_(run), options_(options) {}

  std::vector<traced_text> wrap(const traced_text& line) {
    auto chunks = chunks_of(line);
    std::reverse(chunks.begin(), chunks.end());
    std::vector<traced_text> lines;
    while (!chunks.empty()) {
      auto level = run_.enter_here();
      if (is_space(chunks.back()) && !lines.empty()) chunks.pop_back();
      auto next = next_line(chunks);
      if (!next.empty() && is_space(next.back())) next.pop_back();
      if (next.empty()) continue;
      traced_text joined;
      for (const auto& chunk : next) joined.append(chunk);
      run_.charge(joined.size());
      lines.push_back(std::move(joined));
    }
    return lines;
  }

 private:
  static std::size_t size_of(const traced_text& chunk) { return character_count(chunk.bytes()); }
  static bool is_space(const traced_text& chunk) { return begin_after_space(chunk.bytes()) == chunk.size(); }

  std::vector<traced_text> chunks_of(const traced_text& line) {
    static const pattern at_hyphens(R"([\t\n\x0b\x0c\r ]+|(?<=[\w!"'&.,?])-{2,}(?=\w)|[^\t\n\x0b\x0c\r ]+?(?:)"
                                    R"(-(?:(?<=(?!\d)\w(?!\d)\w-)|(?<=(?!\d)\w-(?!\d)\w-))(?=(?!\d)\w-?(?!\d)\w))"
                                    R"(|(?=[\t\n\x0b\x0c\r ]|\z)|(?<=[\w!"'&.,?])(?=-{2,}\w)))");
    static const pattern at_spaces(R"([\t\n\x0b\x0c\r ]+)");
    std::vector<traced_text> chunks;
    std::size_t done = 0;
    auto put = [&](std::size_t end) {
      if (done < end) chunks.push_back(line.part(done, end));
      done = end;
    };
    for (auto match : (options_.breaks_at_hyphens ? at_hyphens : at_spaces).matches(line.bytes())) {
      put(match.begin);
      put(match.end);
    }
    put(line.size());
    run_.charge(chunks.size() * sizeof(traced_text) + line.size());
    return chunks;
  }

  // Takes chunks from the end of the list.
  std::vector<traced_text> next_line(std::vector<traced_text>& chunks) {
    std::vector<traced_text> line;
    std::size_t size = 0;
    while (!chunks.empty() && size + size_of(chunks.back()) <= options_.width) {
      size += size_of(chunks.back());
      line.push_back(std::move(chunks.back()));
      chunks.pop_back();
    }
    if (!chunks.empty() && size_of(chunks.back()) > options_.width) take_long_word(chunks, line, options_.width - size);
    return line;
  }

  void take_long_word(std::vector<traced_text>& chunks, std::vector<traced_text>& line, std::size_t space) {
    if (!options_.breaks_words) {
      if (!line.empty()) return;
      line.push_back(std::move(chunks.back()));
      chunks.pop_back();
      return;
    }
    auto& word = chunks.back();
    auto end = offset_of(word.bytes(), space);
    if (options_.breaks_at_hyphens && size_of(word) > space) {
      auto hyphen = end == 0 ? std::string::npos : word.bytes().rfind('-', end - 1);
      bool has_letter = hyphen != std::string::npos && word.bytes().find_first_not_of('-') < hyphen;
      if (has_letter && hyphen > 0) end = hyphen + 1;
    }
    run_.charge(word.size());
    line.push_back(word.part(0, end));
    word = word.part(end, word.size());
  }

  renderer& run_;
  settings options_;
};

value wrap(renderer& run, const value& input, const arguments& given) {
  bound_arguments bound(run, given, "wordwrap", {"width", "break_long_words", "wrapstring", "break_on_hyphens"});
  auto width = bound.integer(0, 79);
  if (width <= 0) run.fail("'wordwrap' needs a width above 0");
  auto separator = bound.find(2) && !bound.find(2)->is_none() ? required_text(run, bound.at(2), "wordwrap")
                                                              : traced_text("\n", true);
  line_wrapper wrapper(run, {static_cast<std::size_t>(width), bound.flag(1, true), bound.flag(3, true)});
  traced_text result;
  bool is_first = true;
  for (const auto& line : lines_of(run, required_text(run, input, "wordwrap"), false)) {
    auto wrapped = wrapper.wrap(*line.text());
    if (wrapped.empty()) wrapped.emplace_back();
    for (const auto& part : wrapped) {
      run.charge(separator.content_bytes());
      if (!is_first) result.append(separator);
      is_first = false;
      result.append(part);
    }
  }
  return run.make_text(std::move(result));
}

constexpr std::array<std::pair<std::string_view, filter>, 6> layout_filters{{
    {"center", reading<center>},
    {"filesizeformat", reading<file_size>},
    {"indent", reading<indent>},
    {"truncate", reading<truncate>},
    {"wordcount", reading<word_count>},
    {"wordwrap", reading<wrap>},
}};

}  // namespace

filter find_layout_filter(std::string_view name) { return find_named<filter>(layout_filters, name); }

}  // namespace cogen::text::jinja
