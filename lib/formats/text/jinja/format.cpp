// Python's str.format and its % for texts.
#include "formats/text/jinja/callables.hpp"
#include "formats/text/jinja/conversions.hpp"
#include "formats/text/jinja/format_spec.hpp"
#include "formats/text/jinja/text_operations.hpp"
#include "formats/text/jinja/walks.hpp"

#include <charconv>
#include <cmath>
#include <optional>

namespace cogen::text::jinja {
namespace {

/// The arguments of one call under what stands between braces.
class format_fields {
 public:
  format_fields(renderer& run, const arguments& given) : run_(run), given_(given) {}

  /// A field such as 0.name[key].
  value resolve(std::string_view field) {
    auto end = std::min(field.find_first_of(".["), field.size());
    auto found = argument(field.substr(0, end));
    for (field.remove_prefix(end); !field.empty();) found = part_of(found, field);
    return found;
  }

 private:
  value argument(std::string_view name) {
    if (name.empty()) return positional(true, next_++);
    std::size_t index = 0;
    auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
    bool is_index = error == std::errc{} && end == name.data() + name.size();
    return is_index ? positional(false, index) : named(name);
  }

  // The first attribute or index, which is removed from the field.
  value part_of(const value& object, std::string_view& field) {
    bool is_attribute = field[0] == '.';
    if (!is_attribute && field[0] != '[') run_.fail("only '.' or '[' follows ']' in a field of 'format'");
    field.remove_prefix(1);
    auto end = is_attribute ? std::min(field.find_first_of(".["), field.size()) : field.find(']');
    if (end == std::string_view::npos) run_.fail("'format' finds no ']'");
    auto name = field.substr(0, end);
    run_.visit(5);
    if (name.empty()) run_.fail("'format' finds an empty attribute");
    field.remove_prefix(is_attribute ? end : end + 1);
    if (is_attribute) return attribute_of(run_, object, trusted_text(std::string(name)));
    std::int64_t index = 0;
    auto [last, error] = std::from_chars(name.data(), name.data() + name.size(), index);
    bool is_index = name[0] != '-' && error == std::errc{} && last == name.data() + name.size();
    return item_of(run_, object, is_index ? value(index) : trusted_text(std::string(name)));
  }

  const value& positional(bool is_automatic, std::size_t index) {
    if (is_automatic_.value_or(is_automatic) != is_automatic)
      run_.fail("'format' mixes fields with and without numbers");
    is_automatic_ = is_automatic;
    if (index < given_.positional.size()) return given_.positional[index];
    run_.fail("'format' has no argument for field " + std::to_string(index));
  }

  const value& named(std::string_view field) const {
    run_.visit(given_.named.size());
    for (const auto& [name, argument] : given_.named) {
      if (name == field) return argument;
    }
    run_.fail("'format' has no argument for the field '" + std::string(field) + "'");
  }

  renderer& run_;
  const arguments& given_;
  std::optional<bool> is_automatic_;
  std::size_t next_ = 0;
};

traced_text with_escapes(renderer& run, const traced_text& text) {
  return text.is_markup() ? text : escaped(run, text).as_markup();
}

/// One formatting of a text with fields in braces.
class formatter {
 public:
  formatter(renderer& run, const traced_text& text, const arguments& given)
      : run_(run), escapes_(text.is_markup()), fields_(run, given) {}

  traced_text run(const traced_text& text, int depth = 0) {
    if (depth > 1) run_.fail("'format' nests fields too deep");
    std::string_view bytes = text.bytes();
    traced_text result;
    std::size_t begin = 0;
    for (auto position = bytes.find_first_of("{}"); position != std::string_view::npos;
         position = bytes.find_first_of("{}", begin)) {
      result.append(text.part(begin, position));
      if (bytes.substr(position + 1).starts_with(bytes[position]) && depth == 0) {
        result.append(text.part(position, position + 1));
        begin = position + 2;
        continue;
      }
      auto end = bytes[position] == '{' ? end_of_field(bytes, position) : std::string_view::npos;
      if (end == std::string_view::npos) run_.fail("'format' finds a single brace");
      auto written = field(text.part(position + 1, end), depth);
      run_.charge(written.content_bytes());
      result.append(written);
      begin = end + 1;
    }
    result.append(text.part(begin, text.size()));
    return result;
  }

 private:
  static std::size_t end_of_field(std::string_view bytes, std::size_t position) {
    std::size_t open = 0;
    bool is_index = false;
    for (; position < bytes.size(); ++position) {
      if (bytes[position] == '[' && open == 1) is_index = true;
      if (bytes[position] == ']') is_index = false;
      if (is_index) continue;
      if (bytes[position] == '{') ++open;
      if (bytes[position] == '}' && --open == 0) return position;
    }
    return std::string_view::npos;
  }

