#include "engine/compile_turns.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

namespace cogen::detail {

compile_turns::job compile_turns::put(std::uint64_t tenant) {
  std::list<place> added;
  added.push_back({.name = last_ + 1, .tenant = tenant});
  auto& own = waiting_[tenant];
  own.splice(own.end(), added);
  return ++last_;
}

std::size_t compile_turns::placeable() const noexcept {
  const auto tenants = std::ranges::count_if(waiting_, [this](const auto& entry) { return may_begin(entry.first); });
  return std::min(static_cast<std::size_t>(tenants), max_places - places_.size());
}

std::optional<compile_turns::job> compile_turns::place_next() noexcept {
  const auto may_have = [this](const auto& entry) { return may_begin(entry.first); };
  auto next = std::find_if(waiting_.upper_bound(last_placed_), waiting_.end(), may_have);
  if (next == waiting_.end()) next = std::find_if(waiting_.begin(), waiting_.end(), may_have);
  if (next == waiting_.end()) return std::nullopt;
  auto& [tenant, own] = *next;
  last_placed_ = tenant;
  places_.splice(places_.end(), own, own.begin());
  if (own.empty()) waiting_.erase(next);
  const auto placed = places_.back().name;
  give_turns();
  return placed;
}

compile_turns::order compile_turns::used(job name, time processor, std::int64_t more_bytes) noexcept {
  auto& own = place_of(name);
  own.used = processor;
  own.bytes += running() == 1 ? more_bytes : std::max<std::int64_t>(more_bytes, 0);
  if (std::exchange(own.frees, false)) {  // it tries to do with less
    own.bytes = 0;
    own.ends = order::work;
  }
  end_for_others();
  own.frees = own.ends == order::free_memory;
  if (own.ends != order::work) return own.ends;
  if (!lacks_memory() && processor - own.turn_begin < turn) return order::work;
  own.runs = false;
  own.turn_begin = processor;
  places_.splice(places_.end(), places_, std::ranges::find(places_, name, &place::name));
  give_turns();
  return own.runs ? order::work : order::rest;
}

void compile_turns::end(job name) noexcept {
  places_.erase(std::ranges::find(places_, name, &place::name));
  give_turns();
}

int compile_turns::running() const noexcept { return static_cast<int>(std::ranges::count_if(places_, &place::runs)); }

const compile_turns::place& compile_turns::place_of(job name) const noexcept {
  return *std::ranges::find(places_, name, &place::name);
}

compile_turns::place& compile_turns::place_of(job name) noexcept {
  return *std::ranges::find(places_, name, &place::name);
}

int compile_turns::places_of(std::uint64_t tenant) const noexcept {
  return static_cast<int>(std::ranges::count(places_, tenant, &place::tenant));
}

int compile_turns::running_of(std::uint64_t tenant) const noexcept {
  return static_cast<int>(
      std::ranges::count_if(places_, [&](const place& entry) { return entry.runs && entry.tenant == tenant; }));
}

bool compile_turns::may_begin(std::uint64_t tenant) const noexcept {
  const auto is_long = [&](const place& entry) { return entry.tenant != tenant || entry.used >= long_time_; };
  return places_.size() < max_places && std::ranges::all_of(places_, is_long);
}

/// Whether a tenant waits that has no place, and there is none.
bool compile_turns::lacks_place() const noexcept {
  const auto has_none = [this](const auto& entry) { return places_of(entry.first) == 0; };
  return places_.size() == max_places && std::ranges::any_of(waiting_, has_none);
}

/// Whether one has to free its memory, and has not yet.
bool compile_turns::lacks_memory() const noexcept {
  return std::ranges::any_of(places_, [](const place& entry) { return entry.ends == order::free_memory; });
}

void compile_turns::end_for_others() noexcept {
  if (std::ranges::any_of(places_, [](const place& entry) { return entry.ends != order::work; })) return;
  const auto bytes = std::accumulate(places_.begin(), places_.end(), std::int64_t{0},
                                     [](std::int64_t sum, const place& entry) { return sum + entry.bytes; });
  if (bytes > max_bytes) {
    std::ranges::max_element(places_, {}, &place::bytes)->ends = order::free_memory;
  } else if (lacks_place()) {
    const auto most = std::ranges::max_element(
        places_, {}, [this](const place& entry) { return std::tuple(places_of(entry.tenant), entry.used); });
    if (most->used >= long_time_) most->ends = order::give_way;
  }
}

/// Those that have to end are first, then those of tenants of which none runs; tenants take turns. Beside one that
/// frees its memory none runs.
void compile_turns::give_turns() noexcept {
  const auto rank = [this](const place& entry) {
    return std::tuple(entry.runs, entry.ends == order::work, running_of(entry.tenant), entry.tenant <= last_run_,
                      entry.tenant);
  };
  const auto most = lacks_memory() ? 1 : max_running;
  for (auto runs = running(); runs < most && runs < std::ssize(places_); ++runs) {
    auto& next = *std::ranges::min_element(places_, {}, rank);
    next.runs = true;
    last_run_ = next.tenant;
  }
}

}  // namespace cogen::detail
