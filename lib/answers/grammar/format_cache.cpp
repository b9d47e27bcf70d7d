#include "answers/grammar/format_cache.hpp"

#include <utility>

namespace cogen::grammar {

std::shared_ptr<const compiled_grammar> format_cache::find(const std::string& key) {
  const auto found = places_.find(key);
  if (found == places_.end()) return nullptr;
  recent_.splice(recent_.begin(), recent_, found->second);
  return found->second->grammar;
}

void format_cache::keep(std::string key, std::shared_ptr<const compiled_grammar> grammar) {
  if (places_.contains(key)) return;
  std::list<entry> added;
  added.push_back({std::move(key), std::move(grammar)});
  places_.emplace(added.front().key, added.begin());
  bytes_ += added.front().bytes();
  recent_.splice(recent_.begin(), added);
  trim();
}

void format_cache::limit(std::shared_ptr<backend> compiler, std::size_t max_bytes) {
  compiler_ = std::move(compiler);
  max_bytes_ = max_bytes;
  trim();
}

void format_cache::trim() {
  while (bytes_ > max_bytes_ && !recent_.empty()) {
    bytes_ -= recent_.back().bytes();
    places_.erase(recent_.back().key);
    recent_.pop_back();
  }
}

}  // namespace cogen::grammar
