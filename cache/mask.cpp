#include <cogen/detail/cache/mask.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::cache {
namespace {

void check_at_least(std::int64_t least, const char* name, std::int64_t value) {
  if (value < least)
    throw std::invalid_argument(std::string("mask: ") + name + " is " + std::to_string(value) + ", below " +
                                std::to_string(least));
}

void check_not_negative(const char* name, std::int64_t value) { check_at_least(0, name, value); }

/// The number of the last of `begins` (ascending) that is not after `position`; -1 where all are.
std::ptrdiff_t number_in(const std::vector<std::int64_t>& begins, std::int64_t position) {
  return std::upper_bound(begins.begin(), begins.end(), position) - begins.begin() - 1;
}

mask ahead(std::int64_t window) {
  return mask([window](std::int64_t q, std::int64_t kv) { return kv < q + window; });
}

}  // namespace

mask::mask(rule span) : span_(std::move(span)) {
  if (!span_) throw std::invalid_argument("mask: the rule is empty");
}

mask operator&(mask a, mask b) {
  return mask([a = std::move(a), b = std::move(b)](std::int64_t q, std::int64_t kv) { return a(q, kv) && b(q, kv); });
}

mask operator|(mask a, mask b) {
  return mask([a = std::move(a), b = std::move(b)](std::int64_t q, std::int64_t kv) { return a(q, kv) || b(q, kv); });
}

mask causal() {
  return mask([](std::int64_t q, std::int64_t kv) { return kv <= q; });
}

mask bidirectional() {
  return mask([](std::int64_t, std::int64_t) { return true; });
}

mask sliding(std::int64_t window) {
  check_at_least(1, "the window", window);
  return mask([window](std::int64_t q, std::int64_t kv) { return kv > q - window; });
}

mask chunked(std::int64_t chunk) {
  check_at_least(1, "the chunk", chunk);
  return mask([chunk](std::int64_t q, std::int64_t kv) { return q / chunk == kv / chunk; });
}

mask sinks(std::int64_t count) {
  check_not_negative("the number of sinks", count);
  return mask([count](std::int64_t, std::int64_t kv) { return kv < count; });
}

mask padding(std::int64_t count) {
  check_not_negative("the padding", count);
  return mask([count](std::int64_t, std::int64_t kv) { return kv >= count; });
}

mask varlen(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int64_t> begins{0};
  for (const std::int64_t length : lengths) {
    check_not_negative("the length of a packed sequence", length);
    begins.push_back(begins.back() + length);
  }
  return mask([begins = std::move(begins)](std::int64_t q, std::int64_t kv) {
    return q < begins.back() && number_in(begins, q) == number_in(begins, kv);
  });
}

mask within_blocks(const std::vector<std::pair<std::int64_t, std::int64_t>>& blocks) {
  for (const auto& [begin, end] : blocks) check_at_least(begin, "the end of a block", end);
  return mask([blocks](std::int64_t q, std::int64_t kv) {
    return std::any_of(blocks.begin(), blocks.end(), [&](const auto& block) {
      return block.first <= std::min(q, kv) && std::max(q, kv) < block.second;
    });
  });
}

mask rule_of(const attention_span& span) {
  mask rule = bidirectional();
  if (span.window > 0) rule = std::move(rule) & sliding(span.window) & ahead(span.window);
  if (span.chunk > 0) rule = std::move(rule) & chunked(span.chunk);
  if (span.sinks > 0) rule = std::move(rule) | sinks(span.sinks);
  return span.causal ? causal() & std::move(rule) : rule;
}

}  // namespace cogen::cache
