#include "answers/grammar/distinct_reader.hpp"

#include <algorithm>

namespace cogen::grammar {
namespace {

std::string spelling_of(std::string_view json) {
  json_speller speller;
  std::string spelled;
  for (const char byte : json) speller.read(byte, spelled);
  return spelled;
}

}  // namespace

bracket_rule::bracket_rule(const std::vector<const distinct_rule*>& rules) : is_distinct_(!rules.empty()) {
  for (const auto* each : rules) least_ = std::min(least_, each->endless ? endless : each->names.size());
  if (rules.size() == 1 && rules.front()->listed) names_ = &rules.front()->names;
  has_others_ = std::ranges::all_of(rules, &distinct_rule::behind);
  if (names_) required_ = rules.front()->required;
}

bracket_rule bracket_rule::unknown() {
  bracket_rule rule;
  rule.is_distinct_ = true;
  rule.least_ = 0;
  return rule;
}

bool distinct_reader::written::has_beginning(std::string_view spelled) const {
  const auto next = spellings.lower_bound(std::string(spelled));
  return next != spellings.end() && next->starts_with(spelled);
}

void distinct_reader::written::add_next_bytes(const std::string& spelled, std::bitset<256>& bytes) const {
  for (auto next = spellings.upper_bound(spelled); next != spellings.end() && next->starts_with(spelled);) {
    const auto byte = static_cast<unsigned char>((*next)[spelled.size()]);
    bytes.set(byte);
    next = spellings.lower_bound(spelled + static_cast<char>(byte + 1));
  }
}

void distinct_reader::frame::add_matching_bytes(std::bitset<256>& bytes) const {
  if (!rule.is_distinct() || rule.is_endless() || position == place::behind ||
      (position == place::within && !is_matching))
    return;
  if (is_object && position == place::before) {
    bytes.set('"');
    return;
  }
  const auto beginning = position == place::within ? spelled : std::string();
  added.add_next_bytes(beginning, bytes);
  if (done) done->add_next_bytes(beginning, bytes);
}

bool distinct_reader::frame::matches() const {
  return is_matching && (added.has_beginning(spelled) || (done && done->has_beginning(spelled)));
}

distinct_reader::prospect distinct_reader::frame::outlook() const {
  if (!rule.is_distinct() || rule.is_endless() || count() == 0 || position == place::behind) return prospect::open;
  const auto* names = rule.names();
  if (position == place::before) {
    if (rule.has_others() || rule.has_more(count())) return prospect::open;
    return names ? prospect::closed : prospect::unknown;
  }
  if (!matches()) return prospect::open;
  const auto is_written = [&](const std::string& name) {
    return added.spellings.contains(name) || (done && done->spellings.contains(name));
  };
  if (rule.has_others() && names &&
      std::all_of(names->begin(), names->begin() + static_cast<std::ptrdiff_t>(rule.required()), is_written))
    return prospect::open;
  const auto is_left = [&](const std::string& name) { return name.starts_with(spelled) && !is_written(name); };
  return !names || std::ranges::any_of(*names, is_left) ? prospect::unknown : prospect::closed;
}

distinct_reader::prospect distinct_reader::outlook() const {
  auto result = prospect::open;
  for (const auto& each : frames_) {
    const auto part = each.outlook();
    if (part == prospect::closed) return part;
    if (part == prospect::unknown) result = part;
  }
  return result;
}

std::bitset<256> distinct_reader::matching_bytes() const {
  std::bitset<256> bytes;
  for (const auto& each : frames_) each.add_matching_bytes(bytes);
  if (bytes.none()) return bytes;
  for (const char silent : std::string_view(speller_.in_string() ? "\\" : " \t\n\r-.0eE+"))
    bytes.set(static_cast<unsigned char>(silent));
  return bytes;
}

bool distinct_reader::in_free_string() const {
  return speller_.in_string() && !speller_.in_escape() && std::ranges::all_of(frames_, [](const frame& bracket) {
           return bracket.is_object ? bracket.position == place::behind : !bracket.rule.is_distinct();
         });
}

std::string distinct_reader::text_from(std::size_t begin, std::size_t end) const {
  std::string text(text_.substr(std::min(begin, text_.size()), end - std::min(begin, end)));
  if (end > text_.size()) {
    const auto start = begin > text_.size() ? begin - text_.size() : 0;
    text += std::string_view(more_).substr(start, end - text_.size() - start);
  }
  return text;
}

void distinct_reader::begin_part(frame& in) {
  in.position = place::within;
  in.begin = text_.size() + more_.size() - 1;
  in.is_matching = in.rule.is_distinct() && in.count() > 0;
  in.spelled.clear();
}

void distinct_reader::end_name(frame& in) {
  in.position = place::behind;
  if (!in.rule.is_distinct()) return;
  const auto quoted = spelling_of(text_from(in.begin, text_.size() + more_.size()));
  auto name = quoted.substr(1, quoted.size() - 2);
  repeats_ = repeats_ || (in.done && in.done->spellings.contains(name)) || !in.added.spellings.insert(name).second;
}

void distinct_reader::end_value(std::size_t end) {
  in_word_ = false;
  if (frames_.empty() || frames_.back().is_object) return;
  auto& in = frames_.back();
  in.position = place::behind;
  if (!in.rule.is_distinct()) return;
  const auto text = text_from(in.begin, end);
  auto value = canonical_json(text);
  repeats_ =
      repeats_ || (in.done && in.done->values.contains(value)) || !in.added.values.insert(std::move(value)).second;
  in.added.spellings.insert(spelling_of(text));
}

void distinct_reader::spell(std::string_view unit, bool in_string) {
  news_ += unit;
  for (auto& each : frames_)
    if (each.position == place::within && each.is_matching && (!each.is_object || (in_string && speller_.in_string())))
      each.spelled += unit;
}

void distinct_reader::read_structure(char byte, const bracket_rule& rule) {
  switch (byte) {
    case ',':
      frames_.back().position = place::before;
      return;
    case '[':
    case '{':
      frames_.push_back({.is_object = byte == '{', .rule = rule});
      return;
    case ']':
    case '}':
      frames_.pop_back();
      return end_value(text_.size() + more_.size());
    default:
      return;
  }
}

void distinct_reader::read(char byte, const bracket_rule& rule) {
  const bool was_in_string = speller_.in_string();
  const bool is_mark = !was_in_string && (byte == ',' || byte == ':' || byte == ']' || byte == '}');
  if (in_word_ && (is_mark || is_json_space(byte))) end_value(text_.size() + more_.size());
  more_ += byte;
  std::string unit;
  speller_.read(byte, unit);
  if (!was_in_string && !is_mark && !is_json_space(byte) && !frames_.empty() && !in_word_) {
    auto& in = frames_.back();
    if (in.position == place::before && (!in.is_object || byte == '"')) begin_part(in);
    in_word_ = byte != '"' && byte != '[' && byte != '{';
  }
  spell(unit, was_in_string);
  if (!was_in_string) return read_structure(byte, rule);
  if (speller_.in_string()) return;
  frames_.back().is_in_name() ? end_name(frames_.back()) : end_value(text_.size() + more_.size());
}

void distinct_reader::settle(std::string_view text) {
  text_ = text;
  more_.clear();
  news_.clear();
  for (auto& each : frames_) {
    each.is_matching = each.matches();
    if (each.added.spellings.empty()) continue;
    if (!each.done) {
      each.done = std::make_shared<written>();
    } else if (each.done.use_count() > 1) {
      each.done = std::make_shared<written>(*each.done);
    }
    each.done->values.merge(each.added.values);
    each.done->spellings.merge(each.added.spellings);
    each.added = {};
  }
}

distinct_reader distinct_reader::clone() const {
  auto copy = *this;
  for (auto& each : copy.frames_)
    if (each.done) each.done = std::make_shared<written>(*each.done);
  return copy;
}

}  // namespace cogen::grammar
