#pragma once

#include "answers/grammar/compiler.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::grammar {

/// All bytes, some longer tokens that grammars cut through, and two control tokens: `<s>` and `<end>`, which ends a
/// text.
const text::tokenizer& small_vocabulary();
std::shared_ptr<const text::tokenizer> shared_vocabulary();
token end_token();

/// One compiler of that vocabulary, for formats that no test compiles to look at the compiler.
std::shared_ptr<const compiled_grammar> compiled(const response_format& format);

/// Whether the bytes of a text, one by one, are a whole text of the format.
bool accepts(const compiled_grammar& grammar, std::string_view text);
bool accepts(const response_format& format, std::string_view text);

/// Tests that a JSON schema accepts some texts, and others not.
void check(const char* schema, std::initializer_list<const char*> accepted,
           std::initializer_list<const char*> rejected);

/// The tokens that allow() allows, ascending.
std::vector<token> allowed(guide& place, const text::tokenizer& tokens = small_vocabulary());

/// What allow() has to say, by trying each token.
std::vector<token> allowed_by_trying(const guide& place, const text::tokenizer& tokens = small_vocabulary());

/// Goes on by a token for each byte.
void accept_bytes(guide& place, std::string_view text);

/// What the compiler says of a format it refuses; empty if it compiles it.
std::string refusal(const response_format& format, const structured_output_options& options = {});

/// Tests that it says one sentence, which names what is wrong.
void check_refusal(const response_format& format, std::string_view named);

}  // namespace cogen::grammar
