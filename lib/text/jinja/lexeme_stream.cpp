#include "text/jinja/lexeme_stream.hpp"

#include "cogen/text/chat_template.hpp"

namespace cogen::text::jinja {

lexeme lexeme_stream::take() {
  auto taken = now();
  if (!at_end()) ++at_;
  return taken;
}

bool lexeme_stream::take_symbol(std::string_view symbol) {
  if (!is_symbol(symbol)) return false;
  take();
  return true;
}

bool lexeme_stream::take_name(std::string_view name) {
  if (!is_name(name)) return false;
  take();
  return true;
}

lexeme lexeme_stream::expect(lexeme_kind kind, std::string_view description) {
  if (!is(kind)) refuse(description);
  return take();
}

void lexeme_stream::expect_symbol(std::string_view symbol) {
  if (!take_symbol(symbol)) refuse("'" + std::string(symbol) + "'");
}

void lexeme_stream::expect_name(std::string_view name) {
  if (!take_name(name)) refuse("'" + std::string(name) + "'");
}

void lexeme_stream::refuse(std::string_view expected) const {
  throw template_error("expected " + std::string(expected) + ", found " + description_of(now()), line());
}

std::string description_of(const lexeme& what) {
  switch (what.kind) {
    case lexeme_kind::data:
      return "text";
    case lexeme_kind::statement_begin:
      return "'{%'";
    case lexeme_kind::statement_end:
      return "'%}'";
    case lexeme_kind::output_begin:
      return "'{{'";
    case lexeme_kind::output_end:
      return "'}}'";
    case lexeme_kind::string:
      return "a string";
    case lexeme_kind::end:
      return "the end of the template";
    default:
      return "'" + what.text + "'";
  }
}

}  // namespace cogen::text::jinja
