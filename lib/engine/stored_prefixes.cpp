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

bool stored_prefixes::waits(const request_state& request) const {
  return std::ranges::any_of(restoring_, [&](const restoring& entry) {
    return std::ranges::find(entry.waiters, &request, &std::shared_ptr<request_state>::get) != entry.waiters.end();
  });
}

bool stored_prefixes::restore(std::span<const token> prompt, const scheduler::cache_salt& salt,
                              const std::shared_ptr<request_state>& waiter) {
  const auto& limits = loop_.parts().limits;
  const int least = loop_.view().scheduler().cached_prefix_length(salt, prompt) + limits.prefix_block();
  const auto found = directory_.find(salt, prompt.first(prompt.size() - 1), least, limits.max_rollback_tokens);
  if (!found) return false;
  auto position = std::ranges::find(restoring_, found, &restoring::source);
  const bool begins = position == restoring_.end();
  if (begins && std::cmp_greater_equal(restoring_.size(), limits.all_slots())) return false;
  if (begins) position = restoring_.insert(position, {found, {}});
  position->waiters.push_back(waiter);
  if (begins) read(position);
  return true;
}

/// On another thread. A waiter keeps the loop alive meanwhile.
void stored_prefixes::read(place position) {
  loop_.offload([this, position, source = position->source, waiter = position->waiters.front()] {
    std::function<void()> next;
    try {
      auto found = std::make_shared<read_session>(directory_.read(*source));
      next = [this, position, found] { fill(position, std::move(*found)); };
    } catch (...) {
      next = [this, position, why = diagnostics_of(std::current_exception())] { lose(position, why); };
    }
    loop_.post_to_engine_thread(std::move(next));
  });
}

void stored_prefixes::fill(place position, read_session found) {
  if (!found.saved.snapshot) return lose(position, {});
  position->name = loop_.view().scheduler().restore_prefix(position->source->prefix);
  if (!position->name) return end(position);
  auto& runner = loop_.view().runner();
  runner.keep(*position->name, runner.make_snapshot(std::move(found.bytes), 0));
}

void stored_prefixes::lose(place position, const diagnostics& why) {
  loop_.log("a prefix cannot be restored", why.message());
  directory_.forget(*position->source);
  end(position);
}

void stored_prefixes::on_swap_done(scheduler::swap_id name) {
  const auto position = std::ranges::find(restoring_, std::optional(name), &restoring::name);
  if (position != restoring_.end()) end(position);
}

void stored_prefixes::end(place position) {
  const auto ended = std::move(*position);
  restoring_.erase(position);
  for (const auto& each : ended.waiters) loop_.enqueue(each);
}

void stored_prefixes::save(std::span<const scheduler::cached_prefix> copies, runner& source) {
  for (const auto& each : copies) {
    const auto snapshot = source.snapshot(each.name);
    if (!snapshot) continue;
    if (const auto why = directory_.write(each, *snapshot))
      return loop_.log("prefixes cannot be stored", why.message());
  }
}

void stored_prefixes::fail(const diagnostics& why) noexcept {
  for (const auto& each : restoring_)
    for (const auto& waiter : each.waiters) waiter->fail(why);
  restoring_.clear();
}

}  // namespace cogen::detail
