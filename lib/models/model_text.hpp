#pragma once

#include <cogen/load/checkpoint.hpp>
#include <cogen/text/chat_template.hpp>
#include <cogen/text/tokenizer.hpp>

#include <memory>

namespace cogen::models {

/// The checkpoint's tokenizer, or null where it was stored without one.
/// Throws load::load_error or std::invalid_argument where it has one that cannot be understood.
std::unique_ptr<const text::tokenizer> make_tokenizer(const load::checkpoint& files, const load::model_config& config);

/// The tokenizer's chat template, or null where it has none. Throws load::load_error for one that is malformed or uses
/// what is not known.
std::unique_ptr<const text::chat_template> make_chat_template(const text::tokenizer* tokenizer);

}  // namespace cogen::models
