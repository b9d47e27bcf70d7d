#pragma once

#include <cogen/token.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cogen::text {

/// A GGUF file's tokenizer: the values under "tokenizer.". What a file leaves out is empty.
struct gguf_vocabulary {
  std::string model = {}, pre = {}, precompiled_charsmap = {};
  std::vector<std::string> tokens = {};  ///< in order of id, in the model's own alphabet
  std::vector<std::int32_t> token_types =
      {};  ///< per token: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
  std::vector<std::string> merges = {};  ///< "left right", best first
  std::vector<float> scores = {};        ///< per token
  std::optional<token> bos = {}, eos = {}, eot = {}, eom = {}, unknown = {}, cls = {}, separator = {};
  std::optional<bool> add_bos = {}, add_eos = {}, add_space_prefix = {};
  std::optional<bool> remove_extra_whitespaces = {}, lowercase = {}, strip_accents = {};
  std::optional<std::string> chat_template = {};
};

}  // namespace cogen::text
