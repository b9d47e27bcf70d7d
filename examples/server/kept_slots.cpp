#include "kept_slots.hpp"

#include <algorithm>
#include <utility>

namespace server {

void kept_slots::keep(std::uint64_t tenant, int id, token_ids tokens) {
  const std::lock_guard lock(mutex_);
  auto& slots = by_tenant_[tenant];
  std::erase_if(slots, [id](const slot& entry) { return entry.id == id; });
  slots.push_front({id, std::move(tokens)});
  limit(slots);
}

void kept_slots::extend(std::uint64_t tenant, int id, std::span<const cogen::token> more) {
  const std::lock_guard lock(mutex_);
  auto& slots = by_tenant_[tenant];
  auto* const tokens = find_in(slots, id);
  if (!tokens) return;
  tokens->insert(tokens->end(), more.begin(), more.end());
  limit(slots);
}

std::optional<kept_slots::token_ids> kept_slots::find(std::uint64_t tenant, int id) {
  const std::lock_guard lock(mutex_);
  const auto* const tokens = find_in(by_tenant_[tenant], id);
  return tokens ? std::optional(*tokens) : std::nullopt;
}

void kept_slots::erase(std::uint64_t tenant, int id) {
  const std::lock_guard lock(mutex_);
  std::erase_if(by_tenant_[tenant], [id](const slot& entry) { return entry.id == id; });
}

kept_slots::token_ids* kept_slots::find_in(slot_list& slots, int id) {
  const auto found = std::ranges::find(slots, id, &slot::id);
  if (found == slots.end()) return nullptr;
  slots.splice(slots.begin(), slots, found);
  return &slots.front().tokens;
}

void kept_slots::limit(slot_list& slots) {
  std::size_t count = 0, bytes = 0;
  const auto exceeds = [&](const slot& entry) {
    bytes += entry.tokens.size() * sizeof(cogen::token);
    return ++count > max_slots || bytes > max_bytes;
  };
  slots.erase(std::ranges::find_if(slots, exceeds), slots.end());
}

}  // namespace server
