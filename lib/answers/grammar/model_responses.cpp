#include "answers/grammar/model_responses.hpp"

#include "answers/grammar/backend.hpp"
#include "answers/grammar/call_grammar.hpp"
#include "answers/grammar/grammar_error.hpp"
#include "answers/response/control_tokens.hpp"
#include "answers/response/response_template.hpp"
#include "formats/json/member.hpp"
#include "formats/json/printable.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace cogen::grammar {
namespace {

using choice_kind = tool_choice::kind;

std::string_view name_of(const boost::json::value& tool) { return tool.at("function").at("name").as_string(); }

/// The tools of which one has to be called.
boost::json::array callable(const boost::json::array& tools, const tool_choice& choice) {
  if (choice.type != choice_kind::function) return tools;
  boost::json::array chosen;
  for (const auto& each : tools)
    if (name_of(each) == choice.name) chosen.push_back(each);
  return chosen;
}

bool is_strict(const boost::json::value& tool) {
  const auto* strict = cogen::json::member(tool.at("function"), "strict");
  return strict && *strict == true;
}

bool requires_call(const tool_choice& choice) {
  return choice.type == choice_kind::required || choice.type == choice_kind::function;
}

}  // namespace

model_responses::model_responses(std::shared_ptr<const text::tokenizer> tokens) : tokens_(std::move(tokens)) {
  if (!tokens_) return;
  try {
    syntax_ = response::syntax_of(*tokens_);
  } catch (const std::invalid_argument& error) {
    error_ = error.what();
  }
  controls_ = response::control_tokens_of(syntax_, *tokens_);
  for (const auto& each : controls_) control_ids_.push_back(each.second);
}

guided_response model_responses::guide_of(const demands& request, compiler& grammars) const {
  check(request);
  auto [answer, loosened] = request.answer;
  const bool must_call = !answer && requires_call(request.choice),
             may_call = !answer && !must_call && !request.tools.empty();
  response_rules rules{.in_reasoning = response::ends_in_reasoning(syntax_, request.prompt_ending),
                       .reasoning_budget = syntax_.reasoning ? request.reasoning_budget : std::nullopt,
                       .forbids_calls = may_call && request.choice.type == choice_kind::none};
  if (must_call || (may_call && !rules.forbids_calls && has_backend())) {
    auto calls = calls_of(request, must_call, grammars);
    loosened.assign(calls->loosened().begin(), calls->loosened().end());
    if (must_call)
      answer = calls->start();
    else
      rules.calls = std::move(calls);
  }
  if (answer && !syntax_.reasoning) return {std::move(answer), std::move(loosened)};
  if (!answer && !rules.calls && !rules.forbids_calls && !rules.reasoning_budget) return {};
  if (answer) rules.answer = answer->clone();
  return {guide_response(marks(), std::move(rules)), std::move(loosened)};
}

std::shared_ptr<const compiled_grammar> model_responses::calls_of(const demands& request, bool must_call,
                                                                  compiler& grammars) const {
  const auto tools = callable(request.tools, request.choice);
  call_rules wanted{.several = request.choice.type != choice_kind::function && request.parallel_calls,
                    .required = must_call};
  const auto write = [&] { return grammar_of_calls(*syntax_.calls, tools, controls_, wanted); };
  try {
    return grammars.compile_rules(write, request.client);
  } catch (const grammar_error&) {
    if (std::ranges::all_of(tools, is_strict)) throw;
  }
  wanted.any_arguments = true;  // since all schemas together may exceed a limit
  return grammars.compile_rules(write, request.client);
}

void model_responses::check(const demands& request) const {
  const bool asks = !request.tools.empty() || request.reasoning_budget;
  if (asks && !error_.empty()) throw std::invalid_argument("the model's responses are not understood: " + error_);
  if (!request.tools.empty() && !syntax_.calls)
    throw std::invalid_argument("the request has tools, and the model's response_template has no tool_calls");
  if (!requires_call(request.choice)) return;
  if (request.answer.start) throw std::invalid_argument("tool_choice requires a call, which response_format excludes");
  if (callable(request.tools, request.choice).empty())
    throw std::invalid_argument(request.tools.empty()
                                    ? "tool_choice requires a call, and there are no tools"
                                    : "tool_choice names the function " + cogen::json::in_quotes(request.choice.name) +
                                          ", which no tool has");
}

std::shared_ptr<const response_marks> model_responses::marks() const {
  std::call_once(made_marks_, [this] { marks_ = std::make_shared<const response_marks>(make_marks()); });
  return marks_;
}

response_marks model_responses::make_marks() const {
  response_marks result{.tokens = tokens_, .ends = {tokens_->eos().begin(), tokens_->eos().end()}};
  auto openings = syntax_.calls ? call_triggers(*syntax_.calls) : std::vector<std::string>();
  result.calls = openings.size();
  if (const auto& reasoning = syntax_.reasoning) {
    const auto& open = reasoning->open.front().text;
    const auto& close = reasoning->close.front().text;
    openings.push_back(open);
    result.reasoning_end = std::make_shared<text_trigger>(std::vector{close}, *tokens_, controls_);
    result.reasoning_close = tokens_->encode(close, {.parse_special = true});
    if (const auto ids = tokens_->encode(open, {.parse_special = true}); ids.size() == 1)
      result.reasoning_open = ids.front();
  }
  result.openings = std::make_shared<text_trigger>(std::move(openings), *tokens_, controls_);
  return result;
}

}  // namespace cogen::grammar
