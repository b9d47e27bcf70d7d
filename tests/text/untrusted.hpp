#pragma once

#include <string_view>

// Each feeds bytes from anywhere to a part of the text folder. What it refuses with one of its documented exceptions is
// swallowed; anything else comes through, and std::logic_error where two ways to the same result differ.

/// The bytes are a tokenizer.json; what it makes of some texts must be consistent.
void use_as_tokenizer(std::string_view bytes);

/// The bytes are a precompiled table of replacements; what it makes of some texts must be valid UTF-8.
void use_as_charsmap(std::string_view bytes);

/// The bytes are a text for a small tokenizer with added tokens of every kind.
void use_as_text(std::string_view bytes);

/// The bytes choose the steps of a tokenizer and what they work with; the rest, after a zero, is its text.
void use_as_steps(std::string_view bytes);

/// The bytes are the vocabulary of a GGUF file, in lines of one field each.
void use_as_gguf_vocabulary(std::string_view bytes);

/// The bytes are a chat template, and after a zero the object of its variables, rendered for a short chat with tools.
void use_as_template(std::string_view bytes);

/// The first line is a pattern, the rest the text it is matched in.
void use_as_pattern(std::string_view bytes);

/// Lines up to an empty one are stop strings, the rest a text that comes in pieces.
void use_as_stop_strings(std::string_view bytes);
