#include "engine/embedding/text_queue.hpp"

#include "engine/runner/diagnostics_of.hpp"

#include <exception>
#include <utility>

namespace cogen::embedding {

void text_queue::add(std::uint64_t tenant, std::shared_ptr<text_request> request) {
  waiting_[tenant].push_back({std::move(request)});
}

bool text_queue::run() noexcept {
  drop_unwanted();
  if (waiting_.empty()) return false;
  const auto first = next_in_turn(last_);
  last_ = first->first;
  const auto request = first->second.front().request;
  pass next;
  try {
    next = next_pass(first);
    deliver(next, encoder_->vectors(next.texts));
  } catch (...) {
    const auto why = detail::diagnostics_of(std::current_exception());
    request->fail(why);
    for (const auto& each : next.sources) each.request->fail(why);
  }
  return true;
}

void text_queue::fail(const diagnostics& why) noexcept {
  for (const auto& [tenant, requests] : std::exchange(waiting_, {}))
    for (const auto& each : requests) each.request->fail(why);
}

void text_queue::drop_unwanted() noexcept {
  for (auto& [tenant, requests] : waiting_)
    std::erase_if(requests, [](const entry& item) { return !item.request->is_wanted(); });
  std::erase_if(waiting_, [](const auto& item) { return item.second.empty(); });
}

text_queue::tenant_map::iterator text_queue::next_in_turn(std::uint64_t last) noexcept {
  const auto next = waiting_.upper_bound(last);
  return next != waiting_.end() ? next : waiting_.begin();
}

/// Of this tenant, and then of those whose turns are next.
text_queue::pass text_queue::next_pass(tenant_map::iterator first) const {
  pass next;
  std::size_t tokens = 0;
  for (auto position = tenant_map::const_iterator(first); position != waiting_.end(); ++position)
    if (!add_texts(position, tokens, next)) return next;
  for (auto position = waiting_.begin(); position != tenant_map::const_iterator(first); ++position)
    if (!add_texts(position, tokens, next)) return next;
  return next;
}

/// False once the pass is full.
bool text_queue::add_texts(tenant_map::const_iterator position, std::size_t& tokens, pass& target) const {
  for (const auto& each : position->second)
    for (auto index = each.next; index < each.request->texts().size(); ++index) {
      const auto& text = each.request->texts()[index];
      tokens += text.tokens.size();
      if (!target.texts.empty() && tokens > tokens_of_a_pass_) return false;
      target.texts.push_back(text);
      target.sources.push_back({position->first, each.request, index});
    }
  return true;
}

void text_queue::deliver(const pass& read, std::vector<std::vector<float>> vectors) {
  for (std::size_t i = 0; i < read.texts.size(); ++i) {
    const auto& [tenant, request, index] = read.sources[i];
    request->set_vector(index, std::move(vectors[i]));
    waiting_.at(tenant).front().next = index + 1;
    if (index + 1 == request->texts().size()) finish_first(tenant);
  }
}

void text_queue::finish_first(std::uint64_t tenant) noexcept {
  const auto own = waiting_.find(tenant);
  const auto first = std::move(own->second.front());
  own->second.pop_front();
  if (own->second.empty()) waiting_.erase(own);
  first.request->finish();
}

}  // namespace cogen::embedding
