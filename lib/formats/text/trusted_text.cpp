#include "formats/text/trusted_text.hpp"

#include "formats/text/utf8.hpp"

#include <algorithm>

namespace cogen::text {

trusted_text::trusted_text(std::span<const text_segment> segments) {
  for (const auto& segment : segments) {
    auto begin = text_.size();
    text_ += is_utf8(segment.text) ? segment.text : repaired_utf8(segment.text);
    if (!segment.trusted || begin == text_.size()) continue;
    if (!trusted_.empty() && trusted_.back().end == begin) {
      trusted_.back().end = text_.size();
    } else {
      trusted_.push_back({begin, text_.size()});
    }
  }
}

bool trusted_text::is_trusted(range part) const noexcept {
  auto after = std::upper_bound(trusted_.begin(), trusted_.end(), part.begin,
                                [](std::size_t begin, range candidate) { return begin < candidate.begin; });
  return after != trusted_.begin() && part.end <= std::prev(after)->end;
}

}  // namespace cogen::text
