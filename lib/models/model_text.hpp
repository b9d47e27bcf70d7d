#pragma once

#include <cogen/load/checkpoint.hpp>
#include <cogen/text/chat_template.hpp>
#include <cogen/text/tokenizer.hpp>

#include <memory>
#include <string>

namespace cogen::models {

/// How a model reads and writes text.
struct model_text {
  std::unique_ptr<const text::tokenizer> tokenizer;  // null: it was stored without one
  std::unique_ptr<const text::chat_template> chat;   // null: it brings none, or one that is not understood
  std::string chat_error;                            // what is not understood
};

/// Throws load::load_error or std::invalid_argument for a tokenizer that cannot be understood.
model_text read_text(const load::checkpoint& files, const load::model_config& config);

}  // namespace cogen::models
