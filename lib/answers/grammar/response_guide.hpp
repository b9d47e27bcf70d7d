#pragma once

#include "answers/grammar/compiled_grammar.hpp"
#include "answers/grammar/text_trigger.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cogen::grammar {

/// What guides of one model's responses look for. Immutable, and shared by them.
struct response_marks {
  std::shared_ptr<const text::tokenizer> tokens = {};      ///< what they are made for
  std::shared_ptr<const text_trigger> openings = {};       ///< of calls, then of the reasoning, which is the last one
  std::size_t calls = 0;                                   ///< how many of them open calls
  std::optional<token> reasoning_open = {};                ///< if one token opens the reasoning
  std::shared_ptr<const text_trigger> reasoning_end = {};  ///< null: the model writes no reasoning
  std::vector<token> reasoning_close = {};                 ///< the tokens that end it
  std::vector<token> ends = {};                            ///< that end a response
};

/// What one response has to look like.
struct response_rules {
  bool in_reasoning = false;                                ///< the prompt ends within the reasoning
  std::optional<int> reasoning_budget = {};                 ///< tokens of reasoning at most
  bool forbids_calls = false;                               ///< otherwise those of `calls` may come
  std::shared_ptr<const compiled_grammar> calls = nullptr;  ///< null: any text
  std::unique_ptr<guide> answer = nullptr;                  ///< of all that follows the reasoning; null: free text
};

/// A guide of a whole response: of its reasoning, up to its budget, then of its answer, which is constrained by another
/// guide, or is free text in which calls are constrained from where they begin to their end.
std::unique_ptr<guide> guide_response(std::shared_ptr<const response_marks> marks, response_rules rules);

}  // namespace cogen::grammar
