#include "embedding/text_queue.hpp"

#include "runner/diagnostics_of.hpp"

#include <exception>
#include <utility>

namespace cogen::embedding {

bool text_queue::run() noexcept {
  drop_unwanted();
  if (waiting_.empty()) return false;
  pass next;
  try {
    next = next_pass();
    deliver(next, encoder_->vectors(next.texts));
  } catch (...) {
    const auto why = detail::diagnostics_of(std::current_exception());
    waiting_.front().request->fail(why);
    for (const auto& each : next.from) each.request->fail(why);
  }
  return true;
}

void text_queue::fail(const diagnostics& why) noexcept {
  for (const auto& each : std::exchange(waiting_, {})) each.request->fail(why);
}

void text_queue::drop_unwanted() noexcept {
  std::erase_if(waiting_, [](const entry& each) { return !each.request->is_wanted(); });
}

text_queue::pass text_queue::next_pass() {
  pass next;
  std::size_t tokens = 0;
  for (const auto& each : waiting_)
    for (auto index = each.next; index < each.request->texts().size(); ++index) {
      const auto& text = each.request->texts()[index];
      tokens += text.tokens.size();
      if (!next.texts.empty() && tokens > tokens_of_a_pass_) return next;
      next.texts.push_back(text);
      next.from.push_back({each.request, index});
    }
  return next;
}

void text_queue::deliver(const pass& read, std::vector<std::vector<float>> vectors) {
  for (std::size_t i = 0; i < read.texts.size(); ++i) {
    const auto& [request, index] = read.from[i];
    request->set_vector(index, std::move(vectors[i]));
    waiting_.front().next = index + 1;
    if (index + 1 == request->texts().size()) finish_first();
  }
}

void text_queue::finish_first() {
  const auto first = std::move(waiting_.front());
  waiting_.pop_front();
  first.request->finish();
}

}  // namespace cogen::embedding
