#include "formats/text/graphemes.hpp"

#include "formats/text/utf8.hpp"

#include <utf8proc.h>

namespace cogen::text {

std::size_t first_grapheme(std::string_view text) noexcept {
  auto character = first_character(text);
  std::size_t end = character.length;
  utf8proc_int32_t state = 0;
  while (end < text.size()) {
    auto next = first_character(text.substr(end));
    if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(character.code_point),
                                         static_cast<utf8proc_int32_t>(next.code_point), &state)) {
      break;
    }
    end += next.length;
    character = next;
  }
  return end;
}

}  // namespace cogen::text
