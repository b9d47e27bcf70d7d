#pragma once

#include <string>
#include <string_view>

namespace cogen::load {

/// The GGUF name of a tensor that Llama has under this name in Transformers; the name itself where there is no other.
std::string gguf_name(std::string_view hugging_face_name);

/// Llama's name in Transformers of a GGUF tensor; the name itself where there is no other.
std::string hugging_face_name(std::string_view gguf_name);

/// Whose rows a GGUF tensor holds, or whose elements if it is a bias.
enum class gguf_rows { queries, keys, queries_keys_values, others };
gguf_rows rows_of(std::string_view gguf_name);

}  // namespace cogen::load
