#pragma once

#include <string_view>

/// Each reads a file of these bytes and everything in it. What a reader refuses with load_error is swallowed; anything
/// else comes through.
void read_as_gguf(std::string_view bytes);
void read_as_gguf_parts(std::string_view bytes);  // as the first of two parts, and as the second
void read_as_safetensors(std::string_view bytes);
void read_as_config(std::string_view bytes);
void read_as_shard_index(std::string_view bytes);  // beside the shards one.safetensors (a, b) and two.safetensors (c)

/// The bytes are the files beside the weights of a Hugging Face folder: a digit for the name, the contents, a zero.
void read_as_folder(std::string_view bytes);