  traced_text field(const traced_text& text, int depth) {
    std::string_view bytes = text.bytes();
    auto end = std::size_t{0};
    for (bool is_index = false; end < bytes.size(); ++end) {
      if (bytes[end] == '[') is_index = true;
      if (bytes[end] == ']') is_index = false;
      if (!is_index && (bytes[end] == '!' || bytes[end] == ':')) break;
      if (!is_index && bytes[end] == '{') run_.fail("'format' finds a brace in the name of a field");
    }
    auto object = fields_.resolve(bytes.substr(0, end));
    if (bytes.substr(end).starts_with('!')) {
      object = converted(object, bytes.substr(end + 1));
      end += 2;
    }
    auto spec = end < bytes.size() ? run(text.part(end + 1, text.size()), depth + 1) : traced_text();
    if (!escapes_) return formatted(run_, object, parse_format_spec(run_, spec.bytes()), spec.empty());
    return with_escapes(run_, formatted(run_, object, parse_format_spec(run_, spec.bytes()), spec.empty()));
  }

  value converted(const value& object, std::string_view conversion) {
    bool is_whole = conversion.size() == 1 || (conversion.size() > 1 && conversion[1] == ':');
    if (!is_whole) run_.fail("'format' expects ':' after a conversion");
    switch (conversion[0]) {
      case 's':
        return run_.make_text(as_text(run_, object));
      case 'r':
        return run_.make_text(representation(run_, object), is_trusted(run_, object));
      case 'a':
        return run_.make_text(ascii_representation(run_, object), is_trusted(run_, object));
      default:
        run_.fail("'format' knows the conversions s, r and a, not '" + std::string(conversion.substr(0, 1)) + "'");
    }
  }

  renderer& run_;
  bool escapes_;
  format_fields fields_;
};

/// One formatting of a text with conversions such as %5.2f.
class percent_formatter {
 public:
  percent_formatter(renderer& run, const traced_text& text, const value& given)
      : run_(run), text_(text), bytes_(text.bytes()), given_(given) {
    auto* items = given.items();
    if (items && items->is_tuple) tuple_ = items;
  }

  traced_text run() {
    traced_text result;
    for (auto position = bytes_.find('%'); position != std::string_view::npos; position = bytes_.find('%', position_)) {
      result.append(text_.part(position_, position));
      position_ = position + 1;
      auto written = conversion();
      run_.charge(written.content_bytes());
      result.append(written);
    }
    result.append(text_.part(position_, text_.size()));
    bool is_mapping = !tuple_ && (given_.members() || given_.items() || given_.is_undefined() || is_range(given_));
    if (next_ < count() && !is_mapping) run_.fail("not all arguments are used by '%'");
    return result;
  }

 private:
  std::size_t count() const { return tuple_ ? tuple_->items.size() : 1; }

  value take() {
    if (keyed_) return *std::exchange(keyed_, std::nullopt);
    if (next_ >= count()) run_.fail("there are too few arguments for '%'");
    return tuple_ ? tuple_->items[next_++] : (++next_, given_);
  }

  bool is_next(char c) const { return position_ < bytes_.size() && bytes_[position_] == c; }

  char take_character() {
    if (position_ >= bytes_.size()) run_.fail("a conversion by '%' is incomplete");
    return bytes_[position_++];
  }

  traced_text conversion() {
    format_spec spec;
    if (is_next('%')) return {std::string(1, take_character()), true};
    if (is_next('(')) keyed_ = value_of_key();
    bool is_left = false, has_zeros = false;
    for (; position_ < bytes_.size() && std::string_view("#0- +").find(bytes_[position_]) != std::string_view::npos;
         ++position_) {
      if (bytes_[position_] == '#') spec.alternate = true;
      if (bytes_[position_] == '0') has_zeros = true;
      if (bytes_[position_] == '-') is_left = true;
      if (bytes_[position_] == '+' || (bytes_[position_] == ' ' && spec.sign == '-')) spec.sign = bytes_[position_];
    }
    auto width = number();
    if (width < 0) is_left = true;
    spec.width = static_cast<std::size_t>(std::abs(width));
    if (is_next('.')) {
      ++position_;
      spec.precision = static_cast<std::size_t>(std::max<std::int64_t>(number(), 0));
    }
    if (is_next('h') || is_next('l') || is_next('L')) ++position_;
    spec.type = take_character();
    spec.align = is_left ? '<' : has_zeros ? '0' : '>';
    return converted(spec);
  }

  value value_of_key() {
    std::size_t open = 1;
    auto end = ++position_;
    for (; end < bytes_.size() && open > 0; ++end) {
      if (bytes_[end] == '(') ++open;
      if (bytes_[end] == ')') --open;
    }
    if (open > 0) run_.fail("a key of '%' has no end");
    auto key = trusted_text(std::string(bytes_.substr(position_, end - 1 - position_)));
    position_ = end;
    auto* members = given_.members();
    auto* found = members ? members->find(key.text()->bytes()) : nullptr;
    if (!members) run_.fail("'%' with keys needs a dictionary, not " + kind_of(given_));
    if (!found) run_.fail("'%' has no argument with the key '" + key.text()->bytes() + "'");
    next_ = count();
    return *found;
  }

