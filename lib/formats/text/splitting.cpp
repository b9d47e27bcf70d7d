#include "formats/text/splitting.hpp"

#include <algorithm>

namespace cogen::text {
namespace {

struct part {
  range where;
  bool is_match;
};

std::vector<part> parts_of(const std::vector<range>& matches, std::size_t size, bool invert) {
  std::vector<part> parts;
  parts.reserve(2 * matches.size() + 1);
  std::size_t end = 0;
  for (auto match : matches) {
    if (end < match.begin) parts.push_back({{end, match.begin}, invert});
    parts.push_back({match, !invert});
    end = match.end;
  }
  if (end < size) parts.push_back({{end, size}, invert});
  return parts;
}

std::vector<range> without_matches(const std::vector<part>& parts) {
  std::vector<range> pieces;
  for (const auto& part : parts) {
    if (!part.is_match) pieces.push_back(part.where);
  }
  return pieces;
}

std::vector<range> ranges_of(const std::vector<part>& parts) {
  std::vector<range> pieces;
  pieces.reserve(parts.size());
  for (const auto& part : parts) pieces.push_back(part.where);
  return pieces;
}

std::vector<range> runs(const std::vector<part>& parts) {
  std::vector<range> pieces;
  bool previous = false;
  for (const auto& part : parts) {
    if (part.is_match == previous && !pieces.empty()) {
      pieces.back().end = part.where.end;
    } else {
      pieces.push_back(part.where);
    }
    previous = part.is_match;
  }
  return pieces;
}

std::vector<range> merged_with_previous(const std::vector<part>& parts) {
  std::vector<range> pieces;
  bool previous = false;
  for (const auto& part : parts) {
    if (part.is_match && !previous && !pieces.empty()) {
      pieces.back().end = part.where.end;
    } else {
      pieces.push_back(part.where);
    }
    previous = part.is_match;
  }
  return pieces;
}

std::vector<range> merged_with_next(const std::vector<part>& parts) {
  std::vector<range> pieces;
  bool next = false;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (part->is_match && !next && !pieces.empty()) {
      pieces.back().begin = part->where.begin;
    } else {
      pieces.push_back(part->where);
    }
    next = part->is_match;
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

std::vector<range> pieces_of(const std::vector<part>& parts, split_behavior behavior) {
  switch (behavior) {
    case split_behavior::removed:
      return without_matches(parts);
    case split_behavior::merged_with_previous:
      return merged_with_previous(parts);
    case split_behavior::merged_with_next:
      return merged_with_next(parts);
    case split_behavior::contiguous:
      return runs(parts);
    case split_behavior::isolated:
      break;
  }
  return ranges_of(parts);
}

}  // namespace

std::vector<range> split_at(const std::vector<range>& matches, std::size_t size, split_behavior behavior, bool invert) {
  auto pieces = pieces_of(parts_of(matches, size, invert), behavior);
  std::erase_if(pieces, [](const range& piece) { return piece.empty(); });
  return pieces;
}

}  // namespace cogen::text
