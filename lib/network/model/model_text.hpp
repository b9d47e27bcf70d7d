#pragma once

#include "network/model/text_cut.hpp"

#include <cogen/load/checkpoint.hpp>
#include <cogen/text/chat_template.hpp>
#include <cogen/text/tokenizer.hpp>

#include <memory>
#include <optional>
#include <string>

namespace cogen::nn {

/// The tokenizer and the chat template of a model.
struct model_text {
  std::unique_ptr<const text::tokenizer> tokenizer;  // null: it was stored without one
  std::unique_ptr<const text::chat_template> chat;   // null: it has none, or an unsupported one
  std::string chat_error;                            // what is unsupported
  std::optional<text_cut> pair_cut = {};             // of pairs that are scored
  std::optional<text_cut> cut = {};                  // of texts, where the folder is one of Sentence Transformers
  std::string prompt = {};                           // before each text
};

/// `chat_template`: instead of the model's own. Throws load::load_error or std::invalid_argument for an
/// unsupported tokenizer.
model_text read_text(const load::checkpoint& files, const load::model_config& config,
                     const std::optional<std::string>& chat_template);

}  // namespace cogen::nn