  std::int64_t number() {
    constexpr std::int64_t most = 1 << 20;
    std::int64_t result = 0;
    if (is_next('*')) {
      ++position_;
      auto given = take();
      if (!given.integer()) run_.fail("'*' of '%' needs an integer, not " + kind_of(given));
      result = *given.integer();
    } else {
      while (position_ < bytes_.size() && bytes_[position_] >= '0' && bytes_[position_] <= '9' && result <= most) {
        result = result * 10 + (bytes_[position_++] - '0');
      }
    }
    if (std::abs(result) > most) run_.fail("'%' exceeds the limit of " + std::to_string(most) + " characters");
    return result;
  }

  traced_text converted(format_spec spec) {
    switch (spec.type) {
      case 's':
      case 'r':
      case 'a':
        return as_text_of(take(), spec);
      case 'c':
        return as_character(take(), spec);
      case 'd':
      case 'i':
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        return as_integer(take(), spec);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        return as_real(take(), spec);
      default:
        run_.fail(std::string("'%") + spec.type + "' is not a conversion");
    }
  }

  traced_text as_text_of(const value& object, format_spec spec) {
    auto text = spec.type == 's'   ? as_text(run_, object)
                : spec.type == 'r' ? traced_text(representation(run_, object), is_trusted(run_, object))
                                   : traced_text(ascii_representation(run_, object), is_trusted(run_, object));
    if (text_.is_markup()) text = spec.type == 's' ? with_escapes(run_, text) : escaped(run_, text);
    return plain_text(std::move(text), spec);
  }

  traced_text plain_text(traced_text text, format_spec spec) {
    spec.type = 's';
    spec.sign = '-';
    spec.alternate = false;
    if (spec.align == '0') spec.align = '>';
    return formatted_text(run_, text, spec);
  }

  traced_text as_character(const value& object, format_spec spec) {
    if (object.text()) {
      if (character_count(object.text()->bytes()) != 1) run_.fail("'%c' needs one character");
      return plain_text(*object.text(), spec);
    }
    if (!object.integer()) run_.fail("'%c' needs a character, not " + kind_of(object));
    format_spec character{.type = 'c'};
    return plain_text(formatted_integer(run_, *object.integer(), character), spec);
  }

  traced_text as_integer(const value& object, format_spec spec) {
    auto integer = object.integer();
    bool is_decimal = spec.type == 'd' || spec.type == 'i' || spec.type == 'u';
    if (!integer && is_decimal && object.number() && std::abs(*object.number()) < 9.2e18) {
      integer = static_cast<std::int64_t>(*object.number());
    }
    if (!integer) run_.fail(std::string("'%") + spec.type + "' needs an integer, not " + kind_of(object));
    if (is_decimal) spec.type = 'd';
    auto digits = std::exchange(spec.precision, std::nullopt);
    if (!digits) return formatted_integer(run_, *integer, with_zeros(spec));
    format_spec number{.fill = "0", .align = '0', .sign = spec.sign, .alternate = spec.alternate, .type = spec.type};
    auto around = formatted_integer(run_, 0, {.sign = spec.sign, .alternate = spec.alternate, .type = spec.type});
    number.width = *digits + around.size() - 1 + (*integer < 0 && spec.sign == '-' ? 1 : 0);
    if (spec.align == '0') number.width = std::max(number.width, spec.width);
    return plain_text(formatted_integer(run_, *integer, number), {.align = spec.align, .width = spec.width});
  }

  traced_text as_real(const value& object, const format_spec& spec) {
    if (!object.number()) run_.fail(std::string("'%") + spec.type + "' needs a number, not " + kind_of(object));
    return formatted_real(run_, *object.number(), with_zeros(spec));
  }

  static format_spec with_zeros(format_spec spec) {
    if (spec.align == '0') spec.fill = "0";
    return spec;
  }

  renderer& run_;
  const traced_text& text_;
  std::string_view bytes_;
  const value& given_;
  const list* tuple_ = nullptr;
  std::optional<value> keyed_;
  std::size_t position_ = 0;
  std::size_t next_ = 0;
};

value result_of(renderer& run, const traced_text& pattern, traced_text result) {
  return run.make_text(pattern.is_markup() ? result.as_markup() : std::move(result));
}

}  // namespace

value format(renderer& run, const value& self, const arguments& given) {
  return result_of(run, *self.text(), formatter(run, *self.text(), given).run(*self.text()));
}

value format_map(renderer& run, const value& self, const arguments& given) {
  bound_arguments bound(run, given, "format_map", {"mapping"});
  auto* members = bound.at(0).members();
  if (!members) run.fail("'format_map' needs a dictionary, not " + kind_of(bound.at(0)));
  arguments named;
  run.charge(members->size() * sizeof(value));
  for (const auto& [key, member] : members->items()) {
    run.look_at(key);
    if (key.text()) named.named.emplace_back(key.text()->bytes(), member);
  }
  return format(run, self, named);
}

value percent_format(renderer& run, const traced_text& text, const value& given) {
  run.look_at(text.size());
  return result_of(run, text, percent_formatter(run, text, given).run());
}

}  // namespace cogen::text::jinja
