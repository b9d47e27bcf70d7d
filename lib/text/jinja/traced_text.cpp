#include "text/jinja/traced_text.hpp"

#include <algorithm>

namespace cogen::text::jinja {

void traced_text::append(const traced_text& more) {
  auto trusted = more.first_is_trusted_;
  std::size_t begin = 0;
  for (auto at : more.switches_) {
    append(std::string_view(more.bytes_).substr(begin, at - begin), trusted);
    begin = at;
    trusted = !trusted;
  }
  append(std::string_view(more.bytes_).substr(begin), trusted);
}

void traced_text::append(std::string_view bytes, bool trusted) {
  if (bytes.empty()) return;
  if (bytes_.empty()) {
    first_is_trusted_ = trusted;
  } else if (ends_trusted() != trusted) {
    switches_.push_back(bytes_.size());
  }
  bytes_ += bytes;
}

traced_text traced_text::part(std::size_t begin, std::size_t end) const {
  auto first = std::upper_bound(switches_.begin(), switches_.end(), begin);
  auto last = std::lower_bound(first, switches_.end(), end);
  bool trusted = first_is_trusted_ == ((first - switches_.begin()) % 2 == 0);
  traced_text result(bytes_.substr(begin, end - begin), trusted);
  for (auto at = first; at != last; ++at) result.switches_.push_back(*at - begin);
  return result;
}

std::vector<text_segment> traced_text::segments() const {
  std::vector<text_segment> result;
  auto trusted = first_is_trusted_;
  std::size_t begin = 0;
  for (auto at : switches_) {
    result.push_back({bytes_.substr(begin, at - begin), trusted});
    begin = at;
    trusted = !trusted;
  }
  if (begin < bytes_.size()) result.push_back({bytes_.substr(begin), trusted});
  return result;
}

}  // namespace cogen::text::jinja
