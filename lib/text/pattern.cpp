#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/pattern.hpp"

#include "text/utf8.hpp"

#include <pcre2.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>

namespace cogen::text {
namespace {

constexpr std::uint32_t first_match_limit = 4096;
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
T* or_out_of_memory(T* made) {
  return made ? made : throw std::bad_alloc();
}

std::string error_text(int code) {
  PCRE2_UCHAR buffer[256];
  pcre2_get_error_message(code, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

struct pattern::compiled {
  std::string source;
  owned<pcre2_code> code;
};

namespace {

/// One walk over one text: owns what a single thread needs, and counts what failed attempts cost.
class walk {
 public:
  walk(const pcre2_code* code, std::string_view source, std::string_view text)
      : code_(code),
        source_(source),
        text_(text),
        data_(or_out_of_memory(pcre2_match_data_create(1, nullptr))),
        context_(or_out_of_memory(pcre2_match_context_create(nullptr))),
        steps_left_(std::uint64_t{last_match_limit} + 64 * std::uint64_t{text.size()}) {
    pcre2_set_heap_limit(context_.get(), heap_limit_kib);
    pcre2_set_depth_limit(context_.get(), depth_limit);
  }

  std::optional<range> next() {
    while (at_ <= text_.size()) {
      auto found = search(at_);
      if (!found) return std::nullopt;
      if (!found->empty() || found->end != last_end_) {
        at_ = found->end;
        last_end_ = found->end;
        return found;
      }
      at_ += at_ < text_.size() ? first_character(text_.substr(at_)).length : 1;
    }
    return std::nullopt;
  }

 private:
  std::optional<range> search(std::size_t from) {
    for (auto limit = first_match_limit;; limit = std::min(limit * 8, last_match_limit)) {
      pcre2_set_match_limit(context_.get(), limit);
      int rc = attempt(from);
      if (rc == PCRE2_ERROR_NOMATCH) return std::nullopt;
      if (rc >= 0) return matched();
      if (rc == PCRE2_ERROR_JIT_STACKLIMIT) {
        options_ |= PCRE2_NO_JIT;  // the interpreter keeps its stack on the heap
      } else if (rc == PCRE2_ERROR_MATCHLIMIT && limit < last_match_limit && limit <= steps_left_) {
        steps_left_ -= limit;
      } else {
        fail(rc, from);
      }
    }
  }

  int attempt(std::size_t from) {
    return pcre2_match(code_, units(text_), text_.size(), from, options_, data_.get(), context_.get());
  }

  range matched() const {
    auto* bounds = pcre2_get_ovector_pointer(data_.get());
    auto begin = std::min<std::size_t>(bounds[0], bounds[1]);
    return {begin, bounds[1]};
  }

  [[noreturn]] void fail(int rc, std::size_t from) const {
    throw std::runtime_error("pattern \"" + std::string(source_) + "\" gave up at byte " + std::to_string(from) +
                             " of a text of " + std::to_string(text_.size()) + ": " + error_text(rc));
  }

  const pcre2_code* code_;
  std::string_view source_;
  std::string_view text_;
  owned<pcre2_match_data> data_;
  owned<pcre2_match_context> context_;
  std::uint32_t options_ = PCRE2_NO_UTF_CHECK;
  std::size_t at_ = 0;
  std::optional<std::size_t> last_end_;  // of the match before
  std::uint64_t steps_left_;
};

owned<pcre2_code> compile(std::string_view source) {
  auto spelled = pcre_spelling(source);
  int error = 0;
  std::size_t offset = 0;
  constexpr std::uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
  owned<pcre2_code> code(pcre2_compile(units(spelled), spelled.size(), options, &error, &offset, nullptr));
  if (!code) {
    throw std::invalid_argument("pattern \"" + std::string(source) + "\" is malformed: " + error_text(error) +
                                " near offset " + std::to_string(offset));
  }
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
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
  std::vector<range> found;
  if (text.empty()) return found;
  walk steps(compiled_->code.get(), compiled_->source, text);
  while (auto match = steps.next()) found.push_back(*match);
  return found;
}

}  // namespace cogen::text
