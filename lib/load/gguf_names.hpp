#pragma once

#include <string>
#include <string_view>

namespace cogen::load {

/// The GGUF name of a Hugging Face tensor name; the name itself where there is no other.
std::string gguf_name(std::string_view hugging_face_name);

/// The Hugging Face name of a GGUF tensor name; the name itself where there is no other.
std::string hugging_face_name(std::string_view gguf_name);

/// Which heads' rows a GGUF tensor keeps interleaved (pairs that rotate together stand side by side).
enum class interleaved_heads { none, query, key_value };
interleaved_heads interleaved_heads_of(std::string_view architecture, std::string_view gguf_name);

}  // namespace cogen::load
