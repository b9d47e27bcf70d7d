#define PCRE2_CODE_UNIT_WIDTH 8
#include "formats/text/pattern.hpp"

#include "formats/text/utf8.hpp"

#include <pcre2.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>

namespace cogen::text {
namespace {

constexpr std::uint32_t first_match_limit = 64;
constexpr std::uint32_t last_match_limit = 1u << 26;
constexpr std::uint32_t heap_limit_kib = 256 * 1024;
constexpr std::uint32_t depth_limit = 10'000'000;

struct release {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

template <typename T>
using owned = std::unique_ptr<T, release>;

template <typename T>
T* or_out_of_memory(T* pointer) {
  return pointer ? pointer : throw std::bad_alloc();
}

std::string error_text(int code) {
  PCRE2_UCHAR buffer[256];
  pcre2_get_error_message(code, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

/// Why a search has ended that has not come to its end.
std::string_view reason_of(int code) {
  switch (code) {
    case PCRE2_ERROR_MATCHLIMIT:
    case PCRE2_ERROR_DEPTHLIMIT:
      return "it takes more steps than a match may";
    case PCRE2_ERROR_HEAPLIMIT:
    case PCRE2_ERROR_NOMEMORY:
      return "it takes more memory than a match may";
    default:
      return "the text cannot be searched";
  }
}

/// As a message shows a pattern.
std::string shortened(std::string_view source) {
  constexpr std::size_t most = 200;
  if (source.size() <= most) return std::string(source);
  return std::string(source.substr(0, complete_length(source.substr(0, most)))) + " ...";
}

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

struct pattern::compiled {
  std::string source;
  owned<pcre2_code> code;
};

namespace {

/// What one attempt may see of the text, and the steps that it may take from one place.
struct effort {
  std::size_t view = 256;
  std::uint32_t limit = first_match_limit;

  bool is_least() const { return view == effort{}.view && limit == first_match_limit; }
  std::size_t cost_of_place() const { return view + limit; }
  /// As many as make the cost of an attempt that of a few short ones.
  std::size_t places() const { return std::max<std::size_t>(1, (std::size_t{1} << 16) / cost_of_place()); }
};

/// One walk over one text: owns what a single thread needs, and accounts for what attempts cost. PCRE2 limits the steps
/// from each place alone, and does not count those of the simplest loops. So an attempt sees little of the text at
/// first, and more of it where a match might reach to the end of what it sees.
class walk {
 public:
  walk(const pcre2_code* code, std::string_view source, std::string_view text, text_budget& budget)
      : code_(code),
        source_(source),
        text_(text),
        budget_(budget),
        data_(or_out_of_memory(pcre2_match_data_create(1, nullptr))),
        context_(or_out_of_memory(pcre2_match_context_create(nullptr))) {
    pcre2_set_heap_limit(context_.get(), heap_limit_kib);
    pcre2_set_depth_limit(context_.get(), depth_limit);
  }

  std::optional<range> next() {
    while (position_ <= text_.size()) {
      auto found = search(position_);
      if (!found) return std::nullopt;
      if (!found->empty() || found->end != last_end_) {
        position_ = found->end;
        last_end_ = found->end;
        return found;
      }
      position_ += position_ < text_.size() ? first_character(text_.substr(position_)).length : 1;
    }
    return std::nullopt;
  }

 private:
  std::optional<range> search(std::size_t start) {
    for (effort now;;) {
      const auto end = now.view < text_.size() - start ? character_before(text_, start + now.view) : text_.size();
      const auto last = std::min(start + now.places(), end < text_.size() ? end : end + 1) - 1;
      const int rc = attempt(start, last, end, now.limit);
      if (rc >= 0) {
        spend(now, std::max(start, matched().begin) - start);
        return matched();
      }
      if (rc == PCRE2_ERROR_NOMATCH) {
        spend(now, last - start);
        if (last == text_.size()) return std::nullopt;
        start = last + 1;
        while (start < text_.size() && !begins_character(text_[start])) ++start;
        now = {};
      } else if (rc == PCRE2_ERROR_PARTIAL) {
        const auto begin = std::max<std::size_t>(start, pcre2_get_ovector_pointer(data_.get())[0]);
        spend(now, begin - start);
        now = begin > start ? effort{} : effort{4 * now.view, now.limit};
        start = begin;
      } else if (rc == PCRE2_ERROR_JIT_STACKLIMIT) {
        options_ |= PCRE2_NO_JIT;  // the interpreter keeps its stack on the heap
      } else if (rc == PCRE2_ERROR_MATCHLIMIT && now.limit < last_match_limit) {
        spend(now, 0);
        now.limit = std::min(now.limit * 8, last_match_limit);
      } else {
        fail(rc, start);
      }
    }
  }

  /// A match begins from the first to the last place, and sees the text to its end only if that is the text's own.
  int attempt(std::size_t start, std::size_t last, std::size_t end, std::uint32_t limit) {
    pcre2_set_match_limit(context_.get(), limit);
    pcre2_set_offset_limit(context_.get(), last);
    const auto options = options_ | (end < text_.size() ? PCRE2_PARTIAL_HARD : 0U);
    return pcre2_match(code_, units(text_), end, start, options, data_.get(), context_.get());
  }

  void spend(effort spent, std::size_t places) {
    budget_.spend(spent.is_least() ? places : (places + 1) * std::uint64_t{spent.cost_of_place()});
  }

  range matched() const {
    auto* bounds = pcre2_get_ovector_pointer(data_.get());
    auto begin = std::min<std::size_t>(bounds[0], bounds[1]);
    return {begin, bounds[1]};
  }

  [[noreturn]] void fail(int rc, std::size_t start) const {
    throw std::runtime_error("pattern \"" + shortened(source_) + "\" gave up at byte " + std::to_string(start) +
                             " of a text of " + std::to_string(text_.size()) + ": " + std::string(reason_of(rc)));
  }

  const pcre2_code* code_;
  std::string_view source_;
  std::string_view text_;
  text_budget& budget_;
  owned<pcre2_match_data> data_;
  owned<pcre2_match_context> context_;
  std::uint32_t options_ = PCRE2_NO_UTF_CHECK;
  std::size_t position_ = 0;
  std::optional<std::size_t> last_end_;  // of the match before
};

owned<pcre2_code> compile(std::string_view source) {
  auto spelled = pcre_spelling(source);
  int error = 0;
  std::size_t offset = 0;
  constexpr std::uint32_t options =
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT;
  owned<pcre2_code> code(pcre2_compile(units(spelled), spelled.size(), options, &error, &offset, nullptr));
  if (!code) {
    throw std::invalid_argument("pattern \"" + shortened(source) + "\" is malformed: " + error_text(error) +
                                " near offset " + std::to_string(offset));
  }
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
  return code;
}

}  // namespace

pattern::pattern(std::string_view source) {
  if (source.size() > max_source_bytes) {
    throw std::invalid_argument("a pattern of " + std::to_string(source.size()) + " bytes exceeds the limit of " +
                                std::to_string(max_source_bytes));
  }
  compiled_ = std::make_shared<const compiled>(compiled{std::string(source), compile(source)});
}

std::vector<range> pattern::matches(std::string_view text) const {
  text_budget budget(text.size());
  return matches(text, budget);
}

std::vector<range> pattern::matches(std::string_view text, text_budget& budget) const {
  std::vector<range> found;
  if (text.empty()) return found;
  walk steps(compiled_->code.get(), compiled_->source, text, budget);
  while (auto match = steps.next()) found.push_back(*match);
  return found;
}

}  // namespace cogen::text
