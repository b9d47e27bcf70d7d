#pragma once

#include "cogen/text/text_segment.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::text::jinja {

/// A text that remembers which of its bytes the template wrote (trusted) and which came from outside.
class traced_text {
 public:
  traced_text() = default;
  traced_text(std::string bytes, bool trusted) : bytes_(std::move(bytes)), first_is_trusted_(trusted) {}

  const std::string& bytes() const noexcept { return bytes_; }
  std::size_t size() const noexcept { return bytes_.size(); }
  bool empty() const noexcept { return bytes_.empty(); }

  /// Whether every byte is trusted; so it is in an empty text.
  bool is_trusted() const noexcept { return bytes_.empty() || (switches_.empty() && first_is_trusted_); }

  void append(const traced_text& more);
  void append(std::string_view bytes, bool trusted);
  traced_text part(std::size_t begin, std::size_t end) const;
  std::vector<text_segment> segments() const;

 private:
  bool ends_trusted() const noexcept { return first_is_trusted_ == (switches_.size() % 2 == 0); }

  std::string bytes_;
  /// Where trust changes, ascending, each above 0 and below the size.
  std::vector<std::size_t> switches_;
  bool first_is_trusted_ = true;
};

}  // namespace cogen::text::jinja
