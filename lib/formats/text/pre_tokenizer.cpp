#include "formats/text/pre_tokenizer.hpp"

#include "formats/text/byte_alphabet.hpp"
#include "formats/text/character_class.hpp"
#include "formats/text/digit_groups.hpp"
#include "formats/text/occurrences.hpp"
#include "formats/text/split_patterns.hpp"
#include "formats/text/splitting.hpp"
#include "formats/text/utf8.hpp"

namespace cogen::text {
namespace {

void append_shifted(std::vector<range>& target, const std::vector<range>& pieces, std::size_t offset) {
  for (auto piece : pieces) target.push_back({piece.begin + offset, piece.end + offset});
}

template <typename Split>
split_text with_each_piece_split(split_text parts, Split&& split) {
  std::vector<range> pieces;
  for (auto piece : parts.pieces) append_shifted(pieces, split(piece.slice(parts.text)), piece.begin);
  parts.pieces = std::move(pieces);
  return parts;
}

template <typename Rewrite>
split_text with_each_piece_rewritten(const split_text& parts, const text_budget& budget, Rewrite&& rewrite) {
  split_text result;
  result.text.reserve(parts.text.size() + parts.text.size() / 2);
  result.pieces.reserve(parts.pieces.size());
  for (auto piece : parts.pieces) {
    auto begin = result.text.size();
    rewrite(result.text, piece.slice(parts.text), piece.begin);
    budget.require(result.text.size());
    result.pieces.push_back({begin, result.text.size()});
  }
  return result;
}

std::vector<range> numeric_characters(std::string_view text) {
  std::vector<range> found;
  for (std::size_t position = 0; position < text.size();) {
    auto character = first_character(text.substr(position));
    if (is_numeric(character.code_point)) found.push_back({position, position + character.length});
    position += character.length;
  }
  return found;
}

void append_metaspaced(std::string& output, std::string_view piece, const metaspace_step& step, bool begins_input,
                       const text_budget& budget) {
  using scheme = metaspace_step::prepend_scheme;
  bool wanted = step.prepend == scheme::always || (step.prepend == scheme::first && begins_input);
  if (wanted && !piece.starts_with(' ') && !piece.starts_with(step.replacement)) output += step.replacement;
  for (char c : piece) {
    if (c == ' ') {
      output += step.replacement;
      budget.require(output.size());
    } else {
      output += c;
    }
  }
}

split_text apply_metaspace(const metaspace_step& step, split_text parts, bool is_first, const text_budget& budget) {
  parts =
      with_each_piece_rewritten(parts, budget, [&](std::string& output, std::string_view piece, std::size_t offset) {
        append_metaspaced(output, piece, step, is_first && offset == 0, budget);
      });
  if (!step.split) return parts;
  return with_each_piece_split(std::move(parts), [&](std::string_view piece) {
    return split_at(occurrences(piece, step.replacement), piece.size(), split_behavior::merged_with_next, false);
  });
}

}  // namespace

pre_tokenizer::pre_tokenizer(const std::vector<pre_tokenizer_step>& steps) {
  for (const auto& given : steps) {
    if (auto* split = std::get_if<split_step>(&given)) {
      pattern delimiter(split->is_regex ? split->pattern : escaped_pattern(split->pattern));
      steps_.emplace_back(pattern_split{std::move(delimiter), split->behavior, split->invert});
    } else if (auto* digits = std::get_if<digits_step>(&given)) {
      steps_.emplace_back(*digits);
    } else if (auto* groups = std::get_if<digit_groups_step>(&given)) {
      steps_.emplace_back(*groups);
    } else if (auto* bytes = std::get_if<byte_level_step>(&given)) {
      byte_mapping mapping{bytes->add_prefix_space, {}};
      if (bytes->use_regex) mapping.splits.push_back({pattern(gpt2_pattern), split_behavior::isolated, false});
      steps_.emplace_back(std::move(mapping));
    } else {
      steps_.emplace_back(std::get<metaspace_step>(given));
    }
  }
}

split_text pre_tokenizer::operator()(std::string text, bool is_first, text_budget& budget) const {
  split_text parts{std::move(text), {}};
  if (!parts.text.empty()) parts.pieces.push_back({0, parts.text.size()});
  for (const auto& step : steps_) {
    budget.spend(parts.text.size() + parts.pieces.size());
    if (auto* metaspace = std::get_if<metaspace_step>(&step)) {
      parts = apply_metaspace(*metaspace, std::move(parts), is_first, budget);
    } else if (auto* split = std::get_if<pattern_split>(&step)) {
      parts = apply(*split, std::move(parts), budget);
    } else if (auto* digits = std::get_if<digits_step>(&step)) {
      parts = apply(*digits, std::move(parts));
    } else if (auto* groups = std::get_if<digit_groups_step>(&step)) {
      parts = apply(*groups, std::move(parts));
    } else {
      parts = apply(std::get<byte_mapping>(step), std::move(parts), budget);
    }
  }
  return parts;
}

split_text pre_tokenizer::apply(const pattern_split& split, split_text parts, text_budget& budget) {
  return with_each_piece_split(std::move(parts), [&](std::string_view piece) {
    return split_at(split.delimiter.matches(piece, budget), piece.size(), split.behavior, split.invert);
  });
}

split_text pre_tokenizer::apply(const digits_step& digits, split_text parts) {
  auto behavior = digits.individual ? split_behavior::isolated : split_behavior::contiguous;
  return with_each_piece_split(std::move(parts), [&](std::string_view piece) {
    return split_at(numeric_characters(piece), piece.size(), behavior, false);
  });
}

split_text pre_tokenizer::apply(const digit_groups_step& groups, split_text parts) {
  return with_each_piece_split(std::move(parts), [&](std::string_view piece) {
    return split_at(digit_groups(piece, groups), piece.size(), split_behavior::isolated, false);
  });
}

split_text pre_tokenizer::apply(const byte_mapping& mapping, split_text parts, text_budget& budget) {
  if (mapping.add_prefix_space) {
    parts = with_each_piece_rewritten(parts, budget, [](std::string& output, std::string_view piece, std::size_t) {
      if (!piece.starts_with(' ')) output += ' ';
      output += piece;
    });
  }
  for (const auto& split : mapping.splits) parts = apply(split, std::move(parts), budget);
  return with_each_piece_rewritten(
      parts, budget, [](std::string& output, std::string_view piece, std::size_t) { append_printable(output, piece); });
}

}  // namespace cogen::text
