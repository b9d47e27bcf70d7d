#include "engine/stored_prefixes.hpp"

#include "engine/engine_loop.hpp"
#include "engine/runner/diagnostics_of.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace cogen::detail {
namespace {

session_limits limits_of(const engine_loop& loop) {
  if (loop.snapshot_format().empty())
    throw std::invalid_argument(
        "engine_options.kv.prefix_cache_directory is set, and caches of this engine cannot be stored");
  return {.model = loop.parts().fingerprint,
          .cache = loop.snapshot_format(),
          .vocabulary = loop.vocabulary(),
          .max_sequence_length = loop.parts().limits.max_sequence_length};
}

}  // namespace

stored_prefixes::stored_prefixes(engine_loop& loop)
    : loop_(loop),
      directory_(loop.options().kv.prefix_cache_directory, limits_of(loop), loop.options().kv.prefix_cache_file_bytes,
                 loop.options().log) {}

bool stored_prefixes::waits(const request_state& one) const {
  return std::ranges::any_of(restoring_, [&](const restoring& each) {
    return std::ranges::find(each.waiters, &one, &std::shared_ptr<request_state>::get) != each.waiters.end();
  });
}

bool stored_prefixes::restore(std::span<const token> prompt, const scheduler::cache_salt& salt,
                              const std::shared_ptr<request_state>& waiter) {
  const auto& limits = loop_.parts().limits;
  const int least = loop_.view().scheduler().cached_prefix_length(salt, prompt) + limits.prefix_block();
  const auto found = directory_.find(salt, prompt.first(prompt.size() - 1), least, limits.max_rollback_tokens);
  if (!found) return false;
  auto at = std::ranges::find(restoring_, found, &restoring::what);
  const bool begins = at == restoring_.end();
  if (begins && std::cmp_greater_equal(restoring_.size(), limits.all_slots())) return false;
  if (begins) at = restoring_.insert(at, {found, {}});
  at->waiters.push_back(waiter);
  if (begins) read(at);
  return true;
}

/// On another thread. A waiter keeps the loop alive meanwhile.
void stored_prefixes::read(place at) {
  loop_.offload([this, at, what = at->what, waiter = at->waiters.front()] {
    std::function<void()> next;
    try {
      auto found = std::make_shared<read_session>(directory_.read(*what));
      next = [this, at, found] { fill(at, std::move(*found)); };
    } catch (...) {
      next = [this, at, why = diagnostics_of(std::current_exception())] { lose(at, why); };
    }
    loop_.go_on(std::move(next));
  });
}

void stored_prefixes::fill(place at, read_session found) {
  if (!found.saved.snapshot) return lose(at, {});
  at->name = loop_.view().scheduler().restore_prefix(at->what->what);
  if (!at->name) return end(at);
  auto& runner = loop_.view().runner();
  runner.keep(*at->name, runner.make_snapshot(std::move(found.bytes), 0));
}

void stored_prefixes::lose(place at, const diagnostics& why) {
  loop_.log("a prefix cannot be restored", why.message());
  directory_.forget(*at->what);
  end(at);
}

void stored_prefixes::transferred(scheduler::swap_id name) {
  const auto at = std::ranges::find(restoring_, std::optional(name), &restoring::name);
  if (at != restoring_.end()) end(at);
}

void stored_prefixes::end(place at) {
  const auto ended = std::move(*at);
  restoring_.erase(at);
  for (const auto& each : ended.waiters) loop_.enqueue(each);
}

void stored_prefixes::save(std::span<const scheduler::cached_prefix> copies, runner& from) {
  for (const auto& each : copies) {
    const auto snapshot = from.snapshot(each.name);
    if (!snapshot) continue;
    if (const auto why = directory_.write(each, *snapshot))
      return loop_.log("prefixes cannot be stored", why.message());
  }
}

void stored_prefixes::fail(const diagnostics& why) noexcept {
  for (const auto& each : restoring_)
    for (const auto& one : each.waiters) one->fail(why);
  restoring_.clear();
}

}  // namespace cogen::detail
