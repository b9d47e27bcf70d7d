#include "answers/response/reader.hpp"

#include <utility>

namespace cogen::response {

reader::reader(const response_syntax& syntax, const parameter_types& types, options settings)
    : syntax_(&syntax),
      types_(&types),
      reads_calls_(settings.reads_calls && syntax.calls),
      parallel_calls_(settings.parallel_calls) {
  if (settings.in_reasoning && syntax.reasoning)
    go_to(place::reasoning);
  else
    go_to(place::text, false);
}

response_delta reader::push(std::string_view text) {
  take(text);
  flush();
  delta_.tool_calls = calls_.take();
  return std::exchange(delta_, {});
}

response_delta reader::finish(std::string_view last) {
  take(last);
  flush();
  if (call_ && !is_over()) call_->finish(calls_);
  (place_ == place::reasoning ? delta_.reasoning : delta_.text) += text_.rest();
  delta_.tool_calls = calls_.take();
  return std::exchange(delta_, {});
}

void reader::take(std::string_view text) {
  for (const char byte : text) {
    if (is_over()) return;
    take(byte);
  }
}

void reader::take(char byte) {
  if (place_ == place::call) return take_in_call(byte);
  const auto end = text_.step(byte);
  if (!end) return;
  flush();
  delimited(*end);
  if (end->ends_early) take(byte);
}

void reader::take_in_call(char byte) {
  const auto progress = call_->step(byte, calls_);
  if (progress == call_reader::progress::more) return;
  call_.reset();
  go_to(place::text);
  if (progress == call_reader::progress::ended_before && !is_over()) take(byte);
}

void reader::flush() {
  if (call_) return call_->flush(calls_);
  (place_ == place::reasoning ? delta_.reasoning : delta_.text) += text_.take();
}

// What a text is looked through for: first the openings of calls, then that of the reasoning, then what is skipped.
void reader::go_to(place next, bool after_delimiter) {
  place_ = next;
  if (next == place::reasoning) return text_.begin({&syntax_->reasoning->close}, after_delimiter);
  std::vector<const delimiter*> ends;
  if (reads_calls_)
    for (const auto& open : syntax_->calls->open) ends.push_back(&open);
  if (syntax_->reasoning) ends.push_back(&syntax_->reasoning->open);
  for (const auto& marker : syntax_->around_text) ends.push_back(&marker);
  if (reads_calls_) ends.insert(ends.end(), {&syntax_->calls->section_open, &syntax_->calls->section_close});
  text_.begin(std::move(ends), after_delimiter);
}

void reader::delimited(const delimited_text::end& end) {
  if (place_ == place::reasoning) return go_to(place::text);
  const auto openings = reads_calls_ ? syntax_->calls->open.size() : 0;
  if (end.which < openings) {
    place_ = place::call;
    call_ = make_call_reader(*syntax_->calls, end, *types_, calls_);
  } else if (end.which == openings && syntax_->reasoning) {
    go_to(place::reasoning);
  } else {
    go_to(place::text);
  }
}

}  // namespace cogen::response
