#pragma once

#include "formats/text/tokenizer_spec.hpp"

#include <cogen/text/tokenizer.hpp>

#include <string>
#include <utility>
#include <vector>

using merge_list = std::vector<std::pair<std::string, std::string>>;

/// All bytes, these merges, and these control tokens; no split before the bytes are mapped.
cogen::text::tokenizer_spec small_spec(const merge_list& merges, const std::vector<std::string>& special = {});
cogen::text::tokenizer small_tokenizer(const merge_list& merges, const std::vector<std::string>& special = {});

/// The specification of byte-pair encoding, step by step.
std::vector<cogen::token> naive_merges(const cogen::text::tokenizer& tokens, const std::string& text,
                                       const merge_list& merges);
