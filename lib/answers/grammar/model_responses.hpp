#pragma once

#include "answers/grammar/compiler.hpp"
#include "answers/grammar/response_guide.hpp"
#include "answers/response/response_syntax.hpp"

#include <cogen/response_format.hpp>
#include <cogen/tool_call.hpp>

#include <boost/json/array.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::grammar {

/// A guide at the beginning of a response.
struct guided_response {
  std::shared_ptr<const guide> start = nullptr;  ///< null: anything may come
  std::vector<loosened_keyword> loosened = {};   ///< of its schemas, what it does not keep
};

/// How one model writes its responses, for their readers and guides. Thread-safe.
class model_responses {
 public:
  /// What a request asks of a response.
  struct demands {
    const boost::json::array& tools;
    const tool_choice& choice;
    bool parallel_calls;
    std::optional<int> reasoning_budget;
    std::string_view prompt_ending;  ///< what the chat template wrote after the last message
    guided_response answer;          ///< of the answer, at its beginning
    const format_client& client;
  };

  /// Reads the tokenizer's response_template, or else its chat template. Without a tokenizer responses have no parts.
  explicit model_responses(std::shared_ptr<const text::tokenizer> tokens);

  const response::response_syntax& syntax() const noexcept { return syntax_; }

  /// The control tokens that are a part of some delimiter.
  std::span<const token> control_tokens() const noexcept { return control_ids_; }

  /// What guides a response. Calls of tools are constrained unless this build cannot compile grammars, and the model
  /// need not call any. Throws std::invalid_argument, naming what cannot be kept.
  guided_response guide_of(const demands& request, compiler& grammars) const;

 private:
  std::shared_ptr<const compiled_grammar> calls_of(const demands& request, bool must_call, compiler& grammars) const;
  void check(const demands& request) const;
  std::shared_ptr<const response_marks> marks() const;
  response_marks make_marks() const;

  std::shared_ptr<const text::tokenizer> tokens_;
  response::response_syntax syntax_;
  std::string error_;  // of the response_template
  text_trigger::control_tokens controls_;
  std::vector<token> control_ids_;
  mutable std::once_flag made_marks_;
  mutable std::shared_ptr<const response_marks> marks_;
};

}  // namespace cogen::grammar
